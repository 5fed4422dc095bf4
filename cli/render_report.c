/* weir report, weir predict: what came out of a pipeline, and what a model says. */
#include "cli/answer.h"
#include "cli/plots.h"
#include "cli/render.h"

#include <string.h>

enum {
    METRICS_MAX = 4,
    VALUES_SHOWN = 8,
    FIXED_COLUMNS = 8,
    PERCENT = 100,
    CHECKS_SHOWN = 20,
    EMPTY_SHOWN = 5
};

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
            memmove(&metrics->names[1], &metrics->names[0], i * sizeof(*metrics->names));
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

/* A slice is called by its name alone: the metric stands before it. */
static struct cli_measured measured(const struct metrics *metrics, size_t index)
{
    const char *name = metrics->names[index], *slice = strchr(name, '[');
    return (struct cli_measured){metrics->evaluation, name,
                                 index > 0 && slice != NULL ? slice : title_of(name)};
}

/* True: it begins before the model's newest sample. RFC 3339 times in UTC sort as texts. */
static bool is_partly_old(const json_t *row, const json_t *evaluation)
{
    return strcmp(cli_text(evaluation, "from"), cli_text(row, "until")) < 0;
}

/* True when `one` is rather shown than `other`: it is news to the model, or comes first. */
static bool is_before(const json_t *row, const json_t *one, const json_t *other)
{
    bool is_old = is_partly_old(row, one), other_is = is_partly_old(row, other);
    return is_old != other_is ? other_is
                              : strcmp(cli_text(one, "from"), cli_text(other, "from")) < 0;
}

/* Returns the evaluation of the model whose interval is the first after it, or the first of all where none is after
 * it; NULL: it was not measured. */
static json_t *shown_evaluation(const json_t *row, const struct metrics *metrics)
{
    const json_t *evaluations = json_object_get(row, "evaluations");
    json_t *shown = NULL;
    for (size_t i = 0; i < json_array_size(evaluations); i++) {
        json_t *one = json_array_get(evaluations, i);
        if (strcmp(cli_text(one, "name"), metrics->evaluation) == 0 &&
            (shown == NULL || is_before(row, one, shown)))
            shown = one;
    }
    return shown;
}

/* Returns what a metric says on the interval that `shown` is of. */
static json_t *shown_value(const json_t *row, const json_t *shown, const char *metric)
{
    const json_t *evaluations = json_object_get(row, "evaluations");
    for (size_t i = 0; i < json_array_size(evaluations); i++) {
        const json_t *one = json_array_get(evaluations, i);
        if (strcmp(cli_text(one, "metric"), metric) == 0 &&
            strcmp(cli_text(one, "name"), cli_text(shown, "name")) == 0 &&
            strcmp(cli_text(one, "from"), cli_text(shown, "from")) == 0 &&
            strcmp(cli_text(one, "to"), cli_text(shown, "to")) == 0)
            return json_object_get(one, "value");
    }
    return NULL;
}

/* "2002-08-22", or with the time of day where it is not midnight. */
static void put_moment(struct weir_buf *out, const char *time)
{
    enum { DATE = 10, MINUTE = 16 };
    bool is_midnight = strcmp(time + strnlen(time, DATE), "T00:00:00Z") == 0;
    weir_buf_printf(out, "%.*s", is_midnight ? DATE : MINUTE, time);
}

static void put_interval(struct weir_buf *out, const json_t *row)
{
    const json_t *shown = json_object_get(row, "shown");
    if (shown == NULL) {
        weir_buf_append_text(out, "-");
        return;
    }
    put_moment(out, cli_text(shown, "from"));
    weir_buf_append_text(out, " to ");
    put_moment(out, cli_text(shown, "to"));
    weir_buf_append_text(out, is_partly_old(row, shown) ? ", begins before its newest sample" : "");
    if (json_is_integer(json_object_get(shown, "samples")) && cli_number(shown, "samples") == 0)
        weir_buf_append_text(out, ", no sample of it could be read");
}

static void put_value(struct weir_buf *out, const json_t *value)
{
    if (json_is_number(value))
        weir_buf_printf(out, "%.4f", json_number_value(value));
    else
        weir_buf_append_text(out, json_is_string(value) ? json_string_value(value) : "-");
}

static bool was_replaced(const json_t *row)
{
    return cli_text(row, "evaluations_of")[0] != '\0';
}

static void put_trigger(struct weir_buf *out, const json_t *row)
{
    weir_buf_printf(out, "%lld%s", (long long)cli_number(row, "trigger"),
                    was_replaced(row) ? "*" : "");
}

/* Returns what comes after the first part of a reason; "": it has no other. */
static const char *details_of(const char *reason)
{
    const char *details = strstr(reason, "; ");
    return details != NULL ? details : "";
}

static void put_first_part(struct weir_buf *out, const char *reason)
{
    weir_buf_printf(out, "%.*s", (int)(strlen(reason) - strlen(details_of(reason))), reason);
}

static void put_why(struct weir_buf *out, const json_t *row)
{
    const char *skipped = cli_text(row, "skipped");
    put_first_part(out, cli_text(row, "reason"));
    weir_buf_printf(out, "%s%s", skipped[0] == '\0' ? "" : "; skipped: ", skipped);
}

static void put_because(struct weir_buf *out, const json_t *row)
{
    put_first_part(out, cli_text(row, "because"));
}

/* Shows the reasons that do not fit the table. */
static void show_details(const json_t *triggers, struct cli_page *page)
{
    for (size_t i = 0; i < json_array_size(triggers); i++) {
        const json_t *row = json_array_get(triggers, i);
        const char *reason = cli_text(row, "reason");
        if (details_of(reason)[0] != '\0')
            cli_line(page, "trigger %lld: %s", (long long)cli_number(row, "trigger"), reason);
    }
}

static void put_stall(struct weir_buf *out, const json_t *fraction)
{
    if (json_is_number(fraction))
        weir_buf_printf(out, "%.0f", PERCENT * json_number_value(fraction));
    else
        weir_buf_append_text(out, "-");
}

/* A row per trigger, with the values of its model as members of their own. */
static json_t *rows_of(const json_t *triggers, const struct metrics *metrics)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < json_array_size(triggers); i++) {
        json_t *row = json_copy(json_array_get(triggers, i));
        json_t *shown = metrics->count > 0 ? shown_evaluation(row, metrics) : NULL;
        json_object_set(row, "shown", shown);
        for (size_t j = 0; j < metrics->count; j++)
            json_object_set(row, metrics->names[j], shown_value(row, shown, metrics->names[j]));
        json_array_append_new(rows, row);
    }
    return rows;
}

static void show_triggers(const json_t *triggers, const struct metrics *metrics,
                          struct cli_page *page)
{
    struct cli_column columns[CLI_COLUMNS_MAX] = {
        {"trigger", CLI_NUMBER, .put = put_trigger},
        {"why", CLI_TEXT, .put = put_why},
        {"selected", CLI_COUNT, .key = "selected"},
        {"seconds", CLI_HUNDREDTHS, .key = "seconds", .absent = "-"},
        {"samples/s", CLI_WHOLE, .key = "samples_per_second", .absent = "-"},
        {"stall %", CLI_NUMBER, .key = "stall_fraction", .put = put_stall},
        {"to model", CLI_HUNDREDTHS, .key = "timeline.seconds", .absent = "-"},
        {"hidden", CLI_HUNDREDTHS, .key = "timeline.hidden_seconds", .absent = "-"},
    };
    static const struct cli_column COST = {"cost", CLI_NUMBER, .key = "cost", .put = cli_put_cost};
    size_t count = FIXED_COLUMNS;
    json_t *rows = rows_of(triggers, metrics);
    for (size_t i = 0; i < metrics->count; i++)
        columns[count++] = (struct cli_column){title_of(metrics->names[i]), CLI_NUMBER,
                                               .key = metrics->names[i], .put = put_value};
    if (metrics->count > 0)
        columns[count++] = (struct cli_column){"measured on", CLI_TEXT, .put = put_interval};
    columns[count++] = COST;
    cli_show_table(page, rows, columns, count);
    json_decref(rows);
}

/* Shows the newest checks of the trigger policy. */
static void show_checks(const json_t *checks, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"check", CLI_NUMBER, .key = "check"},
        {"at", CLI_TEXT, .key = "at"},
        {"new", CLI_COUNT, .key = "samples_new"},
        {"trigger", CLI_NUMBER, .key = "trigger", .absent = "-"},
        {"because", CLI_TEXT, .put = put_because},
    };
    size_t count = json_array_size(checks);
    json_t *newest = json_array();
    for (size_t i = count > CHECKS_SHOWN ? count - CHECKS_SHOWN : 0; i < count; i++)
        json_array_append(newest, json_array_get(checks, i));
    if (count > 0)
        cli_line(page, "newest checks of the trigger policy:");
    cli_show_table(page, newest, COLUMNS, WEIR_COUNT(COLUMNS));
    cli_plot_checks(page, checks);
    json_decref(newest);
}

/* Shows the first metric by model and window, and how all of them went over data time. */
static void show_quality(const json_t *triggers, const struct metrics *metrics,
                         struct cli_page *page)
{
    if (metrics->count == 0)
        return;
    const struct cli_measured first = measured(metrics, 0);
    cli_plot_models(page, triggers, &first);
    cli_line(page, "the model in use, over data time:");
    for (size_t i = 0; i < metrics->count; i++) {
        const struct cli_measured of = measured(metrics, i);
        cli_plot_in_use(page, triggers, &of);
    }
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

/* Shows what was to be measured and was not. */
static void show_unmeasured(const json_t *answer, struct cli_page *page)
{
    const json_t *names = json_object_get(answer, "unmeasured");
    const json_t *intervals = json_object_get(answer, "empty_intervals");
    long long left = cli_number(answer, "empty_intervals_in_all");

    for (size_t i = 0; i < json_array_size(names); i++)
        cli_line(page,
                 "%s has measured nothing: none of its intervals had both a model and samples",
                 json_string_value(json_array_get(names, i)));
    for (size_t i = 0; i < json_array_size(intervals) && i < EMPTY_SHOWN; i++, left--) {
        const json_t *one = json_array_get(intervals, i),
                     *interval = json_object_get(one, "interval");
        WEIR_AUTO_BUF text = {0};

        put_moment(&text, cli_text(interval, "from"));
        weir_buf_append_text(&text, " to ");
        put_moment(&text, cli_text(interval, "to"));
        cli_line(page, "%s: dataset %s has no samples from %s, nothing was measured there",
                 cli_text(one, "name"), cli_text(one, "dataset"), weir_buf_text(&text));
    }
    if (left > 0)
        cli_line(page, "%lld more intervals had no samples", left);
}

/* The page that was written. */
static void show_file(const json_t *answer, struct cli_page *page)
{
    cli_pair(page, "wrote", "%s", cli_text(answer, "file"));
    cli_pair(page, "next", "open it in a browser: it needs neither weir nor a network");
}

void cli_render_report(const json_t *answer, struct cli_page *page)
{
    if (json_object_get(answer, "file") != NULL) {
        show_file(answer, page);
        return;
    }
    struct metrics metrics = {.count = 0};
    const json_t *triggers = json_object_get(answer, "triggers");
    bool replaced = false;
    gather_metrics(triggers, &metrics);
    for (size_t i = 0; i < json_array_size(triggers); i++)
        replaced = replaced || was_replaced(json_array_get(triggers, i));
    cli_line(page, "pipeline %s, %zu triggers", cli_text(answer, "pipeline"),
             json_array_size(triggers));
    show_triggers(triggers, &metrics, page);
    if (metrics.count > 0)
        cli_line(page, "%s: each model on the first interval after its newest sample",
                 metrics.evaluation);
    if (json_array_size(triggers) > 0)
        show_unmeasured(answer, page);
    if (replaced)
        cli_line(page, "* retrained after an erasure; measured is the model it replaces");
    for (size_t i = 0; i < json_array_size(triggers); i++)
        show_failures(json_array_get(triggers, i), page);
    show_details(triggers, page);
    show_checks(json_object_get(answer, "checks"), page);
    show_quality(triggers, &metrics, page);
}

/* ---- predict ---- */

static void put_values(struct weir_buf *out, const json_t *values)
{
    size_t count = json_array_size(values);
    for (size_t i = 0; i < count && i < VALUES_SHOWN; i++)
        weir_buf_printf(out, "%s%.4f", i == 0 ? "" : " ",
                        json_number_value(json_array_get(values, i)));
    weir_buf_append_text(out, count > VALUES_SHOWN ? " …" : "");
}

/* The number of a class, where it has no name. */
static json_t *label_of(const json_t *classes, const json_t *prediction)
{
    json_t *label = json_object_get(prediction, "label");
    int64_t number = cli_number_of(label);
    json_t *name = number < 0 ? NULL : json_array_get(classes, (size_t)number);
    return name == NULL ? json_sprintf("%" JSON_INTEGER_FORMAT, (json_int_t)number)
                        : json_incref(name);
}

/* The predictions with the names of classes. */
static json_t *named(const json_t *predictions, const json_t *classes)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < json_array_size(predictions); i++) {
        const json_t *prediction = json_array_get(predictions, i);
        json_t *values = json_object_get(prediction, "values");
        json_array_append_new(rows,
                              json_pack("{sO?,so,ss,sO?}", "id", json_object_get(prediction, "id"),
                                        "label", label_of(classes, prediction), "class",
                                        cli_class_of(classes, values), "values", values));
    }
    return rows;
}

void cli_render_predict(const json_t *answer, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"sample", CLI_NUMBER, .key = "id"},
        {"label", CLI_TEXT, .key = "label"},
        {"predicted", CLI_TEXT, .key = "class"},
        {"values", CLI_TEXT, .key = "values", .put = put_values},
    };
    json_t *rows =
        named(json_object_get(answer, "predictions"), json_object_get(answer, "classes"));
    cli_line(page, "model %s, %zu of %lld samples", cli_text(answer, "model"),
             json_array_size(rows), (long long)cli_number(answer, "samples"));
    cli_show_table(page, rows, COLUMNS, WEIR_COUNT(COLUMNS));
    json_decref(rows);
}
