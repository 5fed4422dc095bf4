/* On which samples to train. */
#include "cli/modyn/keys.h"
#include "cli/modyn/write.h"

#include <string.h>

/* Options of a strategy, which the old dialect keeps under config. */
static const struct weir_yaml_node *options_of(const struct cli_modyn_pipeline *pipeline)
{
    const struct weir_yaml_node *config = weir_yaml_get(pipeline->selection, "config");

    return config != NULL ? config : pipeline->selection;
}

static double share_of(const struct weir_yaml_node *config)
{
    return cli_modyn_number(config, "ratio", 100) / cli_modyn_number(config, "ratio_max", 100);
}

static void put_presampling(const struct weir_yaml_node *config, struct weir_buf *out)
{
    const char *policy = cli_modyn_name("selection_strategy.presampling_config.strategy",
                                        cli_modyn_text(config, "strategy", "No"));

    weir_buf_printf(out, "policy: %s", policy != NULL ? policy : "new_data");
    if (share_of(config) < 1)
        weir_buf_printf(out, ", ratio: %g", share_of(config));
    if (cli_modyn_is_true(config, "force_column_balancing", false))
        weir_buf_append_text(out, ", equal: true");
}

static const char *method_of(const struct weir_yaml_node *config)
{
    return cli_modyn_name("selection_strategy.downsampling_config.strategy",
                          cli_modyn_text(config, "strategy", "No"));
}

/* LeastConfidence as least_confidence. */
static void put_snake(const char *text, struct weir_buf *out)
{
    for (const char *at = text; *at != '\0'; at++) {
        if (*at >= 'A' && *at <= 'Z')
            weir_buf_printf(out, "%s%c", at > text ? "_" : "", *at - 'A' + 'a');
        else
            weir_buf_append(out, at, 1);
    }
}

static void put_named(const struct weir_yaml_node *config, const char *path, const char *key,
                      struct weir_buf *out)
{
    const char *text = cli_modyn_text(config, path, NULL);

    if (text == NULL)
        return;
    weir_buf_printf(out, ", %s: ", key);
    put_snake(text, out);
}

static void put_score(const struct weir_yaml_node *config, const char *method, struct weir_buf *out)
{
    weir_buf_printf(out, "{method: %s", method);
    put_named(config, "score_metric", "metric", out);
    put_named(config, "submodular_function", "function", out);
    put_named(config, "holdout_set_strategy", "holdout", out);
    if (cli_modyn_text(config, "holdout_set_ratio", NULL) != NULL &&
        strcmp(cli_modyn_text(config, "holdout_set_strategy", ""), "Twin") != 0)
        weir_buf_printf(out, ", share: %g",
                        cli_modyn_number(config, "holdout_set_ratio", 10) /
                            cli_modyn_number(config, "holdout_set_ratio_max", 100));
    if (cli_modyn_is_true(config, "balance", false))
        weir_buf_append_text(out, ", balance: true");
    if (cli_modyn_is_true(config, "with_replacement", false))
        weir_buf_append_text(out, ", with_replacement: true");
}

static bool can_choose_in_batch(const char *method)
{
    return strcmp(method, "loss") == 0 || strcmp(method, "grad_norm") == 0 ||
           strcmp(method, "uncertainty") == 0;
}

/* Inside a batch, and with rs2, there is no set to be chosen again. */
static void put_period(const struct weir_yaml_node *config, const char *method, double epochs,
                       struct weir_buf *out)
{
    double period = cli_modyn_number(config, "period", 1);

    if (period >= 1 && period < epochs && strcmp(method, "rs2") != 0 &&
        cli_modyn_is_true(config, "sample_then_batch", false))
        weir_buf_printf(out, ", period: %.0f", period);
}

static void put_coreset(const struct weir_yaml_node *options, double epochs, struct weir_buf *out)
{
    const struct weir_yaml_node *presampling = weir_yaml_get(options, "presampling_config");
    const struct weir_yaml_node *downsampling = weir_yaml_get(options, "downsampling_config");
    const char *method = method_of(downsampling);

    if (method == NULL) {
        put_presampling(presampling, out);
    } else if (!cli_modyn_is_true(downsampling, "sample_then_batch", false) &&
               can_choose_in_batch(method)) {
        put_presampling(presampling, out);
        weir_buf_printf(out, ", batch_then_sample: {score: %s, ratio: %g", method,
                        share_of(downsampling));
        put_named(downsampling, "score_metric", "metric", out);
        weir_buf_append_text(out, "}");
    } else {
        weir_buf_append_text(out, "policy: coreset, presample: {");
        put_presampling(presampling, out);
        weir_buf_printf(out, "}, ratio: %g, score: ", share_of(downsampling));
        put_score(downsampling, method, out);
        put_period(downsampling, method, epochs, out);
        weir_buf_append_text(out, "}");
    }
}

static void put_tail(const struct weir_yaml_node *options, struct weir_buf *out)
{
    const struct weir_yaml_node *tail = weir_yaml_get(options, "tail_triggers");
    bool resets = cli_modyn_is_true(options, "reset_after_trigger", true);
    const char *all = resets && tail == NULL ? "0" : "all";

    weir_buf_printf(out, ", tail_triggers: %s",
                    tail != NULL && weir_yaml_text(tail) != NULL ? weir_yaml_text(tail) : all);
}

void cli_modyn_write_selection(const struct cli_modyn_pipeline *pipeline, struct weir_buf *out)
{
    const struct weir_yaml_node *options = options_of(pipeline);
    const char *name = cli_modyn_text(pipeline->selection, "name", "");
    double limit = cli_modyn_number(options, "limit", -1);

    weir_buf_append_text(out, "{");
    if (strcmp(name, "FreshnessSamplingStrategy") == 0) {
        weir_buf_printf(out, "policy: freshness, unused_ratio: %g",
                        cli_modyn_number(options, "unused_data_ratio", 50) / 100);
    } else if (strcmp(name, "CoresetStrategy") == 0) {
        put_coreset(options, cli_modyn_number(pipeline->root, "training.epochs_per_trigger", 1),
                    out);
    } else {
        weir_buf_append_text(out, "policy: new_data");
        if (strcmp(cli_modyn_text(options, "limit_reset", "lastX"), "sampleUAR") == 0)
            weir_buf_append_text(out, ", keep: random");
    }
    put_tail(options, out);
    if (limit >= 1)
        weir_buf_printf(out, ", limit: %.0f", limit);
    if (cli_modyn_number(options, "warmup_triggers", 0) >= 1)
        weir_buf_printf(out, ", warmup_triggers: %.0f",
                        cli_modyn_number(options, "warmup_triggers", 0));
    weir_buf_append_text(out, ", seed: 1}");
}
