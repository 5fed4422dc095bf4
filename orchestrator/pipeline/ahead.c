/* One trigger ahead: while trigger n trains, the samples after it pass the policy, and when trigger n + 1 fires,
 * its row is committed, and the selector asked to choose, so that both are done when n is through. The state of the
 * pipeline stays: EVALUATING goes on to SELECTING at once, which asks again and is answered at once. Where somebody
 * comes first, it goes the longer way through READING, which finds the row later.
 *
 * Waited for is: the model, scores and cost of n, by policies that are measured or told of them (they stop here at
 * their first check), by selections that a model has a say in, and by budgets; an erasure and an order, which come
 * first. What is read here and not committed is read again. */
#include "core/base/fault.h"
#include "core/base/log.h"
#include "orchestrator/context/events.h"
#include "orchestrator/pipeline/reader.h"
#include "orchestrator/pipeline/spending.h"

enum {
    BEGIN_MS = 50
}; /* a trainer that starts has the platform for itself; shorter trainings hide nothing */

bool orchestrator_pipeline_is_ahead(const struct pipeline *pipeline)
{
    return pipeline->state == PIPELINE_TRAINING;
}

void orchestrator_pipeline_look_no_further(struct pipeline *pipeline)
{
    weir_rpc_forget(pipeline->context->storage, pipeline);
    orchestrator_pipeline_reader_drop(pipeline);
}

void orchestrator_pipeline_reading_trouble(struct pipeline *pipeline, enum weir_status status,
                                           const struct weir_error *err)
{
    if (!orchestrator_pipeline_is_ahead(pipeline)) {
        orchestrator_pipeline_trouble(pipeline, status, err);
        return;
    }
    weir_log(WEIR_LOG_INFO, "pipeline does not look ahead", "pipeline=%s because=\"%s\"",
             pipeline->config->name, err->text);
    orchestrator_pipeline_look_no_further(pipeline);
}

/* ---- whether ---- */

static bool somebody_comes_first(const struct pipeline *pipeline)
{
    return pipeline->pending_order != PENDING_ORDER_NONE ||
           orchestrator_pipeline_erasure_claims(pipeline);
}

/* The next trigger fires only if the cost of this one allows it. */
static enum weir_status has_budget(const struct pipeline *pipeline, bool *ret_has,
                                   struct weir_error *err)
{
    struct pipeline_spending spending[PIPELINE_BUDGETS_MAX];
    size_t count = 0;
    enum weir_status status = orchestrator_pipeline_spending(pipeline, spending, &count, err);

    *ret_has = count > 0;
    return status;
}

/* Told of trainings or erasures, it decides by what is not known yet. */
static enum weir_status policy_can(const struct pipeline *pipeline, bool *ret_can,
                                   struct weir_error *err)
{
    WEIR_AUTO(trigger) trigger = NULL;
    enum weir_status status =
        orchestrator_trigger_open(pipeline->config->trigger, "trigger", &trigger, err);

    if (status != WEIR_OK)
        return status;
    const struct trigger_events *events = orchestrator_trigger_policy(trigger)->events;
    *ret_can = events == NULL || (events->trained == NULL && events->erased == NULL);
    return WEIR_OK;
}

static enum weir_status can_look(const struct pipeline *pipeline, bool *ret_can,
                                 struct weir_error *err)
{
    bool has = false;
    enum weir_status status = policy_can(pipeline, ret_can, err);

    if (status == WEIR_OK && *ret_can)
        status = has_budget(pipeline, &has, err);
    *ret_can = status == WEIR_OK && *ret_can && !has && !somebody_comes_first(pipeline);
    return status;
}

/* ---- looking ---- */

/* True: the trigger after the one under way has fired already. */
static bool has_next(const struct pipeline *pipeline)
{
    return weir_rows_count(pipeline->rows.of[ROW_NEXT]) > 0;
}

bool orchestrator_pipeline_goes_on(const struct pipeline *pipeline)
{
    return has_next(pipeline) && !somebody_comes_first(pipeline);
}

static void select_next(struct pipeline *pipeline)
{
    struct trigger_row next;

    orchestrator_pipeline_take_trigger(pipeline->rows.of[ROW_NEXT], &next);
    if (orchestrator_config_selects_alone(pipeline->config))
        orchestrator_pipeline_select_ahead(pipeline, &next);
}

static void look(void *owner)
{
    struct pipeline *pipeline = owner;
    struct weir_error err;
    bool can = false;

    pipeline->timer = 0;
    enum weir_status status = can_look(pipeline, &can, &err);
    if (status == WEIR_OK && can)
        status = orchestrator_pipeline_load(pipeline, &err);
    if (status != WEIR_OK)
        orchestrator_pipeline_reading_trouble(pipeline, status, &err);
    else if (can && has_next(pipeline))
        select_next(pipeline);
    else if (can && pipeline->config->mode == MODE_LIVE)
        orchestrator_pipeline_read_live(pipeline);
    else if (can)
        orchestrator_pipeline_read_replay(pipeline);
}

void orchestrator_pipeline_look_ahead(struct pipeline *pipeline)
{
    weir_loop_cancel(pipeline->context->loop, pipeline->timer);
    pipeline->timer = weir_loop_timer(pipeline->context->loop, BEGIN_MS, 0, look, pipeline);
}

/* ---- fired ---- */

static enum weir_status effect_fired(void *subject, const void *what, struct weir_error *err)
{
    return orchestrator_pipeline_effect_fired(subject, what, err);
}

static enum weir_status commit_fired(struct pipeline *pipeline, const struct fired *fired,
                                     struct weir_error *err)
{
    struct weir_asked asked[ROWS];

    orchestrator_pipeline_ask_rows(pipeline, asked);
    const struct orchestrator_change change = {effect_fired, pipeline, fired};
    enum weir_status status =
        orchestrator_commit_and_ask(pipeline->context, &change, asked, ROWS, err);
    if (status == WEIR_OK)
        orchestrator_pipeline_keep_rows(pipeline, asked);
    return status;
}

bool orchestrator_pipeline_fire_ahead(struct pipeline *pipeline, const struct fired *fired)
{
    struct weir_error err;

    if (somebody_comes_first(pipeline)) {
        orchestrator_pipeline_look_no_further(pipeline);
        return false;
    }
    enum weir_status status = weir_fault("pipeline.ahead")
                                  ? weir_fail(&err, WEIR_UNAVAILABLE, "fault pipeline.ahead")
                                  : commit_fired(pipeline, fired, &err);
    if (status != WEIR_OK) {
        orchestrator_pipeline_reading_trouble(pipeline, status, &err);
        return false;
    }
    (void)weir_fault("pipeline.aheaded"); /* committed: only death can come between */
    weir_log(WEIR_LOG_INFO, "pipeline is ahead", "pipeline=%s trigger=%lld", pipeline->config->name,
             (long long)pipeline->newest.number + 1);
    return true;
}

void orchestrator_pipeline_prepare_ahead(struct pipeline *pipeline)
{
    struct weir_error err;
    enum weir_status status = orchestrator_pipeline_load(pipeline, &err);

    orchestrator_pipeline_look_no_further(pipeline);
    if (status == WEIR_OK && has_next(pipeline))
        select_next(pipeline);
}
