/* Costs of runs, summed by the database. */
#include "orchestrator/pipeline/spending.h"

#include "orchestrator/context/events.h"
#include "orchestrator/pipeline/pipeline_state.h"
#include "orchestrator/runs/run.h"

#include <string.h>

static enum weir_status add(const struct pipeline *pipeline, struct pipeline_spending *spending,
                            struct weir_error *err)
{
    const struct pipelines *pipelines = pipeline->all;
    bool of_all = strcmp(spending->of, "all") == 0;
    WEIR_AUTO(weir_rows) rows = NULL;
    spending->since_us =
        orchestrator_budget_since(&spending->budget, orchestrator_now_us(pipelines->context));
    enum weir_status status =
        DB_RUN(pipelines->context->db, Q_run_cost_since, &rows, err,
               DB_I64(of_all ? 0 : orchestrator_pipeline_id(pipeline)), DB_I64(spending->since_us));
    if (status != WEIR_OK)
        return status;
    spending->spent = orchestrator_run_cost(rows, 0);
    spending->over = orchestrator_budget_is_spent(&spending->budget, &pipelines->context->prices,
                                                  &spending->spent);
    return WEIR_OK;
}

enum weir_status orchestrator_pipeline_spending(
    const struct pipeline *pipeline, struct pipeline_spending ret_spending[PIPELINE_BUDGETS_MAX],
    size_t *ret_count, struct weir_error *err)
{
    const struct orchestrator_config *config = orchestrator_pipeline_config(pipeline);
    const struct pipelines *pipelines = pipeline->all;
    const struct pipeline_spending all[PIPELINE_BUDGETS_MAX] = {
        {.of = "pipeline", .budget = config->budget},
        {.of = "system",
         .budget = orchestrator_budgets_find(pipelines->budgets, config->name, "default")},
        {.of = "all", .budget = orchestrator_budgets_find(pipelines->budgets, "all", NULL)},
    };
    enum weir_status status = WEIR_OK;
    *ret_count = 0;
    for (size_t i = 0; i < WEIR_COUNT(all) && status == WEIR_OK; i++) {
        if (!orchestrator_budget_is_set(&all[i].budget))
            continue;
        ret_spending[*ret_count] = all[i];
        status = add(pipeline, &ret_spending[(*ret_count)++], err);
    }
    return status;
}

json_t *orchestrator_pipeline_spending_json(const struct pipeline *pipeline,
                                            const struct pipeline_spending *spending)
{
    const struct budget *budget = &spending->budget;
    WEIR_AUTO_BUF spent = {0};
    orchestrator_cost_json(&pipeline->context->prices, &spending->spent, &spent);
    return JSON_FIELDS(JSON_TEXT("of", spending->of), JSON_DOUBLE("money", budget->money),
                       JSON_DOUBLE("cpu_seconds", budget->cpu_seconds),
                       JSON_DOUBLE("gpu_seconds", budget->gpu_seconds),
                       JSON_TEXT("per", budget->per == BUDGET_DAY ? "day" : "total"),
                       JSON_TEXT("then", budget->then == BUDGET_HOLD ? "hold" : "warn"),
                       JSON_NEW("spent", orchestrator_json_of(weir_buf_text(&spent))),
                       JSON_FLAG("over", spending->over));
}
