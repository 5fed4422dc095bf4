/* Spending against the budgets that a pipeline is under. */
#ifndef ORCHESTRATOR_PIPELINE_SPENDING_H
#define ORCHESTRATOR_PIPELINE_SPENDING_H

#include "orchestrator/pipeline/pipeline.h"

#include <jansson.h>

struct pipeline_spending {
    /* "pipeline": by its file; "system": by the system file; "all": of all pipelines */
    const char *of;
    struct budget budget;
    struct orchestrator_cost spent; /* by runs that are through, since the budget began to count */
    int64_t since_us;               /* 0: from the beginning */
    bool over;
};

enum { PIPELINE_BUDGETS_MAX = 3 };
/* Fills in the budgets of the pipeline and their number. */
enum weir_status orchestrator_pipeline_spending(
    const struct pipeline *pipeline, struct pipeline_spending ret_spending[PIPELINE_BUDGETS_MAX],
    size_t *ret_count, struct weir_error *err) WEIR_MUST_USE;
/* {"of", "money", "cpu_seconds", "gpu_seconds", "per", "then", "spent", "over"} */
json_t *orchestrator_pipeline_spending_json(const struct pipeline *pipeline,
                                            const struct pipeline_spending *spending);

#endif
