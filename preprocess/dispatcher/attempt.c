/* Consumers of a job: how an attempt forms and begins, what they report and commit. See the rules
 * in job.h. */
#include "preprocess/dispatcher/job.h"

#include "core/base/number.h"

static uint32_t ranks_of(const struct dispatcher_job *job)
{
    return job->about.geometry.ranks;
}

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

static enum weir_status check_rank(const struct dispatcher_job *job, uint32_t rank, uint32_t ranks,
                                   struct weir_error *err)
{
    if (rank < ranks_of(job) && ranks == ranks_of(job))
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID, "job %lu has %u ranks, from 0: found rank %u of %u",
                     job->about.job, ranks_of(job), rank, ranks);
}

/* ---- where an attempt begins ---- */

/* Samples that were reported as consumed and are not in the state that begins. */
static uint64_t undone(const struct dispatcher_job *job)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < ranks_of(job); i++) {
        const struct dispatcher_seat *seat = &job->record.seats[i];
        uint64_t was = seat->reported.tally.delivered, is = seat->begun.tally.delivered;
        count += was > is ? was - is : 0;
    }
    return count;
}

/* Samples that may have been handed to a loop and will be again. */
static uint64_t handed_again(const struct dispatcher_job *job)
{
    const struct preprocess_geometry *geometry = &job->about.geometry;
    uint64_t count = 0;
    for (uint32_t i = 0; i < ranks_of(job); i++) {
        const struct dispatcher_seat *seat = &job->record.seats[i];
        struct weir_position all = {0};
        weir_position_unite(&all, &seat->reported);
        weir_position_unite(&all, &seat->begun);
        count += preprocess_slices_in(geometry, i, &all) -
                 preprocess_slices_in(geometry, i, &seat->begun);
        weir_position_fini(&all);
    }
    return count;
}

/* Everything that may have been handed to a loop, on any rank: a batch is skipped on all of them,
 * so that all still get equally many. */
static void skip_handed(struct dispatcher_record *record, uint32_t ranks)
{
    struct weir_position handed = {0};
    for (uint32_t i = 0; i < ranks; i++) {
        weir_position_unite(&handed, &record->seats[i].reported);
        weir_position_unite(&handed, &record->seats[i].begun);
    }
    for (uint32_t i = 0; i < ranks; i++)
        weir_position_unite(&record->seats[i].begun, &handed);
    weir_position_fini(&handed);
}

static void begin_attempt(struct dispatcher_job *job)
{
    struct dispatcher_record *record = &job->record;
    if (job->about.delivery == WEIR_EXACTLY_ONCE)
        record->replayed += undone(job);
    if (job->about.delivery == WEIR_AT_LEAST_ONCE)
        record->duplicated += handed_again(job);
    if (job->about.delivery == WEIR_AT_MOST_ONCE)
        skip_handed(record, ranks_of(job));
    job->open_fence = ++job->fences->newest;
    for (uint32_t i = 0; i < ranks_of(job); i++) {
        struct dispatcher_seat *seat = &record->seats[i];
        weir_position_copy(&seat->committed, &seat->begun);
        weir_position_copy(&seat->pending, &seat->begun);
        weir_position_copy(&seat->reported, &seat->begun);
        preprocess_rank_begin(&job->ranks[i], &seat->begun, true);
    }
}

/* ---- taking a place ---- */

/* The state a consumer begins from, when it is up to it. */
static const struct weir_position *state_of(const struct dispatcher_job *job,
                                            const struct dispatcher_claim *claim)
{
    static const struct weir_position beginning;
    if (claim->state != NULL)
        return claim->state;
    return job->about.delivery == WEIR_AT_LEAST_ONCE ? &job->record.seats[claim->rank].committed
                                                     : &beginning;
}

static void vacate(struct dispatcher_job *job)
{
    for (uint32_t i = 0; i < ranks_of(job); i++) {
        job->record.seats[i].session = 0;
        job->record.seats[i].final = false;
    }
    job->record.final = false;
}

/* Batches in the states that the present members have named: equally many; UINT64_MAX: there are
 * none. */
static uint64_t step_of_present(const struct dispatcher_job *job)
{
    for (uint32_t i = 0; i < ranks_of(job); i++) {
        if (job->record.seats[i].session != 0)
            return weir_position_batches(&job->record.seats[i].begun);
    }
    return UINT64_MAX;
}

static void take_place(struct dispatcher_job *job, const struct dispatcher_claim *claim)
{
    struct dispatcher_seat *seat = &job->record.seats[claim->rank];
    const struct weir_position *state = state_of(job, claim);
    job->record.seats_taken++;
    if (job->record.attempt == 0 || seat->session != 0) {
        vacate(job);
        job->record.attempt++;
    }
    if (weir_position_batches(state) < step_of_present(job))
        vacate(job);
    seat->session = claim->session;
    weir_position_copy(&seat->begun, state);
    job->unsaved |= DISPATCHER_PLACES;
    if (preprocess_job_is_running(job))
        begin_attempt(job);
}

/* The answer to a consumer that has its place. */
static struct dispatcher_opened placed(const struct dispatcher_job *job, uint32_t rank)
{
    return (struct dispatcher_opened){
        .attempt = preprocess_job_is_running(job) ? job->record.attempt : 0,
        .newest = job->record.seats_taken,
        .joined = true,
        .fence = job->open_fence,
        .begun = &job->record.seats[rank].begun,
    };
}

static bool contains_all(const struct dispatcher_job *job, const struct weir_position *state)
{
    return state->oldest >= preprocess_batches(&job->about.geometry);
}

/* Rule 7: its part of the final state is what it says. */
static void return_when_final(struct dispatcher_job *job, const struct dispatcher_claim *claim)
{
    struct dispatcher_seat *seat = &job->record.seats[claim->rank];
    const struct weir_position *state = state_of(job, claim);
    seat->session = claim->session;
    weir_position_copy(&seat->begun, state);
    weir_position_copy(&seat->committed, state);
    weir_position_copy(&seat->pending, state);
    job->record.seats_taken++;
    job->unsaved |= DISPATCHER_PLACES;
}

static struct dispatcher_opened open_place(struct dispatcher_job *job,
                                           const struct dispatcher_claim *claim)
{
    const struct weir_position *state = state_of(job, claim);
    uint64_t step = step_of_present(job);
    bool is_free = job->record.seats[claim->rank].session == 0;
    if (is_free && weir_position_batches(state) > step)
        return (struct dispatcher_opened){
            .newest = job->record.seats_taken, .reload = true, .batches = step};
    if (job->record.final && contains_all(job, state))
        return_when_final(job, claim);
    else
        take_place(job, claim);
    return placed(job, claim->rank);
}

enum weir_status preprocess_job_client_open(struct dispatcher_job *job,
                                            const struct dispatcher_claim *claim,
                                            struct dispatcher_opened *ret_opened,
                                            struct weir_error *err)
{
    if (job->fitting)
        return weir_fail(err, WEIR_UNAVAILABLE, "job %lu: its operators are being fitted",
                         job->about.job);
    if (claim->session == 0) /* means that nobody has a place */
        return weir_fail(err, WEIR_INVALID, "job %lu: found session 0, expected another number",
                         job->about.job);
    enum weir_status status =
        check_rank(job, claim->rank, claim->ranks > 0 ? claim->ranks : 1, err);
    if (status == WEIR_OK)
        status = check_position(job, state_of(job, claim), err);
    if (status != WEIR_OK)
        return status;
    uint64_t holder = job->record.seats[claim->rank].session;
    *ret_opened = (struct dispatcher_opened){.newest = job->record.seats_taken};
    if (holder != 0 && holder == claim->session)
        *ret_opened = placed(job, claim->rank);
    else if (holder != 0 && claim->joined)
        ret_opened->superseded = true;
    else if (claim->after == job->record.seats_taken)
        *ret_opened = open_place(job, claim);
    return WEIR_OK;
}

/* ---- what a consumer reports ---- */

static bool is_current(const struct dispatcher_job *job, uint32_t rank, uint64_t attempt,
                       uint64_t session)
{
    return attempt > 0 && job->record.attempt == attempt &&
           job->record.seats[rank].session == session && preprocess_job_is_running(job);
}

/* True when every bit that is set stands below `end`, and there are no more than a consumer ever has. */
static bool are_below(struct weir_bytes bits, uint64_t end)
{
    if (bits.size > WEIR_AHEAD_MAX / 8)
        return false;
    while (bits.size > 0 && bits.at[bits.size - 1] == 0)
        bits.size--;
    return bits.size == 0 ||
           (bits.size - 1) * 8 + 31 - (size_t)__builtin_clz(bits.at[bits.size - 1]) < end;
}

static enum weir_status check_beat(const struct dispatcher_job *job,
                                   const struct msg_client_beat *beat, struct weir_error *err)
{
    uint64_t batches = preprocess_batches(&job->about.geometry);
    uint64_t left = beat->oldest <= batches ? batches - beat->oldest : 0;
    uint64_t end = left < WEIR_AHEAD_MAX ? left : WEIR_AHEAD_MAX;
    bool is_consistent = beat->oldest <= batches && are_below(beat->received, end) &&
                         are_below(beat->consumed, end) && are_below(beat->handed, end) &&
                         beat->again_groups.count == beat->again_fences.count &&
                         preprocess_slices_are_sensible(beat, batches) &&
                         weir_can_be_spent(beat->wait_ns) && weir_can_be_spent(beat->steps_ns);
    if (is_consistent)
        return WEIR_OK;
    return weir_fail(
        err, WEIR_INVALID,
        "job %lu: beat %lu speaks of batch %lu, expected at most %lu, lists that match and times that "
        "can have passed",
        job->about.job, beat->number, beat->oldest, batches);
}

/* Rule 6: what may be handed out once this beat is answered must be durable before. */
static void note_handed(struct dispatcher_job *job, const struct msg_client_beat *beat)
{
    if (job->about.delivery == WEIR_EXACTLY_ONCE)
        return;
    struct weir_position handed = {0};
    struct weir_position *reported = &job->record.seats[beat->rank].reported;
    weir_position_set(&handed, beat->oldest, beat->handed);
    uint64_t before = weir_position_batches(reported);
    weir_position_unite(reported, &handed);
    if (weir_position_batches(reported) != before)
        job->unsaved |= DISPATCHER_HANDED;
    weir_position_fini(&handed);
}

static enum weir_status bear(const struct dispatcher_job *job, uint32_t rank,
                             const struct weir_tally *newest, struct weir_error *err)
{
    const struct dispatcher_about *about = &job->about;
    return about->bear != NULL ? about->bear(about->owner, rank, newest, err) : WEIR_OK;
}

static enum weir_status take_beat(struct dispatcher_job *job, const struct msg_client_beat *beat,
                                  int64_t now_ms, struct weir_error *err)
{
    struct weir_tally tally = {0};
    enum weir_status status = check_beat(job, beat, err);
    if (status == WEIR_OK)
        status = weir_tally_unpack(beat->tally, &tally, err);
    if (status == WEIR_OK)
        status = bear(job, beat->rank, &tally, err);
    if (status != WEIR_OK)
        return status;
    preprocess_rank_take(&job->ranks[beat->rank], beat, now_ms);
    job->record.seats[beat->rank].reported.tally = tally;
    job->report_unsaved = true;
    note_handed(job, beat);
    return WEIR_OK;
}

enum weir_status preprocess_job_client_beat(struct dispatcher_job *job,
                                            const struct msg_client_beat *beat, int64_t now_ms,
                                            struct msg_client_orders *ret_orders,
                                            struct weir_error *err)
{
    enum weir_status status = check_rank(job, beat->rank, ranks_of(job), err);
    if (status != WEIR_OK)
        return status;
    uint64_t holder = job->record.seats[beat->rank].session;
    if (!is_current(job, beat->rank, beat->attempt, beat->session)) {
        ret_orders->number = beat->number;
        ret_orders->superseded = holder != 0 && holder != beat->session;
        ret_orders->regroup = !ret_orders->superseded;
        return WEIR_OK;
    }
    struct dispatcher_rank_state *rank = &job->ranks[beat->rank];
    /* One that was under way while this dispatcher restarted may lie after what is committed. */
    if (beat->number > rank->beat_number && beat->oldest >= rank->oldest)
        status = take_beat(job, beat, now_ms, err);
    ret_orders->number = rank->beat_number;
    ret_orders->superseded = ret_orders->regroup = false;
    return status;
}

struct dispatcher_totals preprocess_job_totals(const struct dispatcher_job *job)
{
    const struct dispatcher_slices *slices[WEIR_RANKS_MAX];

    for (uint32_t i = 0; i < ranks_of(job); i++)
        slices[i] = &job->ranks[i].slices;
    return preprocess_totals(slices, ranks_of(job));
}

/* ---- what a consumer commits ---- */

static enum weir_status take_commit(struct dispatcher_job *job, uint32_t rank,
                                    const struct weir_position *position, bool final,
                                    struct weir_error *err)
{
    struct dispatcher_seat *seat = &job->record.seats[rank];
    enum weir_status status = check_position(job, position, err);
    if (status != WEIR_OK)
        return status;
    uint64_t before = weir_position_batches(&seat->pending);
    uint64_t now = weir_position_batches(position);
    if (final && now < before)
        return weir_fail(err, WEIR_INVALID,
                         "job %lu: the final position holds %lu batches, an earlier one %lu",
                         job->about.job, now, before);
    if (now > before)
        weir_position_copy(&seat->pending, position);
    if (now > before || (final && !seat->final))
        job->unsaved |= DISPATCHER_COMMITS;
    seat->final |= final;
    return WEIR_OK;
}

/* Rule 7: a step is committed when all ranks have committed it. */
static void settle_commits(struct dispatcher_job *job)
{
    struct dispatcher_seat *seats = job->record.seats;
    uint64_t step = weir_position_batches(&seats[0].pending);
    bool are_final = true;
    for (uint32_t i = 0; i < ranks_of(job); i++) {
        if (weir_position_batches(&seats[i].pending) != step)
            return;
        are_final &= seats[i].final;
    }
    for (uint32_t i = 0; i < ranks_of(job); i++)
        weir_position_copy(&seats[i].committed, &seats[i].pending);
    job->record.final = are_final;
}

enum weir_status preprocess_job_client_commit(struct dispatcher_job *job,
                                              const struct msg_client_commit *commit,
                                              struct msg_client_committed *ret_committed,
                                              struct weir_error *err)
{
    enum weir_status status = check_rank(job, commit->rank, ranks_of(job), err);
    if (status != WEIR_OK)
        return status;
    if (!is_current(job, commit->rank, commit->attempt, commit->session))
        return weir_fail(err, WEIR_STALE, "job %lu: attempt %lu is not the current one",
                         job->about.job, commit->attempt);
    struct weir_position position = {0};
    status = weir_position_unpack(commit->position, &position, err);
    if (status == WEIR_OK)
        status = bear(job, commit->rank, &position.tally, err);
    if (status == WEIR_OK)
        status = take_commit(job, commit->rank, &position, commit->final, err);
    weir_position_fini(&position);
    if (status != WEIR_OK)
        return status;
    settle_commits(job);
    *ret_committed = (struct msg_client_committed){
        .batches = weir_position_batches(&job->record.seats[commit->rank].committed),
        .final = job->record.final,
    };
    return WEIR_OK;
}
