/* A metric as it is asked for: options, a result for each label, group or slice, bootstrap intervals. */
#include "orchestrator/metrics/metric.h"

#include "core/base/memory.h"
#include "core/base/number.h"
#include "core/base/rng.h"
#include "core/base/utf8.h"
#include "core/loop/work_sort.h"
#include "orchestrator/metrics/gathered.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BOOTSTRAP_MAX = 10000 };

/* Options of every metric; its own lie after them. */
struct shared_options {
    const char *name, *by;
    uint64_t bootstrap;
    double level;
    uint64_t seed;
};

static const struct cfg_key SHARED[] = {
    CFG_TEXT(struct shared_options, name, .required = true, .doc = "name of the metric"),
    CFG_TEXT(
        struct shared_options, by, .fallback = "nothing",
        .doc =
            "label, group (see training.group), or a tensor of training.slices: also for the samples of "
            "each apart, of 1000 at most"),
    CFG_U64(struct shared_options, bootstrap, .fallback = "0", .max = BOOTSTRAP_MAX,
            .doc = "number of bootstrap draws, for an interval around the value; 0: none"),
    CFG_F64(struct shared_options, level, .fallback = "0.95", .min = 0.5, .max = 0.999,
            .doc = "the share of them that lies in the interval"),
    CFG_U64(struct shared_options, seed, .fallback = "1", .doc = "of the bootstrap"),
    CFG_END,
};

struct configured_metric {
    const struct metric *metric;
    struct shared_options *shared; /* owned, `options` with it */
    const void *options;
    char label[METRIC_LABEL_MAX];
};

/* ---- opening ---- */

static void write_label(struct configured_metric *asked, const struct weir_yaml_node *node)
{
    WEIR_AUTO_BUF text = {0};
    const char *between = "(";
    weir_buf_append_text(&text, asked->metric->name);
    for (size_t i = 0; i < weir_yaml_pairs(node); i++) {
        if (strcmp(weir_yaml_key(node, i), "name") == 0)
            continue;
        weir_buf_printf(&text, "%s%s=", between, weir_yaml_key(node, i));
        weir_yaml_print(weir_yaml_value(node, i), &text);
        between = ", ";
    }
    weir_buf_append_text(&text, between[0] == '(' ? "" : ")");
    weir_utf8_print(asked->label, sizeof(asked->label), "%s", weir_buf_text(&text));
}

enum weir_status orchestrator_metric_open(const struct weir_yaml_node *node, const char *path,
                                          struct configured_metric **ret_asked,
                                          struct weir_error *err)
{
    const struct cfg_shared shared = {SHARED, sizeof(struct shared_options)};
    struct cfg_opened opened = {0};
    enum weir_status status =
        cfg_plugin_open(&ORCHESTRATOR_METRICS, &shared, node, path, &opened, err);
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO(configured_metric) asked = weir_calloc(1, sizeof(*asked));
    asked->metric = (const struct metric *)opened.plugin;
    asked->shared = opened.memory;
    asked->options = opened.options;
    write_label(asked, node);
    *ret_asked = WEIR_TAKE(asked);
    return WEIR_OK;
}

void orchestrator_metric_close(struct configured_metric *asked)
{
    if (asked == NULL)
        return;
    free(asked->shared);
    free(asked);
}

const char *orchestrator_metric_label(const struct configured_metric *asked)
{
    return asked->label;
}

const char *orchestrator_metric_by(const struct configured_metric *asked)
{
    return asked->shared->by;
}

const struct metric *orchestrator_metric_of(const struct configured_metric *asked)
{
    return asked->metric;
}

/* ---- measuring ---- */

bool orchestrator_metric_value(const struct configured_metric *asked,
                               const struct metric_input *input, double *ret_value)
{
    double value = 0;
    if (input->count == 0 || input->width == 0 ||
        !asked->metric->measure(asked->options, input, &value) || !isfinite(value))
        return false;
    *ret_value = value;
    return true;
}

/* The percentile interval (Efron & Tibshirani, An Introduction to the Bootstrap, 1993, ch. 13) over the draws on
 * which the metric is defined. */
static void add_interval(const struct configured_metric *asked, const struct metric_input *input,
                         struct metric_result *result)
{
    struct weir_rng rng;
    struct metric_draws draws;
    size_t defined = 0;
    WEIR_AUTO_FREE double *values = weir_calloc(asked->shared->bootstrap, sizeof(*values));
    weir_rng_init(&rng, asked->shared->seed);
    orchestrator_metric_draws_init(&draws, input, asked->metric->of_groups);
    for (uint64_t round = 0;
         round < asked->shared->bootstrap && weir_work_goes_on(input->work, 0, 0); round++) {
        orchestrator_metric_draw(&draws, &rng);
        defined += orchestrator_metric_value(asked, &draws.drawn.input, &values[defined]);
    }
    orchestrator_metric_draws_fini(&draws);
    if (defined == 0)
        return;
    qsort(values, defined, sizeof(*values), weir_order_doubles);
    double beyond = (1 - asked->shared->level) / 2 * (double)(defined - 1);
    result->has_interval = true;
    result->low = values[(size_t)floor(beyond)];
    result->high = values[defined - 1 - (size_t)floor(beyond)];
}

static struct metric_result measure_one(const struct configured_metric *asked,
                                        const struct metric_input *input)
{
    struct metric_result result = {.samples = input->count};
    result.defined = orchestrator_metric_value(asked, input, &result.value);
    if (result.defined && asked->shared->bootstrap > 0)
        add_interval(asked, input, &result);
    return result;
}

static int by_number(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* A number of each sample, `stride` apart. */
struct slice_column {
    const int64_t *at; /* NULL: there is none */
    size_t stride;
};

static struct slice_column column_of(const struct configured_metric *asked,
                                     const struct metric_input *input)
{
    const char *by = asked->shared->by;
    size_t count = input->slices == NULL ? 0 : input->slice_names->count;
    if (strcmp(by, "label") == 0)
        return (struct slice_column){input->labels, 1};
    if (strcmp(by, "group") == 0)
        return (struct slice_column){input->groups, 1};
    for (size_t i = 0; i < count; i++)
        if (weir_str_equal(weir_yaml_text(weir_yaml_at(input->slice_names->node, i)), by))
            return (struct slice_column){input->slices + i, count};
    return (struct slice_column){NULL, 0};
}

/* The numbers there are in `column`, ascending; the caller frees. */
static size_t numbers_of(const struct slice_column *column, size_t samples, struct weir_work *work,
                         int64_t **ret_numbers)
{
    int64_t *numbers = weir_calloc(samples + 1, sizeof(*numbers));
    size_t count = 0;
    for (size_t i = 0; i < samples; i++)
        numbers[i] = column->at[i * column->stride];
    if (!weir_work_sort(work, numbers, samples, sizeof(*numbers), by_number))
        samples = 0;
    for (size_t i = 0; i < samples && count < METRIC_SLICES_MAX; i++)
        if (count == 0 || numbers[i] != numbers[count - 1])
            numbers[count++] = numbers[i];
    *ret_numbers = numbers;
    return count;
}

size_t orchestrator_metric_measure(const struct configured_metric *asked,
                                   const struct metric_input *input,
                                   struct metric_result **ret_results)
{
    const struct slice_column column = column_of(asked, input);
    WEIR_AUTO_FREE int64_t *numbers = NULL;
    size_t count = column.at == NULL ? 0 : numbers_of(&column, input->count, input->work, &numbers);
    struct metric_result *results = weir_calloc(count + 1, sizeof(*results));
    struct metric_gathered slice;
    results[0] = measure_one(asked, input);
    orchestrator_metric_gathered_init(&slice, input);
    for (size_t s = 0; s < count && weir_work_goes_on(input->work, 0, 0); s++) {
        slice.input.count = 0;
        for (size_t i = 0; i < input->count; i++)
            if (column.at[i * column.stride] == numbers[s])
                orchestrator_metric_gather(&slice, i);
        results[s + 1] = measure_one(asked, &slice.input);
        results[s + 1].slice_of = asked->shared->by;
        results[s + 1].slice = numbers[s];
    }
    orchestrator_metric_gathered_fini(&slice);
    *ret_results = results;
    return count + 1;
}

void orchestrator_metric_describe(struct weir_buf *out)
{
    weir_buf_append_text(out,
                         "\n### evaluation.metrics\n\nA name, or a mapping; `undefined` is what a "
                         "metric says where it has no value.\n\n");
    cfg_document(SHARED, out);
    cfg_registry_document(&ORCHESTRATOR_METRICS, "### evaluation.metrics", out);
    weir_buf_append_text(out, "\n");
}
