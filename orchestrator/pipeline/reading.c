/* READING: what comes before any sample is looked at. The newest trigger may not be through yet (it
 * failed, was stopped, or its orchestrator died), or a budget may be spent. */
#include "core/base/memory.h"
#include "orchestrator/context/events.h"
#include "orchestrator/pipeline/pipeline_state.h"
#include "orchestrator/pipeline/spending.h"

#include <inttypes.h>
#include <string.h>

enum { HELD_BACK_MS = 5000 }; /* between two looks at whether the next day has come */

bool orchestrator_pipeline_is_through(const struct pipeline *pipeline)
{
    const struct trigger_row *trigger = &pipeline->newest;
    return trigger->number == 0 || strcmp(trigger->state, "done") == 0 ||
           strcmp(trigger->state, "skipped") == 0;
}

/* ---- budgets ---- */

static enum weir_status tell_spent(void *subject, const void *what, struct weir_error *err)
{
    const struct pipeline *pipeline = subject;
    const struct pipeline_spending *spending = what;
    WEIR_AUTO_FREE char *key =
        weir_format("budget_spent/%s/%" PRId64, spending->of, spending->since_us);
    json_t *body = orchestrator_pipeline_spending_json(pipeline, spending);
    json_object_set_new(body, "pipeline", json_string(pipeline->config->name));
    return orchestrator_event_put(
        pipeline->context, &(struct event_about){pipeline->id, 0, key, "budget_spent"}, body, err);
}

/* Nothing more fires: for today, or at all. */
static void hold_back(struct pipeline *pipeline, const struct budget *budget)
{
    if (budget->per == BUDGET_DAY)
        orchestrator_pipeline_begin_after(pipeline, HELD_BACK_MS);
    else
        orchestrator_pipeline_advance(pipeline, PIPELINE_ON_STOPPED, NULL, NULL);
}

/* True: a budget is spent, and holds the pipeline back. Each is reported once a day, or once. */
static enum weir_status check_budgets(struct pipeline *pipeline, bool *ret_held,
                                      struct weir_error *err)
{
    struct pipeline_spending spending[PIPELINE_BUDGETS_MAX];
    const struct budget *holds = NULL;
    size_t count;
    enum weir_status status = orchestrator_pipeline_spending(pipeline, spending, &count, err);
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        const struct budget *budget = &spending[i].budget;
        if (!spending[i].over)
            continue;
        status = orchestrator_commit(pipeline->context, tell_spent, pipeline, &spending[i], err);
        if (budget->then == BUDGET_HOLD && (holds == NULL || budget->per == BUDGET_TOTAL))
            holds = budget;
    }
    *ret_held = status == WEIR_OK && holds != NULL;
    if (*ret_held)
        hold_back(pipeline, holds);
    return status;
}

void orchestrator_pipeline_read(struct pipeline *pipeline)
{
    struct weir_error err;
    enum weir_status status = orchestrator_pipeline_load(pipeline, &err);
    bool through = status == WEIR_OK && orchestrator_pipeline_is_through(pipeline);
    bool held = false;
    if (through)
        status = check_budgets(pipeline, &held, &err);
    if (status != WEIR_OK)
        orchestrator_pipeline_trouble(pipeline, status, &err);
    else if (!through)
        orchestrator_pipeline_advance(pipeline, PIPELINE_ON_TRIGGERED, NULL, NULL);
    else if (held)
        return;
    else if (pipeline->config->mode == MODE_LIVE)
        orchestrator_pipeline_read_live(pipeline);
    else
        orchestrator_pipeline_read_replay(pipeline);
}
