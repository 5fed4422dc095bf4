/* A run has a trainer only while it holds a slot of the arbiter's: from before its job is opened until its process is gone. */
#include "orchestrator/runs/run_state.h"

#include "core/base/clock.h"
#include "orchestrator/pipeline/pipeline.h"

#include <string.h>

/* Whoever is given a slot begins. */
static void grant_all(struct orchestrator *orch, const struct run *asking)
{
    int64_t number = 0;
    while (arbiter_grant(orch->arbiter, weir_now_ms(), &number)) {
        struct run *run = run_find(orch, number);
        if (run == NULL)
            arbiter_release(orch->arbiter, number, weir_now_ms());
        else if (run != asking)
            run_schedule(run, 0, run_begin);
    }
}

bool run_has_slot(struct run *run)
{
    struct orchestrator *orch = run->orch;
    const struct pipeline *pipeline = orchestrator_pipeline_by_id(orch, run->pipeline);
    const struct arbiter_quota quota =
        orchestrator_quota_of(&orch->sharing, orchestrator_pipeline_config(pipeline)->name);
    arbiter_claim(orch->arbiter, run->number, run->pipeline, &quota,
                  strcmp(run->mode, "train") == 0);
    grant_all(orch, run);
    return arbiter_holds(orch->arbiter, run->number);
}

void run_release_slot(struct orchestrator *orch, int64_t number)
{
    arbiter_release(orch->arbiter, number, weir_now_ms());
    grant_all(orch, NULL);
}
