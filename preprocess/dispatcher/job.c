/* The dispatcher's side of the delivery protocol for one job: see the rules in job.h. */
#include "preprocess/dispatcher/job.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- groups ---- */

static uint64_t groups_end(const struct dispatcher_job *job)
{
    const struct preprocess_geometry *geometry = &job->about.geometry;
    return job->fitting ? geometry->groups_per_epoch : preprocess_groups(geometry);
}

/* One past the last group of the window. */
static uint64_t window_end(const struct dispatcher_job *job)
{
    uint64_t end = job->first_group + job->capacity;
    return end < groups_end(job) ? end : groups_end(job);
}

static struct dispatcher_group *group_at(const struct dispatcher_job *job, uint64_t group)
{
    return &job->groups[group % job->capacity];
}

static bool in_window(const struct dispatcher_job *job, uint64_t group)
{
    return group >= job->first_group && group < window_end(job);
}

static void forget_groups(struct dispatcher_job *job, uint64_t first_group)
{
    memset(job->groups, 0, job->capacity * sizeof(*job->groups));
    job->first_group = first_group;
}

static void slide_to(struct dispatcher_job *job, uint64_t first_group)
{
    if (first_group - job->first_group >= job->capacity) {
        forget_groups(job, first_group);
        return;
    }
    for (; job->first_group < first_group; job->first_group++)
        *group_at(job, job->first_group) = (struct dispatcher_group){0};
}

static uint64_t first_unfinished_group(const struct dispatcher_job *job)
{
    const struct preprocess_geometry *geometry = &job->about.geometry;
    if (job->oldest >= preprocess_batches(geometry))
        return preprocess_groups(geometry);
    return preprocess_group_of(geometry, job->oldest);
}

static bool consumer_has(const struct dispatcher_job *job, uint64_t group)
{
    struct preprocess_range batches = preprocess_group(&job->about.geometry, group);
    for (uint32_t i = 0; i < batches.count; i++) {
        uint64_t batch = batches.first + i;
        if (batch >= job->oldest && !weir_bits_get(&job->received, batch - job->oldest))
            return false;
    }
    return true;
}

/* The consumer has told what it has: slide the window, and end leases that nobody needs any more.
 */
static void look_at_consumer(struct dispatcher_job *job, int64_t now_ms)
{
    slide_to(job, first_unfinished_group(job));
    for (uint64_t i = job->first_group; i < window_end(job); i++) {
        struct dispatcher_group *group = group_at(job, i);
        group->here = consumer_has(job, i);
        bool overdue = group->state == DISPATCHER_GROUP_SENT && now_ms >= group->until_ms;
        if (group->here || overdue)
            group->state = DISPATCHER_GROUP_OPEN;
    }
}

/* ---- life ---- */

void dispatcher_job_init(struct dispatcher_job *job, const struct dispatcher_about *about,
                         struct dispatcher_fences *fences)
{
    /* Twice what full groups need: the last group of each epoch may be small. */
    size_t capacity = 2 * (size_t)WEIR_AHEAD_MAX / about->geometry.group_batches + 2;
    *job = (struct dispatcher_job){
        .about = *about,
        .fences = fences,
        .fitting = about->fit,
        .open_fence = fences->newest + 1,
        .capacity = capacity,
        .groups = weir_calloc(capacity, sizeof(struct dispatcher_group)),
    };
}

void dispatcher_job_restore(struct dispatcher_job *job, const struct dispatcher_record *record,
                            bool is_fitted)
{
    dispatcher_record_copy(&job->record, record);
    job->fitting = job->about.fit && !is_fitted;
    job->oldest = record->committed.oldest;
    if (!job->fitting)
        slide_to(job, first_unfinished_group(job));
}

void dispatcher_job_fini(struct dispatcher_job *job)
{
    dispatcher_record_fini(&job->record);
    weir_bits_fini(&job->received);
    free(job->groups);
    *job = (struct dispatcher_job){0};
}

void dispatcher_record_copy(struct dispatcher_record *to, const struct dispatcher_record *from)
{
    to->attempt = from->attempt;
    to->session = from->session;
    weir_position_copy(&to->committed, &from->committed);
    to->consumed = from->consumed;
    to->replayed = from->replayed;
    to->final = from->final;
}

void dispatcher_record_fini(struct dispatcher_record *record)
{
    weir_position_fini(&record->committed);
    *record = (struct dispatcher_record){0};
}

/* ---- consumer ---- */

static enum weir_status check_position(const struct dispatcher_job *job,
                                       const struct weir_position *position, struct weir_error *err)
{
    uint64_t batches = preprocess_batches(&job->about.geometry);
    if (position->oldest > batches || position->ahead.count > batches - position->oldest)
        return weir_fail(err, WEIR_INVALID,
                         "job %lu: position %lu lies beyond the last of %lu batches",
                         job->about.job, position->oldest, batches);
    return WEIR_OK;
}

static void begin_attempt(struct dispatcher_job *job, uint64_t session,
                          const struct weir_position *position)
{
    struct dispatcher_record *record = &job->record;
    if (record->consumed.delivered > position->tally.delivered)
        record->replayed += record->consumed.delivered - position->tally.delivered;
    record->attempt++;
    record->session = session;
    record->consumed = position->tally;
    record->final = false;
    weir_position_copy(&record->committed, position);
    job->unsaved = true;

    job->heard = true;
    job->heard_ms = INT64_MIN;
    job->open_fence = ++job->fences->newest;
    job->beat_number = 0;
    job->oldest = position->oldest;
    weir_bits_copy(&job->received, &position->ahead);
    forget_groups(job, first_unfinished_group(job));
    look_at_consumer(job, 0);
}

enum weir_status dispatcher_job_client_open(struct dispatcher_job *job, uint64_t session,
                                            uint64_t after, const struct weir_position *position,
                                            struct dispatcher_opened *ret_opened,
                                            struct weir_error *err)
{
    struct dispatcher_record *record = &job->record;
    if (job->fitting)
        return weir_fail(err, WEIR_UNAVAILABLE, "job %lu: its operators are being fitted",
                         job->about.job);
    if (record->attempt == 0 || record->session != session) {
        *ret_opened = (struct dispatcher_opened){.newest = record->attempt};
        if (after != record->attempt)
            return WEIR_OK;
        enum weir_status status = check_position(job, position, err);
        if (status != WEIR_OK)
            return status;
        begin_attempt(job, session, position);
    }
    *ret_opened = (struct dispatcher_opened){
        .attempt = record->attempt, .newest = record->attempt, .fence = job->open_fence};
    return WEIR_OK;
}

static bool is_current(const struct dispatcher_job *job, uint64_t attempt, uint64_t session)
{
    return job->record.attempt == attempt && job->record.session == session && attempt > 0;
}

static enum weir_status check_beat(const struct dispatcher_job *job,
                                   const struct msg_client_beat *beat, struct weir_error *err)
{
    uint64_t batches = preprocess_batches(&job->about.geometry);
    bool is_consistent = beat->oldest >= job->oldest && beat->oldest <= batches &&
                         beat->received.size <= WEIR_AHEAD_MAX / 8 &&
                         beat->consumed.size <= WEIR_AHEAD_MAX / 8 &&
                         beat->again_groups.count == beat->again_fences.count;
    if (is_consistent)
        return WEIR_OK;
    return weir_fail(
        err, WEIR_INVALID,
        "job %lu: beat %lu speaks of batch %lu, expected %lu … %lu and lists that match",
        job->about.job, beat->number, beat->oldest, job->oldest, batches);
}

/* The consumer dropped a batch that came under this very lease. */
static void make_again(struct dispatcher_job *job, uint64_t number, uint64_t fence)
{
    if (!in_window(job, number))
        return;
    struct dispatcher_group *group = group_at(job, number);
    if (group->fence == fence && !group->here)
        group->state = DISPATCHER_GROUP_OPEN;
}

static void take_beat(struct dispatcher_job *job, const struct msg_client_beat *beat,
                      int64_t now_ms)
{
    job->heard = true;
    job->heard_ms = now_ms;
    job->beat_number = beat->number;
    job->oldest = beat->oldest;
    job->wait_ns = beat->wait_ns;
    weir_bits_clear(&job->received);
    weir_bits_unpack(&job->received, beat->received);
    look_at_consumer(job, now_ms);
    for (size_t i = 0; i < beat->again_groups.count; i++)
        make_again(job, beat->again_groups.at[i], beat->again_fences.at[i]);
}

enum weir_status dispatcher_job_client_beat(struct dispatcher_job *job,
                                            const struct msg_client_beat *beat, int64_t now_ms,
                                            struct msg_client_orders *ret_orders,
                                            struct weir_error *err)
{
    if (!is_current(job, beat->attempt, beat->session)) {
        ret_orders->number = beat->number;
        ret_orders->superseded = true;
        return WEIR_OK;
    }
    if (beat->number > job->beat_number) {
        struct weir_tally tally = {0};
        enum weir_status status = check_beat(job, beat, err);
        if (status == WEIR_OK)
            status = weir_tally_unpack(beat->tally, &tally, err);
        if (status != WEIR_OK)
            return status;
        take_beat(job, beat, now_ms);
        job->record.consumed = tally;
        job->report_unsaved = true;
    }
    ret_orders->number = job->beat_number;
    ret_orders->superseded = false;
    return WEIR_OK;
}

static uint64_t batches_in(const struct weir_position *position)
{
    return position->oldest + weir_bits_population(&position->ahead);
}

static enum weir_status take_commit(struct dispatcher_job *job,
                                    const struct weir_position *position, bool final,
                                    struct weir_error *err)
{
    struct dispatcher_record *record = &job->record;
    enum weir_status status = check_position(job, position, err);
    if (status != WEIR_OK)
        return status;
    uint64_t before = batches_in(&record->committed), now = batches_in(position);
    if (final && now < before)
        return weir_fail(err, WEIR_INVALID,
                         "job %lu: the final position holds %lu batches, an earlier one %lu",
                         job->about.job, now, before);
    if (now > before) {
        weir_position_copy(&record->committed, position);
        job->unsaved = true;
    }
    if (final && !record->final) {
        record->final = true;
        job->unsaved = true;
    }
    return WEIR_OK;
}

enum weir_status dispatcher_job_client_commit(struct dispatcher_job *job,
                                              const struct msg_client_commit *commit,
                                              struct weir_error *err)
{
    if (!is_current(job, commit->attempt, commit->session))
        return weir_fail(err, WEIR_STALE, "job %lu: attempt %lu is not the current one",
                         job->about.job, commit->attempt);
    struct weir_position position = {0};
    enum weir_status status = weir_position_unpack(commit->position, &position, err);
    if (status == WEIR_OK)
        status = take_commit(job, &position, commit->final, err);
    weir_position_fini(&position);
    return status;
}

/* ---- workers ---- */

void dispatcher_job_expire(struct dispatcher_job *job, int64_t now_ms)
{
    for (uint64_t i = job->first_group; i < window_end(job); i++) {
        struct dispatcher_group *group = group_at(job, i);
        if (group->state == DISPATCHER_GROUP_LEASED && now_ms >= group->until_ms)
            group->state = DISPATCHER_GROUP_OPEN;
    }
}

/* The slot has another session now: what the former one held, or sent into a queue that died with
 * it, is open. */
static void end_former_session(struct dispatcher_job *job, uint32_t worker, uint64_t session)
{
    for (uint64_t i = job->first_group; i < window_end(job); i++) {
        struct dispatcher_group *group = group_at(job, i);
        bool is_out =
            group->state == DISPATCHER_GROUP_LEASED || group->state == DISPATCHER_GROUP_SENT;
        if (is_out && group->worker == worker && group->session != session)
            group->state = DISPATCHER_GROUP_OPEN;
    }
}

static bool is_leased_to(const struct dispatcher_group *group, uint32_t worker, uint64_t session)
{
    return group->state == DISPATCHER_GROUP_LEASED && group->worker == worker &&
           group->session == session;
}

static bool is_listening(const struct dispatcher_job *job, int64_t now_ms)
{
    return job->fitting || (job->heard && now_ms - job->heard_ms < DISPATCHER_SILENT_MS);
}

/* Returns how many of the leases that it keeps the worker has listed. */
static uint32_t renew(struct dispatcher_job *job, const struct dispatcher_visit *visit,
                      int64_t now_ms)
{
    uint32_t kept = 0;
    for (size_t i = 0; i < visit->held_count; i++) {
        const struct dispatcher_held *held = &visit->held[i];
        if (!in_window(job, held->group))
            continue;
        struct dispatcher_group *group = group_at(job, held->group);
        if (!is_leased_to(group, visit->worker, visit->session) || group->fence != held->fence)
            continue;
        if (held->sent && !job->fitting) {
            group->state = DISPATCHER_GROUP_SENT;
            group->until_ms = now_ms + DISPATCHER_SENT_PATIENCE_MS;
        } else {
            if (is_listening(job, now_ms))
                group->until_ms = now_ms + DISPATCHER_LEASE_MS;
            kept++;
        }
    }
    return kept;
}

static bool may_lease(const struct dispatcher_job *job, uint64_t number)
{
    if (job->fitting)
        return true;
    struct preprocess_range batches = preprocess_group(&job->about.geometry, number);
    return batches.first + batches.count <= job->oldest + WEIR_AHEAD_MAX;
}

/* Leases up to `want` groups, and the lowest that the consumer lacks in any case. Returns what is
 * left of `want`. */
static uint32_t grant(struct dispatcher_job *job, const struct dispatcher_visit *visit,
                      uint32_t want, int64_t now_ms)
{
    if (!is_listening(job, now_ms) || job->record.final)
        return want;
    bool is_lowest = true;
    for (uint64_t i = job->first_group; i < window_end(job) && may_lease(job, i); i++) {
        struct dispatcher_group *group = group_at(job, i);
        if (group->here || group->state == DISPATCHER_GROUP_FITTED)
            continue;
        if (want == 0 && !is_lowest)
            break;
        is_lowest = false;
        if (group->state != DISPATCHER_GROUP_OPEN)
            continue;
        *group = (struct dispatcher_group){
            .state = DISPATCHER_GROUP_LEASED,
            .worker = visit->worker,
            .session = visit->session,
            .fence = ++job->fences->newest,
            .until_ms = now_ms + DISPATCHER_LEASE_MS,
        };
        want -= want > 0;
    }
    return want;
}

uint32_t dispatcher_job_worker_beat(struct dispatcher_job *job,
                                    const struct dispatcher_visit *visit, uint32_t want,
                                    int64_t now_ms)
{
    if (job->heard_ms == INT64_MIN)
        job->heard_ms = now_ms;
    end_former_session(job, visit->worker, visit->session);
    uint32_t listed = renew(job, visit, now_ms);
    dispatcher_job_expire(job, now_ms);

    struct dispatcher_lease leases[DISPATCHER_LEASES_MAX];
    size_t has = dispatcher_job_leases(job, visit->worker, visit->session, leases);
    if (has >= DISPATCHER_LEASES_MAX)
        return want;
    uint32_t room = (uint32_t)(DISPATCHER_LEASES_MAX - has);
    uint32_t untold = has > listed ? (uint32_t)has - listed : 0;
    uint32_t more = want > untold ? want - untold : 0;
    uint32_t asked = more < room ? more : room;
    return more - (asked - grant(job, visit, asked, now_ms));
}

size_t dispatcher_job_leases(const struct dispatcher_job *job, uint32_t worker, uint64_t session,
                             struct dispatcher_lease leases[DISPATCHER_LEASES_MAX])
{
    size_t count = 0;
    for (uint64_t i = job->first_group; i < window_end(job) && count < DISPATCHER_LEASES_MAX; i++) {
        const struct dispatcher_group *group = group_at(job, i);
        if (is_leased_to(group, worker, session))
            leases[count++] = (struct dispatcher_lease){.group = i, .fence = group->fence};
    }
    return count;
}

/* ---- fitting ---- */

bool dispatcher_job_fit(struct dispatcher_job *job, uint64_t group)
{
    if (!job->fitting || !in_window(job, group) ||
        group_at(job, group)->state == DISPATCHER_GROUP_FITTED)
        return false;
    group_at(job, group)->state = DISPATCHER_GROUP_FITTED;
    return true;
}

bool dispatcher_job_fit_take(struct dispatcher_job *job, uint64_t *ret_group)
{
    if (!job->fitting || job->first_group >= groups_end(job) ||
        group_at(job, job->first_group)->state != DISPATCHER_GROUP_FITTED)
        return false;
    *ret_group = job->first_group;
    slide_to(job, job->first_group + 1);
    return true;
}

bool dispatcher_job_fit_complete(const struct dispatcher_job *job)
{
    return job->fitting && job->first_group >= groups_end(job);
}

void dispatcher_job_fitted(struct dispatcher_job *job)
{
    weir_require(job->fitting);
    job->fitting = false;
    forget_groups(job, first_unfinished_group(job));
}

/* ---- audit ---- */

static uint64_t accounted(const struct weir_tally *tally)
{
    return tally->delivered + tally->filtered + tally->failed + tally->erased + tally->gone;
}

struct dispatcher_audit dispatcher_job_audit(const struct dispatcher_job *job, uint64_t expected)
{
    const struct preprocess_geometry *geometry = &job->about.geometry;
    const struct dispatcher_record *record = &job->record;
    struct dispatcher_audit audit = {
        .set = preprocess_epoch_positions(geometry) * geometry->epochs,
        .tally = record->committed.tally,
        .replayed = record->replayed,
        .attempts = record->attempt,
    };
    uint64_t sum = accounted(&audit.tally);
    if (sum > audit.set)
        audit.duplicated = sum - audit.set;
    if (!record->final)
        return audit;
    if (sum < audit.set)
        audit.lost = audit.set - sum;
    if (sum == audit.set && audit.tally.fingerprint != expected)
        audit.lost = audit.duplicated = 1; /* at least: as many twice as not at all */
    return audit;
}
