/* weir models list, show, lineage. */
#include "cli/answer.h"
#include "cli/render.h"

#include <string.h>

enum { CHECKSUM_SHOWN = 12 };

void cli_put_cost(struct weir_buf *out, const json_t *cost)
{
    if (cli_real(cost, "money") > 0)
        weir_buf_printf(out, "%.4f %s", cli_real(cost, "money"), cli_text(cost, "currency"));
    else if (json_is_object(cost))
        weir_buf_printf(out, "%.2f CPU s", cli_real(cost, "cpu_seconds"));
    else
        weir_buf_append_text(out, "-");
}

static void put_state(struct weir_buf *out, const json_t *model)
{
    weir_buf_append_text(out, cli_flag(model, "active") ? "active" : cli_text(model, "state"));
}

static void put_checksum(struct weir_buf *out, const json_t *checksum)
{
    weir_buf_printf(out, "%.*s", CHECKSUM_SHOWN, cli_text_of(checksum));
}

void cli_render_models(const json_t *answer, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"model", CLI_TEXT, .key = "model"},
        {"trigger", CLI_NUMBER, .key = "trigger"},
        {"state", CLI_TEXT, .put = put_state},
        {"parent", CLI_TEXT, .key = "parent", .absent = "-"},
        {"until", CLI_TIME, .key = "until"},
        {"bytes", CLI_BYTES, .key = "bytes"},
        {"checksum", CLI_TEXT, .key = "checksum", .put = put_checksum},
        {"cost", CLI_NUMBER, .key = "cost", .put = cli_put_cost},
    };
    const json_t *models = json_object_get(answer, "models");
    if (json_array_size(models) == 0)
        cli_line(page, "no model yet");
    cli_show_table(page, models, COLUMNS, WEIR_COUNT(COLUMNS));
}

/* ---- one model ---- */

static void put_metric(struct weir_buf *out, const json_t *evaluation)
{
    const json_t *value = json_object_get(evaluation, "value");
    const json_t *bounds = json_object_get(evaluation, "bootstrap");
    if (!json_is_number(value))
        weir_buf_append_text(out, "undefined");
    else
        weir_buf_printf(out, "%.4f", json_number_value(value));
    if (json_is_number(value) && bounds != NULL)
        weir_buf_printf(out, " (%.4f to %.4f)", json_number_value(json_array_get(bounds, 0)),
                        json_number_value(json_array_get(bounds, 1)));
}

/* The first column is left out where all are of one model. */
static const struct cli_column EVALUATIONS[] = {
    {"model", CLI_TEXT, .key = "model"},        {"evaluation", CLI_TEXT, .key = "name"},
    {"from", CLI_TIME, .key = "interval.from"}, {"to", CLI_TIME, .key = "interval.to"},
    {"metric", CLI_TEXT, .key = "metric"},      {"value", CLI_NUMBER, .put = put_metric},
    {"samples", CLI_COUNT, .key = "samples"},
};

void cli_render_evaluate(const json_t *answer, struct cli_page *page)
{
    const json_t *evaluations = json_object_get(answer, "evaluations");
    if (json_array_size(evaluations) == 0)
        cli_line(page, "nothing to measure: no model, or no samples in the intervals asked for");
    cli_show_table(page, evaluations, EVALUATIONS, WEIR_COUNT(EVALUATIONS));
    if (cli_number(answer, "left_out") > 0)
        cli_line(
            page,
            "%lld more are not shown: --model or --evaluation chooses, and weir report has all",
            (long long)cli_number(answer, "left_out"));
}

void cli_render_model(const json_t *answer, struct cli_page *page)
{
    const json_t *evaluations = json_object_get(answer, "evaluations");
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
    if (cli_real(cost, "money") > 0)
        cli_pair(page, "cost", "%.2f CPU s, %.6f %s", cli_real(cost, "cpu_seconds"),
                 cli_real(cost, "money"), cli_text(cost, "currency"));
    else
        cli_pair(page, "cost", "%.2f CPU s", cli_real(cost, "cpu_seconds"));
    if (json_array_size(evaluations) > 0)
        weir_buf_append_text(page->out, "\n");
    cli_show_table(page, evaluations, EVALUATIONS + 1, WEIR_COUNT(EVALUATIONS) - 1);
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
    static const struct cli_column COLUMNS[] = {
        {"model", CLI_TEXT, .key = "model"},         {"trigger", CLI_NUMBER, .key = "trigger"},
        {"state", CLI_TEXT, .key = "state"},         {"sample set", CLI_TEXT, .key = "set_digest"},
        {"scored by", CLI_TEXT, .key = "scored_by"}, {"until", CLI_TIME, .key = "until"},
    };
    cli_line(page, "%s learnt from, newest first:", cli_text(answer, "model"));
    cli_show_table(page, json_object_get(answer, "ancestors"), COLUMNS, WEIR_COUNT(COLUMNS));
}

static void put_way(struct weir_buf *out, const json_t *model)
{
    const char *through = cli_text(model, "through");
    weir_buf_printf(out, "%s%s%s", cli_text(model, "how"), through[0] == '\0' ? "" : " through ",
                    through);
}

static void show_seen(const json_t *models, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"model", CLI_TEXT, .key = "model"},
        {"trigger", CLI_NUMBER, .key = "trigger"},
        {"live", CLI_FLAG, .key = "live", .absent = "gone"},
        {"samples in its set", CLI_COUNT, .key = "samples"},
        {"by way of", CLI_TEXT, .put = put_way},
    };
    cli_show_table(page, models, COLUMNS, WEIR_COUNT(COLUMNS));
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
    cli_show_export_copies(json_object_get(answer, "exports"), page);
}

void cli_render_erase_plan(const json_t *answer, struct cli_page *page)
{
    const json_t *models = json_object_get(answer, "models");
    size_t live = 0;
    for (size_t i = 0; i < json_array_size(models); i++)
        live += cli_flag(json_array_get(models, i), "live") &&
                cli_text(json_array_get(models, i), "through")[0] == '\0';
    WEIR_AUTO_BUF bytes = {0};
    if (cli_number(answer, "samples") == 0) {
        cli_line(page, "no sample that is there has any of these names: is one misspelt? Nothing "
                       "was changed");
        return;
    }
    cli_put_bytes(&bytes, cli_real(answer, "bytes"));
    cli_line(page, "erasing %lld samples, %s, would concern %zu live models; nothing was changed",
             (long long)cli_number(answer, "samples"), weir_buf_text(&bytes), live);
    if (cli_number(answer, "cached") > 0)
        cli_line(page, "%lld rows of them are kept in the cache, and would be overwritten",
                 (long long)cli_number(answer, "cached"));
    show_seen(models, page);
    cli_show_export_copies(json_object_get(answer, "exports"), page);
}
