/* Counting. */
#include "orchestrator/runs/tally.h"

#include "core/base/memory.h"
#include "core/base/number.h"

#include <stdlib.h>
#include <string.h>

static const char *const STAGES[RUN_STAGES] = {
    [RUN_STAGE_LOCATE] = "locate",       [RUN_STAGE_READ] = "read",
    [RUN_STAGE_OPERATORS] = "operators", [RUN_STAGE_TRANSFER] = "transfer",
    [RUN_STAGE_OTHER] = "other",
};

const char *orchestrator_run_stage_name(enum run_stage stage)
{
    return STAGES[stage];
}

enum run_stage orchestrator_run_stage_of(const char *name)
{
    int stage = 0;
    while (stage < RUN_STAGE_OTHER && strcmp(name, STAGES[stage]) != 0)
        stage++;
    return (enum run_stage)stage;
}

struct run_tally *orchestrator_tally_of(struct run_tallies *tallies, int64_t pipeline)
{
    struct run_tally *tally;
    LIST_FOREACH (tally, tallies, link)
        if (tally->pipeline == pipeline)
            return tally;
    tally = weir_calloc(1, sizeof(*tally));
    tally->pipeline = pipeline;
    LIST_INSERT_HEAD(tallies, tally, link);
    return tally;
}

void orchestrator_tallies_free(struct run_tallies *tallies)
{
    while (!LIST_EMPTY(tallies)) {
        struct run_tally *tally = LIST_FIRST(tallies);
        LIST_REMOVE(tally, link);
        free(tally);
    }
}

/* Raises `counted`, and the sum by as much. */
static void raise(uint64_t *counted, uint64_t value, bool is_skipped, uint64_t *sum)
{
    if (value <= *counted)
        return;
    *sum += is_skipped ? 0 : value - *counted;
    *counted = value;
}

void orchestrator_tally_samples(struct run_tally *tally, struct run_counted *counted,
                                uint64_t samples)
{
    raise(&counted->samples, samples, counted->skips_samples, &tally->samples);
    counted->skips_samples = false;
}

void orchestrator_tally_work(struct run_tally *tally, struct run_counted *counted,
                             const struct run_work *work)
{
    bool skips = counted->skips_work;
    if (work->cpu_ns > counted->work.cpu_ns) {
        tally->work.cpu_ns += skips ? 0 : work->cpu_ns - counted->work.cpu_ns;
        counted->work.cpu_ns = work->cpu_ns;
    }
    raise(&counted->work.bytes_read, work->bytes_read, skips, &tally->work.bytes_read);
    raise(&counted->work.bytes_sent, work->bytes_sent, skips, &tally->work.bytes_sent);
    raise(&counted->work.batches, work->batches, skips, &tally->work.batches);
    raise(&counted->work.failed, work->failed, skips, &tally->work.failed);
    counted->skips_work = false;
}

static int64_t grown(int64_t before, int64_t after)
{
    int64_t since = after >= before ? after - before : after;
    return since > 0 ? since : 0;
}

void orchestrator_tally_times(struct run_tally *tally, struct run_times before,
                              struct run_times after, enum run_stage stage)
{
    int64_t *stalled_ns = &tally->stalled_ns[stage];
    tally->busy_ns = weir_plus(tally->busy_ns, grown(before.busy_ns, after.busy_ns));
    *stalled_ns = weir_plus(*stalled_ns, grown(before.wait_ns, after.wait_ns));
}
