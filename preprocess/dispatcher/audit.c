/* The audit of a job: does what the committed states contain add up to the set. See job.h. */
#include "preprocess/dispatcher/job.h"

uint64_t preprocess_accounted(const struct weir_tally *tally)
{
    return tally->delivered + tally->filtered + tally->failed + tally->erased + tally->gone;
}

/* at_most_once: what was handed out before the attempt and is not in the states it began from. */
static uint64_t skipped(const struct dispatcher_job *job)
{
    uint64_t count = 0;
    if (job->about.delivery != WEIR_AT_MOST_ONCE || !preprocess_job_is_running(job))
        return 0;
    for (uint32_t i = 0; i < job->about.geometry.ranks; i++) {
        const struct weir_position *begun = &job->record.seats[i].begun;
        uint64_t handed = preprocess_slices_in(&job->about.geometry, i, begun);
        uint64_t kept = preprocess_accounted(&begun->tally);
        count += handed > kept ? handed - kept : 0;
    }
    return count;
}

struct dispatcher_audit preprocess_job_audit(const struct dispatcher_job *job, uint64_t expected)
{
    const struct preprocess_geometry *geometry = &job->about.geometry;
    const struct dispatcher_record *record = &job->record;
    struct dispatcher_audit audit = {
        .set = preprocess_epoch_positions(geometry) * geometry->epochs,
        .lost = skipped(job),
        .duplicated = record->duplicated,
        .replayed = record->replayed,
        .attempts = record->attempt,
        .kept = true,
    };
    for (uint32_t i = 0; i < geometry->ranks; i++)
        weir_tally_add(&audit.tally, &record->seats[i].committed.tally);
    uint64_t sum = preprocess_accounted(&audit.tally) + audit.lost;
    if (sum > audit.set)
        audit.duplicated += sum - audit.set;
    if (sum < audit.set && record->final)
        audit.lost += audit.set - sum;
    bool are_others = sum == audit.set && record->final && audit.tally.fingerprint != expected;
    audit.lost += are_others; /* at least: as many twice as not at all */
    audit.duplicated += are_others;
    audit.kept = sum <= audit.set && !are_others && (!record->final || sum == audit.set);
    return audit;
}
