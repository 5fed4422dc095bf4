/* The dispatcher's state: jobs in memory, and its life. */
#include "preprocess/dispatcher/dispatcher.h"

#include "core/base/log.h"
#include "core/base/memory.h"

#include <stdlib.h>

/* Has the jobs of a production know how many they are. */
static void note_sharing(struct dispatcher *dispatcher, const struct production *production)
{
    uint32_t jobs = (uint32_t)production->jobs;
    for (size_t i = 0; i < dispatcher->entry_count; i++) {
        struct dispatcher_entry *entry = dispatcher->entries[i];
        if (entry->job.production != production || entry->shared_jobs >= jobs)
            continue;
        entry->shared_jobs = jobs;
        weir_log(WEIR_LOG_INFO, "job shares its batches", "job=%lu jobs=%u", entry->number, jobs);
    }
}

/* From now on its batches are known: whoever makes the same shares them. */
static void join_production(struct dispatcher *dispatcher, struct dispatcher_entry *entry)
{
    uint64_t key = preprocess_plan_production(&entry->plan, weir_buf_view(&entry->fitted));
    if (key == 0 || entry->job.fitting)
        return;
    entry->job.production = preprocess_production_join(&dispatcher->productions, key);
    entry->crew_count = 0; /* it may be another one */
    if (entry->job.production->jobs > 1)
        note_sharing(dispatcher, entry->job.production);
}

/* ---- fits ---- */

struct fit_saving {
    struct dispatcher *dispatcher;
    uint64_t job;
    struct weir_buf fitted;
};

static enum weir_status store_fit(void *owner, struct weir_db *db, struct weir_error *err)
{
    const struct fit_saving *saving = owner;
    return preprocess_store_fitted(db, saving->job, weir_buf_view(&saving->fitted), err);
}

static void on_fit_stored(void *owner, const struct weir_error *err)
{
    const struct fit_saving *saving = owner;
    struct dispatcher_entry *entry =
        preprocess_dispatcher_in_memory(saving->dispatcher, saving->job);
    if (entry == NULL)
        return;
    entry->is_fit_saving = false;
    if (err != NULL) {
        weir_log(WEIR_LOG_WARN, "fit not stored, trying again", "job=%lu reason=\"%s\"",
                 saving->job, err->text);
        return;
    }
    preprocess_job_fitted(&entry->job);
    join_production(saving->dispatcher, entry);
    weir_log(WEIR_LOG_INFO, "operators fitted", "job=%lu bytes=%zu", entry->number,
             entry->fitted.size);
}

static void drop_fit(void *owner)
{
    struct fit_saving *saving = owner;
    weir_buf_fini(&saving->fitted);
    free(saving);
}

void preprocess_dispatcher_settle_fit(struct dispatcher *dispatcher, struct dispatcher_entry *entry)
{
    if (entry->is_fit_saving || !preprocess_entry_finish_fit(entry))
        return;
    struct fit_saving *saving = weir_calloc(1, sizeof(*saving));
    saving->dispatcher = dispatcher;
    saving->job = entry->number;
    preprocess_entry_keep_fit(entry, &saving->fitted);
    entry->is_fit_saving = true;
    weir_db_thread_run(dispatcher->thread,
                       &(struct weir_db_job){store_fit, on_fit_stored, drop_fit, saving});
}

/* ---- jobs ---- */

struct dispatcher_entry *preprocess_dispatcher_in_memory(const struct dispatcher *dispatcher,
                                                         uint64_t number)
{
    for (size_t i = 0; i < dispatcher->entry_count; i++) {
        if (dispatcher->entries[i]->number == number)
            return dispatcher->entries[i];
    }
    return NULL;
}

void preprocess_dispatcher_add(struct dispatcher *dispatcher, struct dispatcher_entry *entry)
{
    dispatcher->entries = weir_realloc(dispatcher->entries, dispatcher->entry_count + 1,
                                       sizeof(struct dispatcher_entry *));
    dispatcher->entries[dispatcher->entry_count++] = entry;
    const struct shares_quota quota = preprocess_entry_bounded(entry);
    entry->account = preprocess_shares_join(&dispatcher->shares, &quota);
    entry->plan_changes =
        preprocess_plans_of(&dispatcher->plans, entry, weir_loop_now_ms(dispatcher->loop))->changes;
    join_production(dispatcher, entry);
}

void preprocess_dispatcher_let_go(struct dispatcher_entry *entry)
{
    if (entry != NULL && entry->closed)
        preprocess_entry_free(entry);
}

enum weir_status preprocess_dispatcher_find(struct dispatcher *dispatcher, uint64_t number,
                                            struct dispatcher_entry **ret_entry,
                                            struct weir_error *err)
{
    struct dispatcher_found *found = &dispatcher->found;
    *ret_entry = preprocess_dispatcher_in_memory(dispatcher, number);
    if (*ret_entry == NULL && found->is_set && found->number == number)
        *ret_entry = WEIR_TAKE(found->entry);
    if (*ret_entry != NULL) {
        (*ret_entry)->silent_ms = 0; /* somebody asks */
        return WEIR_OK;
    }
    if (found->err.status == WEIR_OK)
        return weir_fail(err, WEIR_UNAVAILABLE, "job %lu is not in memory", number);
    *err = found->err;
    return err->status;
}

void preprocess_dispatcher_change_quota(struct dispatcher *dispatcher,
                                        struct dispatcher_entry *entry,
                                        const struct shares_quota *quota)
{
    entry->quota = *quota;
    if (entry->account == NULL)
        return;
    const struct shares_quota bounded = preprocess_entry_bounded(entry);
    struct shares_account *account = preprocess_shares_join(&dispatcher->shares, &bounded);
    preprocess_shares_leave(&dispatcher->shares, entry->account);
    entry->account = account;
}

/* Sees, a few times a second, to everything that may be a little late. */
static void on_timer(void *state)
{
    struct dispatcher *dispatcher = state;
    int64_t now_ms = weir_loop_now_ms(dispatcher->loop);
    int64_t passed_ms = now_ms - dispatcher->looked_ms;
    dispatcher->looked_ms = now_ms;
    preprocess_pool_look(&dispatcher->pool, now_ms);
    preprocess_dispatcher_size(dispatcher);
    preprocess_dispatcher_expect_ahead(dispatcher);
    for (size_t i = 0; i < dispatcher->entry_count; i++) {
        struct dispatcher_entry *entry = dispatcher->entries[i];
        if (now_ms - dispatcher->opened_ms >= POOL_FORGET_MS)
            preprocess_costs_fold(&entry->costs, &dispatcher->pool);
        preprocess_dispatcher_note_silence(entry, passed_ms);
        if (entry->job.fitting)
            preprocess_dispatcher_settle_fit(dispatcher, entry);
        if (entry->closing)
            preprocess_dispatcher_settle(dispatcher);
    }
    preprocess_dispatcher_report(dispatcher);
    preprocess_dispatcher_flush(dispatcher); /* what could not be stored before */
}

/* ---- life ---- */

/* As Postgres has it, before there is a thread. */
static enum weir_status take_up(struct dispatcher *dispatcher, struct weir_db *db, uint64_t number,
                                struct weir_error *err)
{
    WEIR_AUTO(dispatcher_entry) entry = NULL;
    struct dispatcher_record record = {0};
    struct plans_stored plan;
    enum weir_status status =
        preprocess_store_load(db, dispatcher->data_dir, number, &entry, &record, err);
    if (status == WEIR_OK)
        status = preprocess_entry_plan(entry, &dispatcher->fences, &record, err);
    preprocess_record_fini(&record);
    if (status != WEIR_OK)
        return status;
    preprocess_plans_load(db, entry, &plan);
    preprocess_plans_take_up(&dispatcher->plans, entry, &plan, weir_loop_now_ms(dispatcher->loop));
    preprocess_dispatcher_add(dispatcher, WEIR_TAKE(entry));
    return WEIR_OK;
}

static enum weir_status load_open_jobs(struct dispatcher *dispatcher, struct weir_db *db,
                                       struct weir_error *err)
{
    WEIR_AUTO_FREE uint64_t *numbers = NULL;
    size_t count = 0;
    enum weir_status status = preprocess_store_list(db, &numbers, &count, err);
    for (size_t i = 0; status == WEIR_OK && i < count; i++) {
        status = take_up(dispatcher, db, numbers[i], err);
        if (status == WEIR_OK || status == WEIR_UNAVAILABLE)
            continue;
        weir_log(WEIR_LOG_WARN, "job cannot go on, ignoring it", "job=%lu reason=\"%s\"",
                 numbers[i], err->text);
        status = WEIR_OK;
    }
    return status;
}

/* Takes up what Postgres has, and begins the thread that stores from then on. */
static enum weir_status open_store(struct dispatcher *dispatcher, const char *conninfo,
                                   uint64_t *ret_incarnation, struct weir_error *err)
{
    WEIR_AUTO(weir_db) db = NULL;
    enum weir_status status = preprocess_store_open(conninfo, &db, ret_incarnation, err);
    if (status != WEIR_OK)
        return status;
    dispatcher->fences.newest = *ret_incarnation << 32;
    status = load_open_jobs(dispatcher, db, err);
    if (status == WEIR_OK)
        status = weir_db_thread_new(dispatcher->loop, db, &dispatcher->thread, err);
    if (status != WEIR_OK)
        return status;
    (void)WEIR_TAKE(db);
    dispatcher->plans.thread = dispatcher->thread;
    return WEIR_OK;
}

/* Reads the pair of trainers of this host, or makes it, where anybody is let in from elsewhere. */
static enum weir_status open_pair(struct dispatcher *dispatcher,
                                  const struct weir_service_options *options,
                                  struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/keys/trainers", options->data_dir);
    return options->remote == NULL ? WEIR_OK : weir_pair_keep(path, &dispatcher->trainers, err);
}

enum weir_status preprocess_dispatcher_open(const struct weir_service_options *options,
                                            struct weir_loop *loop, struct weir_rpc_server *server,
                                            void **ret_state, struct weir_error *err)
{
    struct dispatcher *dispatcher = weir_calloc(1, sizeof(*dispatcher));
    dispatcher->loop = loop;
    dispatcher->server = server;
    dispatcher->data_dir = weir_strdup(options->data_dir);
    uint64_t incarnation = 0;
    enum weir_status status =
        weir_service_read_bytes("--memory", options->memory, 0, &dispatcher->batches_memory, err);
    if (status == WEIR_OK)
        status = open_pair(dispatcher, options, err);
    if (status == WEIR_OK)
        status = open_store(dispatcher, options->postgres, &incarnation, err);
    if (status != WEIR_OK) {
        preprocess_dispatcher_close(dispatcher);
        return status;
    }
    dispatcher->opened_ms = dispatcher->looked_ms = weir_loop_now_ms(loop);
    dispatcher->timer =
        weir_loop_timer(loop, DISPATCHER_REPORT_MS, DISPATCHER_REPORT_MS, on_timer, dispatcher);
    weir_log(WEIR_LOG_INFO, "dispatcher is up", "incarnation=%lu jobs=%zu", incarnation,
             dispatcher->entry_count);
    *ret_state = dispatcher;
    return WEIR_OK;
}

void preprocess_dispatcher_close(void *state)
{
    struct dispatcher *dispatcher = state;
    if (dispatcher == NULL)
        return;
    weir_loop_cancel(dispatcher->loop, dispatcher->timer);
    weir_db_thread_free(dispatcher->thread);
    preprocess_replies_fini(&dispatcher->pending);
    preprocess_replies_fini(&dispatcher->saved);
    weir_quota_fini(&dispatcher->replies_quota);
    weir_quota_fini(&dispatcher->loads_quota);
    weir_quota_fini(&dispatcher->loads_here);
    for (size_t i = 0; i < dispatcher->entry_count; i++)
        preprocess_entry_free(dispatcher->entries[i]);
    free(dispatcher->entries);
    preprocess_pool_fini(&dispatcher->pool);
    preprocess_shares_fini(&dispatcher->shares);
    preprocess_productions_fini(&dispatcher->productions);
    preprocess_scaling_fini(&dispatcher->scaling);
    weir_arena_free(dispatcher->told.arena);
    free(dispatcher->data_dir);
    free(dispatcher);
}

/* The first slot of the workers that serve a job. */
static size_t crew_of(const struct dispatcher *dispatcher, uint64_t job)
{
    struct dispatcher_entry *entry = preprocess_dispatcher_in_memory(dispatcher, job);
    return entry != NULL ? preprocess_entry_crew(entry, &dispatcher->pool)
                         : preprocess_pool_crew_of(&dispatcher->pool, job);
}

struct weir_strs preprocess_dispatcher_endpoints(const struct dispatcher *dispatcher, uint64_t job,
                                                 struct weir_arena *arena)
{
    const struct pool *pool = &dispatcher->pool;
    const char **endpoints = weir_arena_alloc(arena, POOL_CREW * sizeof(*endpoints));
    size_t count = 0, first = crew_of(dispatcher, job);
    for (size_t i = first; i < first + POOL_CREW && i < pool->count; i++) {
        if (preprocess_pool_is_heard(pool, i, weir_loop_now_ms(dispatcher->loop)))
            endpoints[count++] = pool->worker[i].endpoint;
    }
    return (struct weir_strs){.at = endpoints, .count = count};
}

enum { ANNOUNCED_MAX = 8 /* workers: a small job has no use for more, and they all ask at once */ };

/* Sends the hint to at most so many workers of the crew: it may be lost, for all of it is found out in time. */
static void push_hint(struct dispatcher *dispatcher, const struct msg_worker_hint *hint,
                      size_t most)
{
    const struct pool *pool = &dispatcher->pool;
    size_t first = crew_of(dispatcher, hint->job);
    for (size_t i = first; i < first + POOL_CREW && i < pool->count && most > 0; i++) {
        if (!preprocess_pool_is_heard(pool, i, weir_loop_now_ms(dispatcher->loop)))
            continue;
        (void)weir_rpc_push(dispatcher->server, &pool->worker[i].route, MSG_worker_hint, hint,
                            NULL);
        most--;
    }
}

void preprocess_dispatcher_hint(struct dispatcher *dispatcher, uint64_t job)
{
    push_hint(dispatcher, &(struct msg_worker_hint){.job = job}, POOL_CREW);
}

void preprocess_dispatcher_announce(struct dispatcher *dispatcher, uint64_t job)
{
    push_hint(dispatcher, &(struct msg_worker_hint){.job = job, .early = true}, ANNOUNCED_MAX);
}
