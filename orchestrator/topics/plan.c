/* plan: what makes the batches of a pipeline, and why: the order of its operators, and the costs it was chosen by. */
#include "orchestrator/topics/topic.h"

#include "core/base/memory.h"
#include "orchestrator/values/json_object.h"

#define NS_PER_SECOND 1e9

static bool is_whole(const struct msg_plan_is *plan)
{
    size_t count = plan->operators.count;
    for (size_t i = 0; i < plan->order.count; i++) {
        if (plan->order.at[i] >= count)
            return false;
    }
    return plan->order.count == count && plan->written.count == count && plan->ns.count == count &&
           plan->taken.count == count && plan->made.count == count && plan->rows.count == count &&
           plan->kept.count == count;
}

/* Place at which an operator would run before anything was measured. */
static size_t place_before(const struct msg_plan_is *plan, uint32_t operator)
{
    size_t place = 0;
    while (place < plan->written.count && plan->written.at[place] != operator)
        place++;
    return place;
}

/* True when it runs before one that it would have run after. */
static bool has_moved_up(const struct msg_plan_is *plan, size_t place)
{
    size_t before = place_before(plan, plan->order.at[place]);
    for (size_t i = place + 1; i < plan->order.count; i++) {
        if (place_before(plan, plan->order.at[i]) < before)
            return true;
    }
    return false;
}

static json_t *operators_json(const struct msg_plan_is *plan)
{
    json_t *operators = json_array();
    for (size_t i = 0; i < plan->order.count; i++) {
        uint32_t at = plan->order.at[i];
        double taken = (double)plan->taken.at[at], rows = (double)plan->rows.at[at];
        json_array_append_new(
            operators,
            JSON_FIELDS(
                JSON_TEXT("operator", plan->operators.at[at]), JSON_NUMBER("written", at),
                JSON_FLAG("moved", has_moved_up(plan, i)),
                JSON_DOUBLE("cpu_seconds", (double)plan->ns.at[at] / NS_PER_SECOND),
                JSON_NUMBER("rows", plan->rows.at[at]), JSON_NUMBER("bytes_in", plan->taken.at[at]),
                JSON_NUMBER("bytes_out", plan->made.at[at]),
                JSON_NEW("ns_per_byte",
                         taken > 0 ? json_real((double)plan->ns.at[at] / taken) : json_null()),
                JSON_NEW("share_kept",
                         rows > 0 ? json_real((double)plan->kept.at[at] / rows) : json_null())));
    }
    return operators;
}

static void on_plan(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct topic_call *call = owner;
    if (reply == NULL) {
        orchestrator_topic_refuse(call, err);
        return;
    }
    const struct msg_plan_is *plan = reply->message;
    if (!is_whole(plan)) {
        topic_fail(call, WEIR_INTERNAL, "the dispatcher sent no good plan");
        return;
    }
    orchestrator_topic_answer(
        call, JSON_FIELDS(JSON_TEXT("pipeline", call->text), JSON_NUMBER("run", call->number),
                          JSON_TEXT("state", plan->state), JSON_DOUBLE("promised", plan->promised),
                          JSON_DOUBLE("saved", plan->saved), JSON_NUMBER("tried", plan->tried),
                          JSON_FLAG("all_orders", plan->is_best),
                          JSON_NEW("operators", operators_json(plan))));
}

void orchestrator_topic_plan(struct topic_call *call)
{
    struct weir_error err;
    WEIR_AUTO(weir_rows) rows = NULL;
    struct pipeline *pipeline = orchestrator_topic_pipeline(call);
    if (pipeline == NULL)
        return;
    const char *name = orchestrator_pipeline_config(pipeline)->name;
    if (DB_RUN(call->context->db, Q_run_newest_training, &rows, &err,
               DB_I64(orchestrator_pipeline_id(pipeline))) != WEIR_OK) {
        orchestrator_topic_refuse(call, &err);
        return;
    }
    if (weir_rows_count(rows) == 0) {
        topic_fail(call, WEIR_NOT_FOUND, "pipeline '%s' has not trained yet: it has no plan", name);
        return;
    }
    call->text = weir_strdup(name);
    call->number = weir_rows_i64(rows, 0, "number");
    weir_rpc_call(call->context->dispatcher, MSG_plan_ask,
                  &(struct msg_plan_ask){.job = (uint64_t)call->number}, ORCHESTRATOR_REQUEST_MS,
                  on_plan, call);
}
