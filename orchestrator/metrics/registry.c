/* The metrics there are. To add one: write metric_NAME.c, or a formula in metrics_FAMILY.c, and name it here. */
#include "orchestrator/metrics/metric.h"

#include "core/base/bytes.h"

// clang-format off
#define METRICS(X) \
    X(accuracy) X(top_n) X(precision) X(recall) X(f1) X(roc_auc) X(pr_auc) X(log_loss) X(perplexity) \
    X(brier) X(calibration_error) X(mse) X(rmse) X(mae) X(mape) X(r2) \
    X(group_auc) X(ndcg) X(recall_at_k)
// clang-format on

#define X(name) extern const struct metric orchestrator_metric_##name;
METRICS(X)
#undef X

static const struct cfg_plugin *const ALL[] = {
#define X(name) &orchestrator_metric_##name.plugin,
    METRICS(X)
#undef X
};

const struct cfg_registry ORCHESTRATOR_METRICS = {
    .what = "metric",
    .key = "name",
    .expected = "a metric such as accuracy",
    .takes_name = true,
    .at = ALL,
    .count = WEIR_COUNT(ALL),
};
