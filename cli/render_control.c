/* weir submit, weir list. */
#include "cli/answer.h"
#include "cli/render.h"

#include <string.h>

static bool rests_until_resumed(const char *state)
{
    return strcmp(state, "STOPPED") == 0 || strcmp(state, "FAILED") == 0;
}

void cli_render_submit(const json_t *answer, struct cli_page *page)
{
    const char *name = cli_text(answer, "pipeline"), *state = cli_text(answer, "state");
    cli_line(page, "pipeline %s %s", name,
             cli_flag(answer, "known") ? "is known with this very file" : "is taken in");
    cli_pair(page, "state", "%s: %s", state, cli_text(answer, "doing"));
    cli_pair_text(page, "error", cli_text(answer, "error"));
    if (cli_flag(answer, "held"))
        cli_pair(page, "next", "nobody serves this directory: orchestrator serve works on it");
    else if (rests_until_resumed(state))
        cli_pair(page, "next", "weir resume %s", name);
    else if (strcmp(state, "FINISHED") == 0)
        cli_pair(page, "next", "weir report --pipeline %s shows what came of it", name);
    else
        cli_pair(page, "next", "weir watch %s", name);
}

void cli_render_list(const json_t *answer, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"pipeline", false}, {"mode", false}, {"state", false}, {"doing", false}, {"file", false}};
    CLI_AUTO_TABLE table = {.columns = COLUMNS, .column_count = WEIR_COUNT(COLUMNS)};
    const json_t *pipelines = json_object_get(answer, "pipelines");
    for (size_t i = 0; i < json_array_size(pipelines); i++) {
        const json_t *pipeline = json_array_get(pipelines, i);
        const char *error = cli_text(pipeline, "error");
        cli_cell(&table, "%s", cli_text(pipeline, "pipeline"));
        cli_cell(&table, "%s", cli_text(pipeline, "mode"));
        cli_cell(&table, "%s", cli_text(pipeline, "state"));
        cli_cell(&table, "%s", error[0] != '\0' ? error : cli_text(pipeline, "doing"));
        cli_cell(&table, "%s", cli_text(pipeline, "file"));
    }
    if (json_array_size(pipelines) == 0)
        cli_line(page, "no pipeline yet: weir submit takes one in");
    cli_table_show(&table, page);
    if (cli_flag(answer, "held") && json_array_size(pipelines) > 0)
        cli_line(page, "nobody serves this directory: unfinished pipelines rest");
}

/* What is shown is shown as it comes. */
void cli_render_nothing(const json_t *answer, struct cli_page *page)
{
    (void)answer;
    (void)page;
}
