/* Opening of jobs: a new one is stored before it is in use, and so is what changes of one that is there. One that is
 * not in memory is taken for new: whether it is, its INSERT says. */
#include "preprocess/dispatcher/dispatcher.h"

#include "core/base/log.h"
#include "core/base/memory.h"

#include <stdlib.h>

struct opening {
    struct dispatcher *dispatcher;
    struct dispatcher_asking *asking;
    struct dispatcher_entry *entry; /* new, or closed until now; NULL: it is in use already */
    bool is_new, reopens, has_quota, has_token; /* what is to be stored */
    bool is_there;                              /* a job of that number was stored before */
    struct shares_quota quota;
    bool has_plan;            /* there is one in memory */
    struct plans_stored plan; /* of `entry`, if there is none */
};

static const struct msg_job_open *asked_of(const struct opening *opening)
{
    return opening->asking->request.message;
}

/* ---- on the thread ---- */

static enum weir_status store(void *owner, struct weir_db *db, struct weir_error *err)
{
    struct opening *opening = owner;
    const struct msg_job_open *asked = asked_of(opening);
    enum weir_status status = WEIR_OK;
    if (opening->entry != NULL && !opening->has_plan)
        preprocess_plans_load(db, opening->entry, &opening->plan);
    if (opening->is_new) {
        bool is_new = false;
        status =
            preprocess_store_add(db, opening->dispatcher->data_dir, opening->entry, &is_new, err);
        opening->is_there = !is_new;
        return status;
    }
    if (opening->reopens)
        status = preprocess_store_reopen(db, asked->job, err);
    if (status == WEIR_OK && opening->has_quota)
        status = preprocess_store_quota(db, asked->job, &opening->quota, err);
    if (status == WEIR_OK && opening->has_token)
        status = preprocess_store_token(db, asked->job, asked->token, err);
    return status;
}

/* ---- on the loop ---- */

/* A fit is begun at once; a job without one begins with its consumer, who calls the workers. */
static void reply(struct dispatcher *dispatcher, const struct weir_request *request,
                  const struct dispatcher_entry *entry)
{
    weir_rpc_reply(request->server, &request->route, MSG_job_opened,
                   &(struct msg_job_opened){.samples = entry->plan.geometry.samples,
                                            .batches = preprocess_batches(&entry->plan.geometry)},
                   NULL);
    if (entry->job.fitting)
        preprocess_dispatcher_hint(dispatcher, entry->number);
    else
        preprocess_dispatcher_announce(dispatcher, entry->number);
}

/* From now on it is in use. */
static void use(struct opening *opening)
{
    struct dispatcher *dispatcher = opening->dispatcher;
    struct dispatcher_entry *entry = WEIR_TAKE(opening->entry);
    entry->closed = entry->closing = entry->abandoned = false;
    preprocess_plans_take_up(&dispatcher->plans, entry, opening->has_plan ? NULL : &opening->plan,
                             weir_loop_now_ms(dispatcher->loop));
    preprocess_dispatcher_add(dispatcher, entry);
    if (opening->is_new)
        weir_log(WEIR_LOG_INFO, "job opened", "job=%lu mode=%s samples=%lu batches=%lu group=%u",
                 entry->number, entry->mode, entry->plan.geometry.samples,
                 preprocess_batches(&entry->plan.geometry), entry->plan.geometry.group_batches);
}

/* The orchestrator draws a token each time that it starts. */
static void take_changes(struct opening *opening, struct dispatcher_entry *entry)
{
    if (opening->has_quota)
        preprocess_dispatcher_change_quota(opening->dispatcher, entry, &opening->quota);
    if (!opening->has_token)
        return;
    free(entry->token);
    entry->token = weir_strdup(asked_of(opening)->token);
}

static void open_known(void *state, struct weir_request *request);

/* Somebody else may have opened it meanwhile, or closed it: then the request is handled as if it came now. */
static void on_stored(void *owner, const struct weir_error *err)
{
    struct opening *opening = owner;
    struct dispatcher *dispatcher = opening->dispatcher;
    uint64_t number = asked_of(opening)->job;
    struct dispatcher_entry *entry = preprocess_dispatcher_in_memory(dispatcher, number);
    if (err != NULL) {
        preprocess_asking_refuse(opening->asking, err);
        return;
    }
    if (opening->is_there) {
        open_known(dispatcher, &opening->asking->request);
        return;
    }
    if ((entry == NULL) != (opening->entry != NULL)) {
        preprocess_asking_resume(opening->asking);
        return;
    }
    if (entry == NULL)
        use(opening);
    entry = preprocess_dispatcher_in_memory(dispatcher, number);
    take_changes(opening, entry);
    reply(dispatcher, &opening->asking->request, entry);
}

static void drop(void *owner)
{
    struct opening *opening = owner;
    preprocess_asking_free(opening->asking);
    preprocess_entry_free(opening->entry);
    free(opening);
}

static void run(struct opening *opening)
{
    weir_db_thread_run(opening->dispatcher->thread,
                       &(struct weir_db_job){store, on_stored, drop, opening});
}

static struct opening *begin(struct dispatcher *dispatcher, const struct weir_request *request)
{
    struct opening *opening = weir_calloc(1, sizeof(*opening));
    opening->dispatcher = dispatcher;
    opening->asking =
        preprocess_asking_keep(dispatcher, request, preprocess_dispatcher_on_job_open);
    return opening;
}

static enum weir_status open_new(struct dispatcher *dispatcher, const struct weir_request *request,
                                 struct weir_error *err)
{
    WEIR_AUTO(dispatcher_entry) entry = preprocess_entry_open(request->message);
    struct dispatcher_record beginning = {0};
    enum weir_status status = preprocess_entry_plan(entry, &dispatcher->fences, &beginning, err);
    if (status != WEIR_OK)
        return status;
    struct opening *opening = begin(dispatcher, request);
    opening->has_plan = preprocess_plans_has(&dispatcher->plans, entry);
    opening->entry = WEIR_TAKE(entry);
    opening->is_new = true;
    run(opening);
    return WEIR_OK;
}

/* Forgets the failure: opening a job again may have mended its cause. The reason stays: samples that have failed count
 * in the next attempt too, whose consumer may come before a worker gives it again. */
static void forgive(struct dispatcher_entry *entry)
{
    if (entry->may_be_mended)
        entry->failure[0] = '\0';
    entry->may_be_mended = false;
}

/* Takes a closed entry. An abandoned job is taken up again: its owner has returned. */
static void open_again(struct dispatcher *dispatcher, const struct weir_request *request,
                       struct dispatcher_entry *entry)
{
    const struct msg_job_open *asked = request->message;
    struct shares_quota quota = preprocess_dispatcher_quota_of(asked);
    bool reopens = entry->abandoned;
    bool has_quota = !preprocess_shares_quota_equal(&entry->quota, &quota);
    bool has_token = !weir_str_equal(entry->token, asked->token);
    forgive(entry);
    if (reopens && !entry->closed)
        entry->closing = entry->abandoned = false;
    if (!reopens && !has_quota && !has_token) {
        reply(dispatcher, request, entry);
        preprocess_dispatcher_let_go(entry);
        return;
    }
    struct opening *opening = begin(dispatcher, request);
    opening->reopens = reopens;
    opening->has_quota = has_quota;
    opening->has_token = has_token;
    opening->quota = quota;
    if (entry->closed)
        opening->entry = entry;
    run(opening);
}

static void open_job(void *state, struct weir_request *request)
{
    struct dispatcher *dispatcher = state;
    const struct msg_job_open *asked = request->message;
    struct dispatcher_entry *entry = NULL;
    struct weir_error err;
    enum weir_status status = preprocess_dispatcher_find(dispatcher, asked->job, &entry, &err);
    if (status == WEIR_NOT_FOUND)
        status = open_new(dispatcher, request, &err);
    else if (status == WEIR_OK && weir_str_equal(entry->set_digest, asked->set_digest))
        open_again(dispatcher, request, entry);
    else if (status == WEIR_OK) {
        status = weir_fail(&err, WEIR_EXISTS, "job %lu delivers set %s, found %s", asked->job,
                           entry->set_digest, asked->set_digest);
        preprocess_dispatcher_let_go(entry);
    }
    if (status != WEIR_OK)
        weir_rpc_refuse(request->server, &request->route, &err);
}

static uint64_t number_of(const struct weir_request *request)
{
    return ((const struct msg_job_open *)request->message)->job;
}

static void open_known(void *state, struct weir_request *request)
{
    preprocess_dispatcher_when_found(state, request, number_of(request), open_job, open_known);
}

/* One that cannot be new is looked for before anybody hears why. */
void preprocess_dispatcher_on_job_open(void *state, struct weir_request *request)
{
    struct weir_error err;
    if (preprocess_dispatcher_in_memory(state, number_of(request)) != NULL ||
        open_new(state, request, &err) != WEIR_OK)
        open_known(state, request);
}
