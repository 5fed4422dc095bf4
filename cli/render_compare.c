/* weir compare, comparisons, comparison, comparison remove. */
#include "cli/answer.h"
#include "cli/plots.h"
#include "cli/render.h"

#include <stdlib.h>
#include <string.h>

/* "0.8123 ± 0.0041", or without an interval "0.8123" */
static void put_interval(struct weir_buf *out, const json_t *interval)
{
    if (!json_is_object(interval)) {
        weir_buf_append_text(out, "-");
        return;
    }
    double mean = cli_real(interval, "mean");
    weir_buf_printf(out, "%.4f", mean);
    if (json_is_number(json_object_get(interval, "high")))
        weir_buf_printf(out, " ± %.4f", cli_real(interval, "high") - mean);
}

/* A difference, with a star where its interval leaves out 0. */
static void put_difference(struct weir_buf *out, const json_t *policy)
{
    const json_t *against = json_object_get(policy, "against");
    double low = cli_real(against, "low"), high = cli_real(against, "high");
    if (!json_is_object(against)) {
        weir_buf_append_text(out, cli_flag(policy, "baseline") ? "baseline" : "-");
        return;
    }
    weir_buf_append_text(out, cli_real(against, "mean") > 0 ? "+" : "");
    put_interval(out, against);
    weir_buf_append_text(out, low > 0 || high < 0 ? " *" : "");
}

static void put_marks(struct weir_buf *out, const json_t *policy)
{
    bool is_optimal = cli_flag(policy, "pareto"), is_chosen = cli_flag(policy, "chosen");
    weir_buf_printf(out, "%s%s%s", is_optimal ? "optimal" : "", is_optimal && is_chosen ? ", " : "",
                    is_chosen ? "chosen" : "");
}

static void show_policies(const json_t *answer, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"policy", CLI_TEXT, .key = "policy"},
        {"seeds", CLI_NUMBER, .key = "seeds"},
        {"quality", CLI_NUMBER, .key = "quality", .put = put_interval},
        {"difference", CLI_NUMBER, .put = put_difference},
        {"triggers", CLI_TENTHS, .key = "costs.triggers", .absent = "-"},
        {"samples", CLI_COUNT, .key = "costs.samples", .absent = "-"},
        {"CPU s", CLI_HUNDREDTHS, .key = "costs.cpu_s", .absent = "-"},
        {"with reuse", CLI_HUNDREDTHS, .key = "reused.cpu_s", .absent = ""},
        {"read", CLI_BYTES, .key = "costs.bytes", .absent = "-"},
        {"money", CLI_REAL, .key = "costs.money", .absent = "-"},
        {"", CLI_TEXT, .put = put_marks},
    };
    size_t count = WEIR_COUNT(COLUMNS);
    struct cli_column shown[WEIR_COUNT(COLUMNS)];
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (cli_flag(answer, "priced") || strcmp(COLUMNS[i].title, "money") != 0)
            shown[kept++] = COLUMNS[i];
    cli_show_table(page, json_object_get(answer, "policies"), shown, kept);
}

static const json_t *chosen_policy(const json_t *answer)
{
    const json_t *policies = json_object_get(answer, "policies");
    for (size_t i = 0; i < json_array_size(policies); i++)
        if (cli_flag(json_array_get(policies, i), "chosen"))
            return json_array_get(policies, i);
    return NULL;
}

static void put_span(struct weir_buf *out, const json_t *from, const json_t *until)
{
    if (json_is_string(from)) {
        weir_buf_append_text(out, " from ");
        cli_put_time(out, cli_text_of(from));
    }
    if (json_is_string(until)) {
        weir_buf_append_text(out, " until ");
        cli_put_time(out, cli_text_of(until));
    }
}

/* Windows of a time that not every policy has. */
static void show_left_out(const json_t *judging, const char *what, struct cli_page *page)
{
    long long left_out = cli_number(judging, "left_out");
    if (left_out > 0)
        cli_line(
            page,
            "%s by the %lld intervals that every policy has; up to %lld more are left out: %s has "
            "the fewest",
            what, (long long)cli_number(judging, "windows"), left_out, cli_text(judging, "fewest"));
}

static void show_judge(const json_t *answer, struct cli_page *page)
{
    const json_t *judge = json_object_get(answer, "judge"), *chosen = chosen_policy(answer);
    WEIR_AUTO_BUF judged = {0};
    WEIR_AUTO_BUF before = {0};
    put_span(&judged, json_object_get(judge, "from"), json_object_get(judge, "until"));
    put_span(&before, json_object_get(judge, "choose_from"),
             json_object_get(judge, "choose_until"));
    cli_line(page, "quality: mean %s of %s%s, with 95 %% intervals over the seeds; %s is better",
             cli_text(judge, "metric"), cli_text(judge, "evaluation"), weir_buf_text(&judged),
             cli_text(judge, "better"));
    show_left_out(json_object_get(judge, "judged_on"), "judged", page);
    show_left_out(json_object_get(judge, "chosen_on"), "chosen", page);
    if (chosen == NULL)
        return;
    WEIR_AUTO_BUF earlier = {0};
    WEIR_AUTO_BUF later = {0};
    put_interval(&earlier, json_object_get(chosen, "chosen_by"));
    put_interval(&later, json_object_get(chosen, "quality"));
    cli_line(page, "chosen by the time%s: %s, with %s there and %s on the judged time",
             weir_buf_text(&before), cli_text(chosen, "policy"), weir_buf_text(&earlier),
             weir_buf_text(&later));
}

static void show_failed(const json_t *answer, struct cli_page *page)
{
    const json_t *cells = json_object_get(answer, "cells");
    for (size_t i = 0; i < json_array_size(cells); i++) {
        const json_t *cell = json_array_get(cells, i);
        if (strcmp(cli_text(cell, "state"), "failed") == 0)
            cli_line(page, "cell %s has failed: %s", cli_text(cell, "cell"),
                     cli_text(cell, "error"));
    }
}

static void show_cells(const json_t *answer, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"cell", CLI_TEXT, .key = "cell"},
        {"state", CLI_TEXT, .key = "state"},
        {"quality", CLI_REAL, .key = "quality.value", .absent = "-"},
        {"triggers", CLI_COUNT, .key = "triggers", .absent = "-"},
        {"samples", CLI_COUNT, .key = "samples", .absent = "-"},
        {"CPU s", CLI_HUNDREDTHS, .key = "cpu_s", .absent = "-"},
        {"with reuse", CLI_HUNDREDTHS, .key = "reused.cpu_s", .absent = "-"},
        {"read", CLI_BYTES, .key = "bytes", .absent = "-"},
        {"pipeline", CLI_TEXT, .key = "pipeline"},
    };
    cli_show_table(page, json_object_get(answer, "cells"), COLUMNS, WEIR_COUNT(COLUMNS));
}

static void show_state(const json_t *answer, struct cli_page *page)
{
    const json_t *progress = json_object_get(answer, "progress");
    cli_line(page, "comparison %s: %s, %lld of %lld cells done", cli_text(answer, "comparison"),
             cli_text(answer, "state"), (long long)cli_number(progress, "done"),
             (long long)cli_number(progress, "of"));
    if (cli_number(answer, "left_out") > 0)
        cli_line(page,
                 "%lld cells more are done that the grid does not have now: their results are kept,"
                 " and are shown again with a grid that has them",
                 (long long)cli_number(answer, "left_out"));
}

void cli_render_comparison(const json_t *answer, struct cli_page *page)
{
    if (json_object_get(answer, "complaints") != NULL) {
        cli_render_config_check(answer, page);
        return;
    }
    show_state(answer, page);
    show_policies(answer, page);
    show_judge(answer, page);
    cli_plot_policies(page, answer);
    show_failed(answer, page);
    if (cli_flag(answer, "shows_cells"))
        show_cells(answer, page);
}

void cli_render_comparison_removed(const json_t *answer, struct cli_page *page)
{
    show_state(answer, page);
    cli_pair(page, "removed", "%lld pipelines", (long long)cli_number(answer, "pipelines_removed"));
    cli_pair(page, "stays", "%s", "what came of the cells (weir comparison)");
}

void cli_render_comparisons(const json_t *answer, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"comparison", CLI_TEXT, .key = "comparison"},
        {"state", CLI_TEXT, .key = "state"},
        {"cells", CLI_NUMBER, .key = "progress.of"},
        {"done", CLI_NUMBER, .key = "progress.done"},
        {"failed", CLI_NUMBER, .key = "progress.failed"},
        {"file", CLI_TEXT, .key = "file"},
    };
    const json_t *comparisons = json_object_get(answer, "comparisons");
    if (json_array_size(comparisons) == 0)
        cli_line(page, "no comparison yet: weir compare takes a grid in");
    cli_show_table(page, comparisons, COLUMNS, WEIR_COUNT(COLUMNS));
}
