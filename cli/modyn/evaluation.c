/* How good the models are. */
#include "cli/modyn/write.h"

#include "core/base/clock.h"
#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- metrics ---- */

static void put_metric(const struct weir_yaml_node *metric, struct weir_buf *out)
{
    const char *name = cli_modyn_text(metric, "name", "");
    double topn = cli_modyn_number(metric, "topn", cli_modyn_number(metric, "config.topn", 1));

    if (strncmp(name, "F1", 2) == 0)
        weir_buf_printf(
            out, "{name: f1, average: %s}",
            cli_modyn_text(metric, "average", cli_modyn_text(metric, "config.average", "binary")));
    else if (strncmp(name, "R", 1) == 0)
        weir_buf_append_text(out, "roc_auc");
    else if (topn > 1)
        weir_buf_printf(out, "{name: top_n, n: %.0f}", topn);
    else
        weir_buf_append_text(out, "accuracy");
}

/* Those of a dataset, or of all: they go through the same model. */
static void put_metrics(const struct weir_yaml_node *datasets, struct weir_buf *out)
{
    const struct weir_yaml_node *metrics = weir_yaml_get(weir_yaml_at(datasets, 0), "metrics");

    weir_buf_append_text(out, "metrics: [");
    for (size_t i = 0; metrics != NULL && i < weir_yaml_length(metrics); i++) {
        weir_buf_append_text(out, i > 0 ? ", " : "");
        put_metric(weir_yaml_at(metrics, i), out);
    }
    weir_buf_append_text(out, metrics == NULL ? "accuracy]}\n" : "]}\n");
}

/* ---- strategies ---- */

/* Seconds since 1970 as a time. */
static void put_moment(const struct weir_yaml_node *strategy, const char *path, const char *key,
                       struct weir_buf *out)
{
    enum { YEAR_9999_S_IN_MILLIONS = 253402 };
    double seconds = cli_modyn_number(strategy, path, -1);
    char text[WEIR_TIME_TEXT_MAX];

    if (seconds < 0 || seconds > YEAR_9999_S_IN_MILLIONS * 1e6)
        return;
    weir_time_format((int64_t)(seconds * 1e6), text);
    weir_buf_printf(out, ", %s: %s", key, text);
}

static void put_offsets(const struct weir_yaml_node *strategy, struct weir_buf *out)
{
    weir_buf_append_text(out, "offset, offsets: ");
    weir_yaml_print(weir_yaml_get(strategy, "offsets"), out);
}

static void put_strategy(const struct weir_yaml_node *strategy, struct weir_buf *out)
{
    const char *type = cli_modyn_text(strategy, "type", "");

    if (strcmp(type, "BetweenTwoTriggersEvalStrategy") == 0) {
        weir_buf_append_text(out, "between_triggers");
    } else if (strcmp(type, "OffsetEvalStrategy") == 0) {
        put_offsets(strategy, out);
    } else if (strcmp(type, "StaticEvalStrategy") == 0) {
        weir_buf_append_text(out, "static, intervals: [{from: 1970-01-01}]");
    } else {
        WEIR_AUTO_FREE char *every = cli_modyn_period(
            cli_modyn_text(strategy, "eval_every", cli_modyn_text(strategy, "every", "1d")));

        weir_buf_printf(out, "%s, every: %s",
                        strcmp(type, "PeriodicEvalStrategy") == 0 ? "periodic" : "slicing", every);
        put_moment(strategy, "eval_start_from", "from", out);
        put_moment(strategy, "eval_end_at", "to", out);
    }
}

static const char *renamed(const char *text, const char *from, const char *to)
{
    return strcmp(text, from) == 0 ? to : text;
}

static void put_handler(const struct weir_yaml_node *handler, size_t number,
                        const struct weir_yaml_node *datasets, struct weir_buf *out)
{
    const struct weir_yaml_node *strategy = weir_yaml_get(handler, "strategy");
    bool is_offset = strcmp(cli_modyn_text(strategy, "type", ""), "OffsetEvalStrategy") == 0;

    weir_buf_printf(out, "  - {name: handler_%zu, on: new, strategy: ", number + 1);
    put_strategy(strategy, out);
    if (!is_offset)
        weir_buf_printf(
            out, ", models: %s",
            renamed(renamed(cli_modyn_text(handler, "models", "active"), "training", "trained"),
                    "train", "trained"));
    weir_buf_printf(out, ", when: %s, ",
                    renamed(cli_modyn_text(handler, "execution_time", "after_training"), "manual",
                            "on_demand"));
    put_metrics(datasets, out);
}

void cli_modyn_write_evaluation(const struct cli_modyn_pipeline *pipeline, struct weir_buf *out)
{
    const struct weir_yaml_node *evaluation = weir_yaml_get(pipeline->root, "evaluation");
    const struct weir_yaml_node *handlers = weir_yaml_get(evaluation, "handlers");
    const struct weir_yaml_node *datasets = weir_yaml_get(evaluation, "datasets");

    if (datasets == NULL || weir_yaml_length(datasets) == 0)
        return;
    weir_buf_append_text(out, "\nevaluation:\n");
    for (size_t i = 0; handlers != NULL && i < weir_yaml_length(handlers); i++)
        put_handler(weir_yaml_at(handlers, i), i, datasets, out);
    if (handlers == NULL) {
        weir_buf_append_text(
            out, "  - {name: whole, on: new, strategy: static, intervals: [{from: 1970-01-01}], "
                 "models: matrix, ");
        put_metrics(datasets, out);
    }
}
