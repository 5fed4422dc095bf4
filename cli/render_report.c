/* weir report, weir predict: what came out of a pipeline, and what a model says. */
#include "cli/answer.h"
#include "cli/render.h"

#include <string.h>

enum { METRICS_MAX = 4, VALUES_SHOWN = 8, FIXED_COLUMNS = 7, PERCENT = 100, CHECKS_SHOWN = 20 };

/* The metrics of a report in the order of their first appearance: a column each. */
struct metrics {
    const char *names[METRICS_MAX];
    size_t count;
    const char *evaluation; /* the first one's name */
};

static void note_metric(struct metrics *metrics, const json_t *evaluation)
{
    const char *name = cli_text(evaluation, "metric");
    if (metrics->evaluation == NULL)
        metrics->evaluation = cli_text(evaluation, "name");
    for (size_t i = 0; i < metrics->count; i++)
        if (strcmp(metrics->names[i], name) == 0)
            return;
    if (metrics->count < METRICS_MAX)
        metrics->names[metrics->count++] = name;
}

/* Puts first the metric that most people look for. */
static void put_first(struct metrics *metrics, const char *name)
{
    for (size_t i = 1; i < metrics->count; i++) {
        if (strcmp(metrics->names[i], name) == 0) {
            const char *first = metrics->names[i];
            memmove(&metrics->names[1], &metrics->names[0], i * sizeof *metrics->names);
            metrics->names[0] = first;
        }
    }
}

static void gather_metrics(const json_t *triggers, struct metrics *metrics)
{
    for (size_t i = 0; i < json_array_size(triggers); i++) {
        const json_t *evaluations = json_object_get(json_array_get(triggers, i), "evaluations");
        for (size_t j = 0; j < json_array_size(evaluations); j++)
            note_metric(metrics, json_array_get(evaluations, j));
    }
    put_first(metrics, "roc_auc");
}

static const char *title_of(const char *metric)
{
    return strcmp(metric, "roc_auc") == 0 ? "ROC-AUC" : metric;
}

/* Returns the model's score on the first interval after it. RFC 3339 times in UTC sort as texts. */
static const json_t *first_value(const json_t *row, const struct metrics *metrics, size_t metric)
{
    const json_t *evaluations = json_object_get(row, "evaluations");
    const json_t *first = NULL;
    for (size_t i = 0; i < json_array_size(evaluations); i++) {
        const json_t *one = json_array_get(evaluations, i);
        bool wanted = strcmp(cli_text(one, "metric"), metrics->names[metric]) == 0 &&
                      strcmp(cli_text(one, "name"), metrics->evaluation) == 0;
        if (wanted && (first == NULL || strcmp(cli_text(one, "from"), cli_text(first, "from")) < 0))
            first = one;
    }
    return json_object_get(first, "value");
}

static void cell_real(struct cli_table *table, const json_t *value, double times, int decimals)
{
    if (json_is_number(value))
        cli_cell(table, "%.*f", decimals, json_number_value(value) * times);
    else
        cli_cell(table, "-");
}

static void cell_value(struct cli_table *table, const json_t *value)
{
    if (json_is_number(value))
        cli_cell(table, "%.4f", json_number_value(value));
    else
        cli_cell(table, "%s", json_is_string(value) ? json_string_value(value) : "-");
}

static bool was_replaced(const json_t *row)
{
    return cli_text(row, "evaluations_of")[0] != '\0';
}

static void add_row(struct cli_table *table, const json_t *row, const struct metrics *metrics)
{
    const char *skipped = cli_text(row, "skipped");
    cli_cell(table, "%lld%s", (long long)cli_number(row, "trigger"), was_replaced(row) ? "*" : "");
    cli_cell(table, "%s%s%s", cli_text(row, "reason"),
             skipped[0] == '\0' ? "" : "; skipped: ", skipped);
    cli_cell_count(table, cli_number(row, "selected"));
    cell_real(table, json_object_get(row, "seconds"), 1, 2);
    cell_real(table, json_object_get(row, "samples_per_second"), 1, 0);
    cell_real(table, json_object_get(row, "stall_fraction"), PERCENT, 0);
    cell_real(table, json_object_get(json_object_get(row, "timeline"), "seconds"), 1, 2);
    for (size_t i = 0; i < metrics->count; i++)
        cell_value(table, first_value(row, metrics, i));
    cli_cell_cost(table, json_object_get(row, "cost"));
}

/* Shows the newest checks of the trigger policy. */
static void show_checks(const json_t *checks, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"check", true}, {"at", false}, {"new", true}, {"trigger", true}, {"because", false}};
    size_t count = json_array_size(checks);
    if (count == 0)
        return;
    CLI_AUTO_TABLE table = {.columns = COLUMNS, .column_count = WEIR_COUNT(COLUMNS)};
    for (size_t i = count > CHECKS_SHOWN ? count - CHECKS_SHOWN : 0; i < count; i++) {
        const json_t *check = json_array_get(checks, i);
        int64_t trigger = cli_number(check, "trigger");
        cli_cell(&table, "%lld", (long long)cli_number(check, "check"));
        cli_cell(&table, "%s", cli_text(check, "at"));
        cli_cell_count(&table, cli_number(check, "samples_new"));
        if (trigger > 0)
            cli_cell(&table, "%lld", (long long)trigger);
        else
            cli_cell(&table, "-");
        cli_cell(&table, "%s", cli_text(check, "because"));
    }
    cli_line(page, "newest checks of the trigger policy:");
    cli_table_show(&table, page);
}

/* The samples that a training could not read, as far as they are listed, and how many more there were. */
static void show_failures(const json_t *row, struct cli_page *page)
{
    const json_t *audit = json_object_get(row, "audit");
    const json_t *failures = json_object_get(audit, "failures");
    long long listed = (long long)json_array_size(failures);
    for (size_t i = 0; i < json_array_size(failures); i++) {
        const json_t *failure = json_array_get(failures, i);
        cli_line(page, "trigger %lld: sample %lld: %s", (long long)cli_number(row, "trigger"),
                 (long long)cli_number(failure, "sample"), cli_text(failure, "reason"));
    }
    if (listed > 0 && cli_number(audit, "failed") > listed)
        cli_line(page, "trigger %lld: %lld could not be read in all, every epoch counted",
                 (long long)cli_number(row, "trigger"), (long long)cli_number(audit, "failed"));
}

void cli_render_report(const json_t *answer, struct cli_page *page)
{
    struct cli_column columns[CLI_COLUMNS_MAX] = {
        {"trigger", true},   {"why", false},    {"selected", true}, {"seconds", true},
        {"samples/s", true}, {"stall %", true}, {"to model", true},
    };
    struct metrics metrics = {.count = 0};
    const json_t *triggers = json_object_get(answer, "triggers");
    bool replaced = false;
    gather_metrics(triggers, &metrics);
    for (size_t i = 0; i < metrics.count; i++)
        columns[FIXED_COLUMNS + i] = (struct cli_column){title_of(metrics.names[i]), true};
    columns[FIXED_COLUMNS + metrics.count] = (struct cli_column){"cost", true};
    CLI_AUTO_TABLE table = {.columns = columns, .column_count = FIXED_COLUMNS + metrics.count + 1};
    for (size_t i = 0; i < json_array_size(triggers); i++) {
        add_row(&table, json_array_get(triggers, i), &metrics);
        replaced = replaced || was_replaced(json_array_get(triggers, i));
    }
    cli_line(page, "pipeline %s, %zu triggers", cli_text(answer, "pipeline"),
             json_array_size(triggers));
    cli_table_show(&table, page);
    if (metrics.count > 0)
        cli_line(page, "%s: each model on the samples that came after it", metrics.evaluation);
    if (replaced)
        cli_line(page, "* retrained after an erasure; measured is the model it replaces");
    for (size_t i = 0; i < json_array_size(triggers); i++)
        show_failures(json_array_get(triggers, i), page);
    show_checks(json_object_get(answer, "checks"), page);
}

/* ---- predict ---- */

static void cell_values(struct cli_table *table, const json_t *values)
{
    WEIR_AUTO_BUF text = {0};
    size_t count = json_array_size(values);
    for (size_t i = 0; i < count && i < VALUES_SHOWN; i++) {
        weir_buf_printf(&text, "%s%.4f", i == 0 ? "" : " ",
                        json_number_value(json_array_get(values, i)));
    }
    cli_cell(table, "%s%s", weir_buf_text(&text), count > VALUES_SHOWN ? " …" : "");
}

void cli_render_predict(const json_t *answer, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"sample", true}, {"label", true}, {"prediction", false}};
    CLI_AUTO_TABLE table = {.columns = COLUMNS, .column_count = WEIR_COUNT(COLUMNS)};
    const json_t *predictions = json_object_get(answer, "predictions");
    size_t shown = json_array_size(predictions);
    for (size_t i = 0; i < shown; i++) {
        const json_t *one = json_array_get(predictions, i);
        cli_cell(&table, "%lld", (long long)cli_number(one, "id"));
        cli_cell(&table, "%lld", (long long)cli_number(one, "label"));
        cell_values(&table, json_object_get(one, "values"));
    }
    cli_line(page, "model %s, %zu of %lld samples", cli_text(answer, "model"), shown,
             (long long)cli_number(answer, "samples"));
    cli_table_show(&table, page);
}
