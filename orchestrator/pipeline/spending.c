/* Costs of runs, summed by the database. */
#include "orchestrator/pipeline/spending.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "orchestrator/events.h"

enum weir_status pipeline_spending(const struct pipeline *pipeline,
                                   struct pipeline_spending *ret_spending, struct weir_error *err)
{
    const struct budget *budget = &orchestrator_pipeline_config(pipeline)->budget;
    const struct orchestrator *orch = orchestrator_pipeline_orchestrator(pipeline);
    struct pipeline_spending spending = {.since_us = budget_since(budget, weir_now_wall_us())};
    WEIR_AUTO(weir_rows) rows = NULL;
    *ret_spending = spending;
    if (!budget_is_set(budget))
        return WEIR_OK;
    enum weir_status status =
        DB_RUN(orch->db, Q_run_cost_since, &rows, err, DB_I64(orchestrator_pipeline_id(pipeline)),
               DB_I64(spending.since_us));
    if (status != WEIR_OK)
        return status;
    spending.spent = (struct orchestrator_cost){
        .trainer_cpu_ns = weir_rows_i64(rows, 0, 0),
        .worker_cpu_ns = weir_rows_i64(rows, 0, 1),
        .bytes_read = (uint64_t)weir_rows_i64(rows, 0, 2),
        .bytes_sent = (uint64_t)weir_rows_i64(rows, 0, 3),
    };
    spending.over = budget_is_spent(budget, &orch->prices, &spending.spent);
    *ret_spending = spending;
    return WEIR_OK;
}

json_t *pipeline_spending_json(const struct pipeline *pipeline,
                               const struct pipeline_spending *spending)
{
    const struct budget *budget = &orchestrator_pipeline_config(pipeline)->budget;
    WEIR_AUTO_BUF spent = {0};
    if (!budget_is_set(budget))
        return json_null();
    orchestrator_cost_json(&orchestrator_pipeline_orchestrator(pipeline)->prices, &spending->spent,
                           &spent);
    return json_pack("{sf,sf,ss,ss,so,sb}", "money", budget->money, "cpu_seconds",
                     budget->cpu_seconds, "per", budget->per == BUDGET_DAY ? "day" : "total",
                     "then", budget->then == BUDGET_HOLD ? "hold" : "warn", "spent",
                     orchestrator_json_of(weir_buf_text(&spent)), "over", spending->over);
}
