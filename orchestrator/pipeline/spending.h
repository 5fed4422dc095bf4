/* What a pipeline has spent of its budget. */
#ifndef ORCHESTRATOR_PIPELINE_SPENDING_H
#define ORCHESTRATOR_PIPELINE_SPENDING_H

#include "orchestrator/pipeline/pipeline.h"

#include <jansson.h>

struct pipeline_spending {
    struct orchestrator_cost spent; /* since the budget began to count */
    int64_t since_us;               /* 0: from the beginning */
    bool over;
};

/* Of the runs that are through; all zero where there is no budget. */
enum weir_status pipeline_spending(const struct pipeline *pipeline,
                                   struct pipeline_spending *ret_spending,
                                   struct weir_error *err) WEIR_MUST_USE;
/* {"money", "cpu_seconds", "per", "then", "spent", "over"}; null where there is no budget. */
json_t *pipeline_spending_json(const struct pipeline *pipeline,
                               const struct pipeline_spending *spending);

#endif
