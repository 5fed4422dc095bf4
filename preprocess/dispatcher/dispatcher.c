/* The dispatcher's state: jobs in memory and in Postgres. */
#include "preprocess/dispatcher/dispatcher.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "preprocess/dispatcher/keys.h"

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

void preprocess_dispatcher_settle_fit(struct dispatcher *dispatcher, struct dispatcher_entry *entry)
{
    struct weir_error err;
    if (!preprocess_entry_finish_fit(entry))
        return;
    if (preprocess_store_fitted(dispatcher->db, entry, &err) != WEIR_OK) {
        weir_log(WEIR_LOG_WARN, "fit not stored, trying again", "job=%lu reason=\"%s\"",
                 entry->number, err.text);
        return;
    }
    preprocess_job_fitted(&entry->job);
    join_production(dispatcher, entry);
    weir_log(WEIR_LOG_INFO, "operators fitted", "job=%lu bytes=%zu", entry->number,
             entry->fitted.size);
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

/* Out of Postgres. */
static enum weir_status take_up(struct dispatcher *dispatcher, uint64_t number,
                                struct dispatcher_entry **ret_entry, struct weir_error *err)
{
    WEIR_AUTO(dispatcher_entry) entry = NULL;
    struct dispatcher_record record = {0};
    enum weir_status status =
        preprocess_store_load(dispatcher->db, dispatcher->data_dir, number, &entry, &record, err);
    if (status == WEIR_OK)
        status = preprocess_entry_plan(entry, &dispatcher->fences, &record, err);
    preprocess_record_fini(&record);
    if (status != WEIR_OK)
        return status;
    if (!entry->closed)
        preprocess_dispatcher_add(dispatcher, entry);
    *ret_entry = WEIR_TAKE(entry);
    return WEIR_OK;
}

enum weir_status preprocess_dispatcher_find(struct dispatcher *dispatcher, uint64_t number,
                                            struct dispatcher_entry **ret_entry,
                                            struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    *ret_entry = preprocess_dispatcher_in_memory(dispatcher, number);
    if (*ret_entry == NULL)
        status = take_up(dispatcher, number, ret_entry, err);
    if (status == WEIR_OK)
        (*ret_entry)->silent_ms = 0; /* somebody asks */
    return status;
}

static enum weir_status load_open_jobs(struct dispatcher *dispatcher, struct weir_error *err)
{
    WEIR_AUTO_FREE uint64_t *numbers = NULL;
    size_t count = 0;
    enum weir_status status = preprocess_store_list(dispatcher->db, &numbers, &count, err);
    for (size_t i = 0; status == WEIR_OK && i < count; i++) {
        struct dispatcher_entry *entry;
        status = take_up(dispatcher, numbers[i], &entry, err);
        if (status == WEIR_OK || status == WEIR_UNAVAILABLE)
            continue;
        weir_log(WEIR_LOG_WARN, "job cannot go on, ignoring it", "job=%lu reason=\"%s\"",
                 numbers[i], err->text);
        status = WEIR_OK;
    }
    return status;
}

/* ---- endings ---- */

enum weir_status preprocess_dispatcher_expect(struct dispatcher *dispatcher,
                                              struct dispatcher_entry *entry,
                                              struct weir_error *err)
{
    if (!entry->job.record.final)
        return WEIR_OK;
    if (!preprocess_entry_expect(entry)) {
        preprocess_dispatcher_settle(dispatcher);
        return weir_fail(err, WEIR_UNAVAILABLE, "job %lu: its audit is being worked out",
                         entry->number);
    }
    if (entry->is_expected_stored)
        return WEIR_OK;
    enum weir_status status = preprocess_store_expect(dispatcher->db, entry, err);
    entry->is_expected_stored = status == WEIR_OK;
    return status;
}

void preprocess_dispatcher_expect_ahead(struct dispatcher *dispatcher)
{
    for (size_t i = 0; i < dispatcher->entry_count; i++) {
        if (!preprocess_entry_may_expect(dispatcher->entries[i]))
            continue;
        (void)preprocess_entry_expect(dispatcher->entries[i]);
        return;
    }
}

static enum weir_status close_job(struct dispatcher *dispatcher, struct dispatcher_entry *entry,
                                  struct weir_error *err)
{
    enum weir_status status = preprocess_store_report(dispatcher->db, entry, err);
    if (status == WEIR_OK && entry->abandoned)
        return preprocess_store_abandon(dispatcher->db, entry->number, err);
    if (status == WEIR_OK)
        status = preprocess_store_close(dispatcher->db, entry, err);
    return status;
}

enum weir_status preprocess_dispatcher_reopen(struct dispatcher *dispatcher,
                                              struct dispatcher_entry *entry,
                                              struct weir_error *err)
{
    bool was_closed = entry->closed;
    enum weir_status status = preprocess_store_reopen(dispatcher->db, entry->number, err);
    if (status != WEIR_OK) {
        preprocess_dispatcher_let_go(entry);
        return status;
    }
    entry->closed = entry->closing = entry->abandoned = false;
    if (was_closed)
        preprocess_dispatcher_add(dispatcher, entry);
    return WEIR_OK;
}

enum weir_status preprocess_dispatcher_change_quota(struct dispatcher *dispatcher,
                                                    struct dispatcher_entry *entry,
                                                    const struct shares_quota *quota,
                                                    struct weir_error *err)
{
    if (preprocess_shares_quota_equal(&entry->quota, quota))
        return WEIR_OK;
    enum weir_status status = preprocess_store_quota(dispatcher->db, entry->number, quota, err);
    if (status != WEIR_OK)
        return status;
    entry->quota = *quota;
    if (entry->account != NULL) {
        const struct shares_quota bounded = preprocess_entry_bounded(entry);
        struct shares_account *account = preprocess_shares_join(&dispatcher->shares, &bounded);
        preprocess_shares_leave(&dispatcher->shares, entry->account);
        entry->account = account;
    }
    return WEIR_OK;
}

/* True when it is closed. */
static bool settle_entry(struct dispatcher *dispatcher, struct dispatcher_entry *entry)
{
    struct weir_error err;
    enum weir_status status = preprocess_dispatcher_expect(dispatcher, entry, &err);
    if (status == WEIR_OK && entry->closing)
        status = close_job(dispatcher, entry, &err);
    if (status != WEIR_OK && !dispatcher->settling)
        weir_log(WEIR_LOG_DEBUG, "not settled, trying again", "reason=\"%s\"", err.text);
    return status == WEIR_OK && entry->closing;
}

/* The last entry takes its place. */
static void forget(struct dispatcher *dispatcher, size_t at)
{
    if (dispatcher->entries[at]->scaling.is_used)
        preprocess_dispatcher_end_use(dispatcher, dispatcher->entries[at]);
    preprocess_shares_leave(&dispatcher->shares, dispatcher->entries[at]->account);
    preprocess_production_leave(&dispatcher->productions, dispatcher->entries[at]->job.production);
    preprocess_entry_free(dispatcher->entries[at]);
    dispatcher->entries[at] = dispatcher->entries[--dispatcher->entry_count];
}

static void settle(void *owner)
{
    struct dispatcher *dispatcher = owner;
    dispatcher->settling = false;
    for (size_t i = 0; i < dispatcher->entry_count;) {
        if (settle_entry(dispatcher, dispatcher->entries[i]))
            forget(dispatcher, i);
        else
            i++;
    }
}

/* Nobody asks for their audits, so these are not worked out. */
enum weir_status preprocess_dispatcher_purge(struct dispatcher *dispatcher, uint64_t upto,
                                             struct msg_jobs_purged *ret_purged,
                                             struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; status == WEIR_OK && i < dispatcher->entry_count;) {
        if (dispatcher->entries[i]->number > upto) {
            i++;
            continue;
        }
        status = preprocess_store_close(dispatcher->db, dispatcher->entries[i], err);
        if (status == WEIR_OK)
            forget(dispatcher, i);
    }
    return status == WEIR_OK ? preprocess_store_purge(dispatcher->db, upto, ret_purged, err)
                             : status;
}

void preprocess_dispatcher_settle(struct dispatcher *dispatcher)
{
    if (dispatcher->settling)
        return;
    dispatcher->settling = true;
    weir_loop_soon(dispatcher->loop, settle, dispatcher);
}

/* Somebody may have forgotten to close it: it counts for how long nobody has asked. Time in which no
 * dispatcher ran does not count, for nobody could ask. */
static enum weir_status note_silence(struct dispatcher *dispatcher, struct dispatcher_entry *entry,
                                     int64_t passed_ms, struct weir_error *err)
{
    entry->silent_ms += passed_ms;
    int64_t unsaid_ms = entry->silent_ms - entry->silent_stored_ms;
    if (entry->silent_ms >= DISPATCHER_ABANDONED_MS && !entry->closing) {
        weir_log(WEIR_LOG_WARN, "nobody asks for this job, closing it", "job=%lu", entry->number);
        entry->closing = entry->abandoned = true;
    }
    if (unsaid_ms >= 0 && unsaid_ms < DISPATCHER_SILENCE_MS)
        return WEIR_OK;
    enum weir_status status = preprocess_store_silent(dispatcher->db, entry, err);
    if (status == WEIR_OK)
        entry->silent_stored_ms = entry->silent_ms;
    return status;
}

/* Stores, a few times a second, everything that may be a little late; other code handles a database that is away. */
static void on_timer(void *state)
{
    struct dispatcher *dispatcher = state;
    struct weir_error err;
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
        if (note_silence(dispatcher, entry, passed_ms, &err) != WEIR_OK ||
            preprocess_store_report(dispatcher->db, entry, &err) != WEIR_OK) {
            weir_log(WEIR_LOG_DEBUG, "report not stored, trying again", "reason=\"%s\"", err.text);
            return;
        }
        if (entry->job.fitting)
            preprocess_dispatcher_settle_fit(dispatcher, entry);
        if (entry->closing)
            preprocess_dispatcher_settle(dispatcher);
    }
}

/* ---- life ---- */

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
        status = preprocess_dispatcher_open_pair(dispatcher, options, err);
    if (status == WEIR_OK)
        status = preprocess_store_open(options->postgres, &dispatcher->db, &incarnation, err);
    dispatcher->plans.db = dispatcher->db;
    dispatcher->fences.newest = incarnation << 32;
    if (status == WEIR_OK)
        status = load_open_jobs(dispatcher, err);
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
    for (size_t i = 0; i < dispatcher->entry_count; i++)
        preprocess_entry_free(dispatcher->entries[i]);
    free(dispatcher->entries);
    free(dispatcher->pending);
    preprocess_pool_fini(&dispatcher->pool);
    preprocess_shares_fini(&dispatcher->shares);
    preprocess_productions_fini(&dispatcher->productions);
    preprocess_scaling_fini(&dispatcher->scaling);
    weir_db_close(dispatcher->db);
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
