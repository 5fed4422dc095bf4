/* A run has a trainer only while it holds a slot of the arbiter's: from before its job is opened
 * until its process is gone. */
#include "orchestrator/runs/run_state.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "orchestrator/runs/run_watch.h"

#include <inttypes.h>
#include <string.h>

enum { RECALLED_MAX = 1000 };

/* Begins the runs that are given a slot. */
static void grant_all(struct runs *runs, const struct run *asking)
{
    int64_t number = 0;
    while (orchestrator_arbiter_grant(runs->arbiter, weir_now_ns(), &number)) {
        struct run *run = orchestrator_run_find(runs, number);
        if (run == NULL)
            orchestrator_arbiter_release(runs->arbiter, number, weir_now_ns());
        else if (run != asking)
            orchestrator_run_schedule(run, 0, orchestrator_run_begin);
    }
}

enum weir_status orchestrator_run_request_slot(struct run *run, bool *ret_has,
                                               struct weir_error *err)
{
    struct runs *runs = run->runs;
    const struct orchestrator_config *config = run->outline.config;
    const struct orchestrator_quota quota =
        orchestrator_quota_of(&runs->context->sharing, config->name);
    const struct arbiter_claim claim = {
        .run = run->number,
        .pipeline = run->pipeline,
        .quota = orchestrator_quota_trainers(&quota),
        .gpus = orchestrator_run_gpus(run),
        .is_urgent = strcmp(run->mode, "train") == 0,
    };
    if (!orchestrator_arbiter_claim(runs->arbiter, &claim))
        return weir_fail(err, WEIR_INVALID,
                         "training.gpus: expected at most %" PRIu64
                         " of the system file (gpus, and quotas.%s), found %" PRIu64,
                         orchestrator_quota_gpus(&runs->context->sharing, config->name),
                         config->name, config->gpus);
    grant_all(runs, run);
    *ret_has = orchestrator_arbiter_holds(runs->arbiter, run->number);
    return WEIR_OK;
}

int64_t orchestrator_run_bill_ns(struct runs *runs, int64_t number)
{
    return orchestrator_arbiter_bill(runs->arbiter, number, weir_now_ns());
}

/* Charges what was held for a run that did not come to its end. */
static void note_held(struct runs *runs, int64_t number)
{
    struct weir_error err;
    int64_t held_ns = orchestrator_run_bill_ns(runs, number);
    if (held_ns > 0 && DB_RUN(runs->context->db, Q_run_held, NULL, &err, DB_I64(number),
                              DB_I64(held_ns)) != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "what a run has held is not recorded", "run=%" PRId64 " %s", number,
                 err.text);
}

/* A run that is over may be asked for again, and be over again, before the process that did it is gone. */
void orchestrator_run_release_slot(struct runs *runs, int64_t number)
{
    if (orchestrator_run_watch_has(runs->watch, number))
        return;
    note_held(runs, number);
    orchestrator_arbiter_release(runs->arbiter, number, weir_now_ns());
    grant_all(runs, NULL);
}

enum weir_status orchestrator_runs_recall(struct runs *runs, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(runs->context->db, Q_runs_held, &rows, err, DB_I64(RECALLED_MAX));
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        const struct orchestrator_quota quota =
            orchestrator_quota_of(&runs->context->sharing, weir_rows_text(rows, i, "name"));
        const struct arbiter_quota trainers = orchestrator_quota_trainers(&quota);
        orchestrator_arbiter_recall(runs->arbiter, weir_rows_i64(rows, i, "pipeline"), &trainers,
                                    weir_rows_i64(rows, i, "held_ns"));
    }
    return status;
}
