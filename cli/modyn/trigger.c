/* When to train. */
#include "cli/modyn/keys.h"
#include "cli/modyn/write.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

static const char *sized(const struct weir_yaml_node *trigger, const char *now, const char *before)
{
    return cli_modyn_text(trigger, now, cli_modyn_text(trigger, before, "1"));
}

static void put_policy(const struct weir_yaml_node *trigger, struct weir_buf *out);

/* Modyn ignores warm-up intervals without a policy for them. */
static void put_interval(const struct weir_yaml_node *trigger, struct weir_buf *out)
{
    const struct weir_yaml_node *policy = weir_yaml_get(trigger, "warmup_policy");

    weir_buf_printf(out, ", samples: %s",
                    cli_modyn_text(trigger, "evaluation_interval_data_points", "1000"));
    if (weir_yaml_is_mapping(policy) && cli_modyn_number(trigger, "warmup_intervals", 0) >= 1) {
        weir_buf_printf(
            out, ", warmup: %s, warmup_policy: ", cli_modyn_text(trigger, "warmup_intervals", "0"));
        put_policy(policy, out);
    }
}

/* ---- criteria ---- */

/* `metric_threshold` is a criterion's of performance; an area under a curve becomes a distance where `is_area`. */
static void put_criterion(const struct weir_yaml_node *criterion, bool is_area,
                          struct weir_buf *out)
{
    const char *id = cli_modyn_text(criterion, "id", "");
    double value = cli_modyn_number(criterion, "threshold",
                                    cli_modyn_number(criterion, "metric_threshold", 0));

    if (strstr(id, "Quantile") != NULL)
        weir_buf_printf(out, "{policy: quantile, window: %.0f, quantile: %g}",
                        cli_modyn_number(criterion, "window_size", 10),
                        cli_modyn_number(criterion, "quantile", 0.05));
    else if (strstr(id, "RollingAverage") != NULL)
        weir_buf_printf(out, "{policy: rolling_average, window: %.0f, deviation: %g, absolute: %s}",
                        cli_modyn_number(criterion, "window_size", 10),
                        cli_modyn_number(criterion, "deviation", 0.05),
                        cli_modyn_is_true(criterion, "absolute", false) ? "true" : "false");
    else
        weir_buf_printf(out, "{policy: threshold, value: %g}", is_area ? 2 * value - 1 : value);
}

static void put_statistic(const struct weir_yaml_node *metric, struct weir_buf *out)
{
    const char *name = cli_modyn_name("trigger.metrics.any.id", cli_modyn_text(metric, "id", ""));

    if (name == NULL)
        name = "mmd";
    weir_buf_printf(out, "{name: %s", name);
    if (cli_modyn_number(metric, "num_permutations", 0) >= 1)
        weir_buf_printf(out, ", permutations: %.0f",
                        cli_modyn_number(metric, "num_permutations", 1));
    weir_buf_append_text(out, ", criterion: ");
    put_criterion(weir_yaml_get(metric, "decision_criterion"), strcmp(name, "classifier") == 0,
                  out);
    weir_buf_append_text(out, "}");
}

/* ---- policies ---- */

static void put_windows(const struct weir_yaml_node *windows, struct weir_buf *out)
{
    WEIR_AUTO_FREE char *reference = cli_modyn_period(
        cli_modyn_text(windows, "limit_ref", cli_modyn_text(windows, "amount_ref", "1000")));
    WEIR_AUTO_FREE char *current = cli_modyn_period(
        cli_modyn_text(windows, "limit_cur", cli_modyn_text(windows, "amount_cur", "1000")));

    weir_buf_printf(out, ", reference: %s, current: %s", reference, current);
    if (cli_modyn_is_true(windows, "allow_overlap", false))
        weir_buf_append_text(out, ", after_trigger: slide");
}

static void put_drift(const struct weir_yaml_node *trigger, struct weir_buf *out)
{
    const struct weir_yaml_node *metrics = weir_yaml_get(trigger, "metrics");
    const char *votes = cli_modyn_text(trigger, "aggregation_strategy.n", "majority");

    weir_buf_append_text(out, "{policy: drift, on: embeddings");
    put_interval(trigger, out);
    put_windows(weir_yaml_get(trigger, "windowing_strategy"), out);
    weir_buf_printf(out, ", sample_size: %.0f, votes: %s,\n          statistics: [",
                    cli_modyn_number(trigger, "sample_size", 5000), votes);
    for (size_t i = 0; i < weir_yaml_pairs(metrics); i++) {
        weir_buf_append_text(out, i > 0 ? ", " : "");
        put_statistic(weir_yaml_value(metrics, i), out);
    }
    weir_buf_append_text(out, "]}");
}

static void put_performance(const struct weir_yaml_node *trigger, struct weir_buf *out)
{
    const struct weir_yaml_node *criteria = weir_yaml_get(trigger, "decision_criteria");

    weir_buf_append_text(out, "{policy: performance");
    put_interval(trigger, out);
    weir_buf_append_text(out, ", criteria: [");
    for (size_t i = 0; criteria != NULL && i < weir_yaml_pairs(criteria); i++) {
        weir_buf_append_text(out, i > 0 ? ", " : "");
        put_criterion(weir_yaml_value(criteria, i), false, out);
    }
    weir_buf_append_text(out, "]}");
}

static void put_cost(const struct weir_yaml_node *trigger, bool of_delay, struct weir_buf *out)
{
    weir_buf_printf(out, "{policy: cost, of: %s", of_delay ? "delay" : "misclassifications");
    put_interval(trigger, out);
    weir_buf_printf(
        out, ", per_training_second: %s",
        of_delay ? sized(trigger, "incorporation_delay_per_training_second", "")
                 : sized(trigger, "avoidable_misclassification_latency_per_training_second", ""));
    if (!of_delay)
        weir_buf_printf(out, ", expected_accuracy: %s",
                        cli_modyn_text(trigger, "expected_accuracy", "1"));
    weir_buf_append_text(out, "}");
}

/* A majority is more than half. */
static void put_ensemble(const struct weir_yaml_node *trigger, struct weir_buf *out)
{
    const struct weir_yaml_node *parts = weir_yaml_get(trigger, "subtriggers");
    size_t count = weir_yaml_pairs(parts);
    const char *votes = cli_modyn_text(trigger, "ensemble_strategy.n", NULL);

    weir_buf_append_text(out, "{policy: ensemble, at_least: ");
    if (votes != NULL)
        weir_buf_append_text(out, votes);
    else
        weir_buf_printf(out, "%zu", count / 2 + 1);
    weir_buf_append_text(out, ", of: [");
    for (size_t i = 0; i < count; i++) {
        weir_buf_append_text(out, i > 0 ? ", " : "");
        put_policy(weir_yaml_value(parts, i), out);
    }
    weir_buf_append_text(out, "]}");
}

static void put_policy(const struct weir_yaml_node *trigger, struct weir_buf *out)
{
    const char *id = cli_modyn_text(trigger, "id", "");

    if (strcmp(id, "TimeTrigger") == 0) {
        WEIR_AUTO_FREE char *every =
            cli_modyn_period(sized(trigger, "every", "trigger_config.trigger_every"));
        weir_buf_printf(out, "{policy: time, every: %s}", every);
    } else if (strcmp(id, "DataDriftTrigger") == 0) {
        put_drift(trigger, out);
    } else if (strcmp(id, "PerformanceTrigger") == 0) {
        put_performance(trigger, out);
    } else if (strcmp(id, "EnsembleTrigger") == 0) {
        put_ensemble(trigger, out);
    } else if (strstr(id, "CostTrigger") != NULL) {
        put_cost(trigger, strncmp(id, "Data", 4) == 0, out);
    } else {
        weir_buf_printf(out, "{policy: amount, samples: %s}",
                        sized(trigger, "num_samples", "trigger_config.data_points_for_trigger"));
    }
}

void cli_modyn_write_trigger(const struct cli_modyn_pipeline *pipeline, struct weir_buf *out)
{
    put_policy(weir_yaml_get(pipeline->root, "trigger"), out);
}
