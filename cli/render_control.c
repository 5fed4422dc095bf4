/* weir submit, list, pause, resume, stop, remove, rerun. */
#include "cli/answer.h"
#include "cli/render.h"

#include <string.h>

static bool rests_until_resumed(const char *state)
{
    return strcmp(state, "PAUSED") == 0 || strcmp(state, "STOPPED") == 0 ||
           strcmp(state, "FAILED") == 0;
}

/* Shows the state, and the orders that a person may give. */
static void show_standing(const json_t *answer, struct cli_page *page)
{
    const char *name = cli_text(answer, "pipeline"), *state = cli_text(answer, "state");
    cli_pair(page, "state", "%s: %s", state, cli_text(answer, "doing"));
    cli_pair_text(page, "error", cli_text(answer, "error"));
    if (strcmp(cli_text(answer, "wish"), "pause") == 0)
        cli_pair(page, "next", "it is paused when the trigger under way is through");
    else if (rests_until_resumed(state))
        cli_pair(page, "next", "weir resume %s", name);
    else if (strcmp(state, "FINISHED") == 0)
        cli_pair(page, "next", "weir report --pipeline %s shows what came of it", name);
    else if (cli_flag(answer, "held"))
        cli_pair(page, "next", "nobody serves this directory: orchestrator serve works on it");
    else
        cli_pair(page, "next", "weir watch %s", name);
}

/* Lines, as the platform has put them. */
static void show_lines(const char *lines, struct cli_page *page)
{
    while (*lines != '\0') {
        size_t size = strcspn(lines, "\n");
        cli_line(page, "%.*s", (int)size, lines);
        lines += size + (lines[size] == '\n' ? 1 : 0);
    }
}

void cli_render_submit(const json_t *answer, struct cli_page *page)
{
    if (json_object_get(answer, "triggers") != NULL) { /* a dry run */
        show_lines(cli_text(answer, "line"), page);
        return;
    }
    if (json_object_get(answer, "removed") != NULL) {
        cli_line(page,
                 "pipeline %s had had no trigger: this file has taken the place of the one before",
                 cli_text(answer, "pipeline"));
        cli_pair(page, "next", "weir watch %s", cli_text(answer, "pipeline"));
        return;
    }
    cli_line(page, "pipeline %s %s", cli_text(answer, "pipeline"),
             cli_flag(answer, "known") ? "is known with this very file" : "is taken in");
    show_standing(answer, page);
}

static void show_difference(const json_t *difference, struct cli_page *page)
{
    const json_t *was = json_object_get(difference, "was"), *is = json_object_get(difference, "is");
    cli_line(page, "  %s: %s -> %s: %s%s", cli_text(difference, "path"),
             json_is_string(was) ? json_string_value(was) : "nothing",
             json_is_string(is) ? json_string_value(is) : "nothing",
             strcmp(cli_text(difference, "effect"), "rerun") == 0 ? "needs a rerun: " : "",
             cli_text(difference, "text"));
}

static const char *what_is_done(const json_t *answer)
{
    const char *done = cli_text(answer, "done");
    if (strcmp(done, "rerun") == 0)
        return "it begins again with the file: weir watch shows how";
    if (strcmp(done, "applied") != 0)
        return "nothing was changed";
    return strcmp(cli_text(answer, "wish"), "apply") == 0
               ? "the file is taken once the trigger under way is through"
               : "the file is taken";
}

void cli_render_apply(const json_t *answer, struct cli_page *page)
{
    const json_t *differences = json_object_get(answer, "differences");
    size_t count = json_array_size(differences);
    cli_line(page, "pipeline %s: %zu difference%s%s", cli_text(answer, "pipeline"), count,
             count == 1 ? "" : "s", count == 0 ? " that mean anything" : "");
    for (size_t i = 0; i < count; i++)
        show_difference(json_array_get(differences, i), page);
    cli_line(page, "%s", what_is_done(answer));
    if (strcmp(cli_text(answer, "done"), "applied") == 0 &&
        strcmp(cli_text(answer, "state"), "FINISHED") == 0)
        cli_pair(page, "next", "weir rerun %s: it is finished, and trains no more by itself",
                 cli_text(answer, "pipeline"));
}

void cli_render_order(const json_t *answer, struct cli_page *page)
{
    const json_t *again = json_object_get(answer, "again");
    cli_line(page, "pipeline %s", cli_text(answer, "pipeline"));
    show_standing(answer, page);
    for (size_t i = 0; i < json_array_size(again); i++)
        cli_pair(page, "may stop again", "%s", json_string_value(json_array_get(again, i)));
}

static void show_models(struct cli_page *page, const char *what, const json_t *models)
{
    WEIR_AUTO_BUF names = {0};
    for (size_t i = 0; i < json_array_size(models); i++)
        weir_buf_printf(&names, "%s%s", i == 0 ? "" : " ",
                        json_string_value(json_array_get(models, i)));
    cli_pair(page, what, "%s", names.size == 0 ? "none" : weir_buf_text(&names));
}

void cli_render_removed(const json_t *answer, struct cli_page *page)
{
    const json_t *removed = json_object_get(answer, "removed");
    const char *name = cli_text(answer, "pipeline");
    WEIR_AUTO_BUF bytes = {0};
    cli_put_bytes(&bytes, cli_real(removed, "bytes"));
    cli_line(page, "pipeline %s %s", name,
             cli_flag(removed, "again") ? "begins again" : "is removed; its name is free");
    cli_pair(page, "sets", "%lld released, %s", (long long)cli_number(removed, "sets"),
             weir_buf_text(&bytes));
    show_models(page, "models dropped", json_object_get(removed, "models_dropped"));
    show_models(page, "models kept", json_object_get(removed, "models_kept"));
    cli_pair(page, "stays", "%s",
             "the datasets, and which model has seen which sample (weir models lineage)");
    if (cli_flag(removed, "again"))
        cli_pair(page, "next", "weir watch %s", name);
}

static void put_state(struct weir_buf *out, const json_t *pipeline)
{
    const char *wish = cli_text(pipeline, "wish");
    weir_buf_printf(out, "%s%s%s", cli_text(pipeline, "state"), wish[0] == '\0' ? "" : ", to ",
                    wish);
}

static void put_doing(struct weir_buf *out, const json_t *pipeline)
{
    const char *error = cli_text(pipeline, "error");
    weir_buf_append_text(out, error[0] != '\0' ? error : cli_text(pipeline, "doing"));
}

void cli_render_list(const json_t *answer, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"pipeline", CLI_TEXT, .key = "pipeline"}, {"mode", CLI_TEXT, .key = "mode"},
        {"state", CLI_TEXT, .put = put_state},     {"doing", CLI_TEXT, .put = put_doing},
        {"file", CLI_TEXT, .key = "file"},
    };
    const json_t *pipelines = json_object_get(answer, "pipelines");
    if (json_array_size(pipelines) == 0)
        cli_line(page, "no pipeline yet: weir submit takes one in");
    cli_show_table(page, pipelines, COLUMNS, WEIR_COUNT(COLUMNS));
    if (cli_flag(answer, "held") && json_array_size(pipelines) > 0)
        cli_line(page, "nobody serves this directory: unfinished pipelines rest");
}

/* Renders nothing: lines are shown as they come. */
void cli_render_nothing(const json_t *answer, struct cli_page *page)
{
    (void)answer;
    (void)page;
}
