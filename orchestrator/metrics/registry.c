/* The metrics there are. To add one: write metric_NAME.c and name it here, nothing else. */
#include "orchestrator/metrics/metric.h"

#include "core/base/bytes.h"

// clang-format off
#define METRICS(X) \
    X(accuracy) X(top_n) X(precision) X(recall) X(f1) X(roc_auc) X(pr_auc) X(log_loss) X(perplexity) \
    X(brier) X(calibration_error) X(mse) X(rmse) X(mae) X(mape) X(r2) \
    X(group_auc) X(ndcg) X(recall_at_k)
// clang-format on

#define X(name) extern const struct metric metric_##name;
METRICS(X)
#undef X

static const struct metric *const ALL[] = {
#define X(name) &metric_##name,
    METRICS(X)
#undef X
};

const struct metric *orchestrator_metric_find(const char *name)
{
    for (size_t i = 0; i < WEIR_COUNT(ALL); i++)
        if (weir_str_equal(ALL[i]->name, name))
            return ALL[i];
    return NULL;
}

size_t orchestrator_metric_count(void)
{
    return WEIR_COUNT(ALL);
}

const struct metric *orchestrator_metric_at(size_t index)
{
    return ALL[index];
}
