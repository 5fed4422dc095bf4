/* resume: a pipeline goes on, and why it would stop again is said with that: a budget that is spent, or what it failed
 * with, as long as no other file was applied to it since. */
#include "orchestrator/context/events.h"
#include "orchestrator/pipeline/spending.h"
#include "orchestrator/topics/topic.h"

#include <string.h>

static void add(json_t *reasons, const char *text)
{
    json_array_append_new(reasons, json_string(text));
}

static const char *place_of(const struct pipeline_spending *spending)
{
    return strcmp(spending->of, "pipeline") == 0 ? "its file" : "the system file";
}

static void add_budget(const struct topic_call *call, const struct pipeline_spending *spending,
                       json_t *reasons)
{
    const struct budget *budget = &spending->budget;
    const struct orchestrator_cost *spent = &spending->spent;
    bool is_of_day = budget->per == BUDGET_DAY;
    WEIR_AUTO_BUF text = {0};
    if (!spending->over || budget->then != BUDGET_HOLD)
        return;
    weir_buf_printf(&text, "the budget of %s is spent%s:", place_of(spending),
                    is_of_day ? " for today" : "");
    if (budget->cpu_seconds > 0)
        weir_buf_printf(&text, " %.3g of %.3g CPU seconds", orchestrator_cpu_seconds(spent),
                        budget->cpu_seconds);
    if (budget->gpu_seconds > 0)
        weir_buf_printf(&text, " %.3g of %.3g GPU seconds", (double)spent->gpu_ns / 1e9,
                        budget->gpu_seconds);
    if (budget->money > 0)
        weir_buf_printf(&text, " %.3g of %.3g %s",
                        orchestrator_money(&call->context->prices, spent), budget->money,
                        call->context->prices.currency);
    weir_buf_append_text(&text, is_of_day
                                    ? "; it goes on tomorrow, or once more is allowed"
                                    : "; it stops before the next trigger, until more is allowed");
    add(reasons, weir_buf_text(&text));
}

static enum weir_status add_budgets(const struct topic_call *call, const struct pipeline *pipeline,
                                    json_t *reasons, struct weir_error *err)
{
    struct pipeline_spending spending[PIPELINE_BUDGETS_MAX];
    size_t count = 0;
    enum weir_status status = orchestrator_pipeline_spending(pipeline, spending, &count, err);
    for (size_t i = 0; status == WEIR_OK && i < count; i++)
        add_budget(call, &spending[i], reasons);
    return status;
}

static enum weir_status add_failure(const struct topic_call *call, const struct pipeline *pipeline,
                                    json_t *reasons, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    WEIR_AUTO_BUF text = {0};
    if (orchestrator_pipeline_state(pipeline) != PIPELINE_FAILED)
        return WEIR_OK;
    enum weir_status status = DB_RUN(call->context->db, Q_pipeline_is_changed, &rows, err,
                                     DB_I64(orchestrator_pipeline_id(pipeline)));
    if (status != WEIR_OK || weir_rows_bool(rows, 0, "is_changed"))
        return status;
    weir_buf_printf(&text, "it failed with: %s; its file is the same since then",
                    orchestrator_pipeline_error(pipeline));
    add(reasons, weir_buf_text(&text));
    return WEIR_OK;
}

void orchestrator_topic_resume(struct topic_call *call)
{
    struct weir_error err;
    struct pipeline *pipeline = orchestrator_topic_pipeline(call);
    if (pipeline == NULL)
        return;
    call->collected = json_array();
    enum weir_status status = add_failure(call, pipeline, call->collected, &err);
    if (status == WEIR_OK)
        status = add_budgets(call, pipeline, call->collected, &err);
    if (status == WEIR_OK)
        status = orchestrator_pipeline_resume(pipeline, &err);
    if (status != WEIR_OK) {
        orchestrator_topic_refuse(call, &err);
        return;
    }
    json_t *answer = orchestrator_topic_standing_json(call, pipeline);
    json_object_set(answer, "again", call->collected);
    orchestrator_topic_answer(call, answer);
}
