/* weir models list, show, lineage. */
#include "cli/answer.h"
#include "cli/render.h"

#include <string.h>

enum { CHECKSUM_SHOWN = 12, DATE_TEXT = 10 };

void cli_cell_cost(struct cli_table *table, const json_t *cost)
{
    if (cli_real(cost, "money") > 0)
        cli_cell(table, "%.4f %s", cli_real(cost, "money"), cli_text(cost, "currency"));
    else if (json_is_object(cost))
        cli_cell(table, "%.2f CPU s", cli_real(cost, "cpu_seconds"));
    else
        cli_cell(table, "-");
}

static const char *or_dash(const char *text)
{
    return text[0] == '\0' ? "-" : text;
}

void cli_render_models(const json_t *answer, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"model", false}, {"trigger", true}, {"state", false},    {"parent", false},
        {"until", false}, {"bytes", true},   {"checksum", false}, {"cost", true},
    };
    CLI_AUTO_TABLE table = {.columns = COLUMNS, .column_count = WEIR_COUNT(COLUMNS)};
    const json_t *models = json_object_get(answer, "models");
    for (size_t i = 0; i < json_array_size(models); i++) {
        const json_t *model = json_array_get(models, i);
        cli_cell(&table, "%s", cli_text(model, "model"));
        cli_cell(&table, "%lld", (long long)cli_number(model, "trigger"));
        cli_cell(&table, "%s", cli_flag(model, "active") ? "active" : cli_text(model, "state"));
        cli_cell(&table, "%s", or_dash(cli_text(model, "parent")));
        cli_cell_time(&table, cli_text(model, "until"));
        cli_cell_bytes(&table, cli_real(model, "bytes"));
        cli_cell(&table, "%.*s", CHECKSUM_SHOWN, cli_text(model, "checksum"));
        cli_cell_cost(&table, json_object_get(model, "cost"));
    }
    if (json_array_size(models) == 0)
        cli_line(page, "no model yet");
    cli_table_show(&table, page);
}

/* ---- one model ---- */

static void cell_metric(struct cli_table *table, const json_t *one)
{
    const json_t *value = json_object_get(one, "value");
    const json_t *bounds = json_object_get(one, "bootstrap");
    if (!json_is_number(value))
        cli_cell(table, "undefined");
    else if (bounds == NULL)
        cli_cell(table, "%.4f", json_number_value(value));
    else
        cli_cell(table, "%.4f (%.4f to %.4f)", json_number_value(value),
                 json_number_value(json_array_get(bounds, 0)),
                 json_number_value(json_array_get(bounds, 1)));
}

static void row_evaluation(struct cli_table *table, const json_t *one)
{
    const json_t *interval = json_object_get(one, "interval");
    cli_cell(table, "%s", cli_text(one, "name"));
    cli_cell_time(table, cli_text(interval, "from"));
    cli_cell_time(table, cli_text(interval, "to"));
    cli_cell(table, "%s", cli_text(one, "metric"));
    cell_metric(table, one);
    cli_cell_count(table, cli_number(one, "samples"));
}

static void show_evaluations(const json_t *evaluations, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"evaluation", false}, {"from", false}, {"to", false},
        {"metric", false},     {"value", true}, {"samples", true},
    };
    CLI_AUTO_TABLE table = {.columns = COLUMNS, .column_count = WEIR_COUNT(COLUMNS)};
    for (size_t i = 0; i < json_array_size(evaluations); i++)
        row_evaluation(&table, json_array_get(evaluations, i));
    if (table.cell_count > 0)
        weir_buf_append_text(page->out, "\n");
    cli_table_show(&table, page);
}

void cli_render_evaluate(const json_t *answer, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"model", false},  {"evaluation", false}, {"from", false},   {"to", false},
        {"metric", false}, {"value", true},       {"samples", true},
    };
    CLI_AUTO_TABLE table = {.columns = COLUMNS, .column_count = WEIR_COUNT(COLUMNS)};
    const json_t *evaluations = json_object_get(answer, "evaluations");
    for (size_t i = 0; i < json_array_size(evaluations); i++) {
        cli_cell(&table, "%s", cli_text(json_array_get(evaluations, i), "model"));
        row_evaluation(&table, json_array_get(evaluations, i));
    }
    if (table.cell_count == 0)
        cli_line(page, "nothing to measure: no model, or no samples in the intervals asked for");
    cli_table_show(&table, page);
}

void cli_render_model(const json_t *answer, struct cli_page *page)
{
    const json_t *cost = json_object_get(answer, "cost");
    WEIR_AUTO_BUF size = {0};
    cli_put_bytes(&size, cli_real(answer, "stored_bytes"));
    cli_pair(page, "model", "%s%s", cli_text(answer, "model"),
             cli_flag(answer, "active") ? " (active)" : "");
    cli_pair(page, "pipeline", "%s, trigger %lld, run %lld", cli_text(answer, "pipeline"),
             (long long)cli_number(answer, "trigger"), (long long)cli_number(answer, "run"));
    cli_pair(page, "state", "%s", cli_text(answer, "state"));
    cli_pair_text(page, "replaced by", cli_text(answer, "replaced_by"));
    if (cli_number(answer, "erasure") != 0)
        cli_pair(page, "erasure", "%lld", (long long)cli_number(answer, "erasure"));
    cli_pair_text(page, "parent", cli_text(answer, "parent"));
    cli_pair(page, "sample set", "%s", cli_text(answer, "set_digest"));
    cli_pair_text(page, "scored by", cli_text(answer, "scored_by"));
    cli_pair_text(page, "held out by", cli_text(answer, "held_out_by"));
    cli_pair(page, "file", "%s, %s", cli_text(answer, "file"), weir_buf_text(&size));
    if (cli_text(answer, "base")[0] != '\0') {
        weir_buf_clear(&size);
        cli_put_bytes(&size, cli_real(answer, "bytes"));
        cli_pair(page, "whole", "%s; the file is the difference from %s", weir_buf_text(&size),
                 cli_text(answer, "base"));
    }
    cli_pair(page, "checksum", "%s", cli_text(answer, "checksum"));
    cli_pair_time(page, "newest sample", cli_text(answer, "until"));
    cli_pair_time(page, "made", cli_text(answer, "created"));
    cli_pair(page, "cost", "%.2f CPU s, %.6f %s", cli_real(cost, "cpu_seconds"),
             cli_real(cost, "money"), cli_text(cost, "currency"));
    show_evaluations(json_object_get(answer, "evaluations"), page);
}

void cli_render_promoted(const json_t *answer, struct cli_page *page)
{
    const char *model = cli_text(answer, "model"), *previous = cli_text(answer, "previous");
    if (strcmp(model, previous) == 0)
        cli_line(page, "%s is the active model already", model);
    else
        cli_line(page, "%s is the active model now; %s was", model, previous);
}

/* ---- who has seen what, and who comes from whom ---- */

static void show_ancestors(const json_t *answer, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {{"model", false},     {"trigger", true},
                                                {"state", false},     {"sample set", false},
                                                {"scored by", false}, {"until", false}};
    CLI_AUTO_TABLE table = {.columns = COLUMNS, .column_count = WEIR_COUNT(COLUMNS)};
    const json_t *line = json_object_get(answer, "ancestors");
    cli_line(page, "%s learnt from, newest first:", cli_text(answer, "model"));
    for (size_t i = 0; i < json_array_size(line); i++) {
        const json_t *one = json_array_get(line, i);
        cli_cell(&table, "%s", cli_text(one, "model"));
        cli_cell(&table, "%lld", (long long)cli_number(one, "trigger"));
        cli_cell(&table, "%s", cli_text(one, "state"));
        cli_cell(&table, "%s", cli_text(one, "set_digest"));
        cli_cell(&table, "%s", cli_text(one, "scored_by"));
        cli_cell_time(&table, cli_text(one, "until"));
    }
    cli_table_show(&table, page);
}

static void show_seen(const json_t *models, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {{"model", false},
                                                {"trigger", true},
                                                {"live", false},
                                                {"samples in its set", true},
                                                {"by way of", false}};
    CLI_AUTO_TABLE table = {.columns = COLUMNS, .column_count = WEIR_COUNT(COLUMNS)};
    for (size_t i = 0; i < json_array_size(models); i++) {
        const json_t *model = json_array_get(models, i);
        cli_cell(&table, "%s", cli_text(model, "model"));
        cli_cell(&table, "%lld", (long long)cli_number(model, "trigger"));
        cli_cell(&table, "%s", cli_flag(model, "live") ? "yes" : "gone");
        cli_cell_count(&table, cli_number(model, "samples"));
        cli_cell(&table, "%s%s%s", cli_text(model, "how"),
                 cli_text(model, "through")[0] == '\0' ? "" : " through ",
                 cli_text(model, "through"));
    }
    cli_table_show(&table, page);
}

void cli_render_lineage(const json_t *answer, struct cli_page *page)
{
    const json_t *models = json_object_get(answer, "models");
    if (json_is_array(json_object_get(answer, "ancestors"))) {
        show_ancestors(answer, page);
        return;
    }
    cli_line(page, "%zu models have seen one of %lld samples or more, or are influenced (%.1f ms)",
             json_array_size(models), (long long)cli_number(answer, "samples"),
             cli_real(answer, "milliseconds"));
    show_seen(models, page);
}

void cli_render_erase_plan(const json_t *answer, struct cli_page *page)
{
    const json_t *models = json_object_get(answer, "models");
    size_t live = 0;
    for (size_t i = 0; i < json_array_size(models); i++)
        live += cli_flag(json_array_get(models, i), "live") &&
                cli_text(json_array_get(models, i), "through")[0] == '\0';
    WEIR_AUTO_BUF bytes = {0};
    cli_put_bytes(&bytes, cli_real(answer, "bytes"));
    cli_line(page, "erasing %lld samples, %s, would concern %zu live models; nothing was changed",
             (long long)cli_number(answer, "samples"), weir_buf_text(&bytes), live);
    show_seen(models, page);
}
