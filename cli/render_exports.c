/* weir materialize, weir exports: sets that are written as folders. */
#include "cli/answer.h"
#include "cli/render.h"

#include <string.h>

void cli_render_materialized(const json_t *answer, struct cli_page *page)
{
    const char *state = cli_text(answer, "state");
    WEIR_AUTO_BUF samples = {0};

    cli_put_count(&samples, cli_number(answer, "samples"));
    cli_pair(page, "export", "%lld of %s@%lld: %s", (long long)cli_number(answer, "export"),
             cli_text(answer, "pipeline"), (long long)cli_number(answer, "trigger"), state);
    cli_pair(page, "samples", "%s", weir_buf_text(&samples));
    cli_pair(page, "directory", "%s", cli_text(answer, "directory"));
    cli_pair(page, "format", "%s", cli_text(answer, "format"));
    cli_pair_text(page, "error", cli_text(answer, "error"));
}

int cli_exit_of_materialize(const json_t *answer)
{
    return strcmp(cli_text(answer, "state"), "failed") == 0 ? CLI_EXIT_FAILED : CLI_EXIT_DONE;
}

void cli_render_export_dropped(const json_t *answer, struct cli_page *page)
{
    cli_line(
        page,
        cli_flag(answer, "there")
            ? "export %lld is forgotten, and what it wrote to %s is removed"
            : "export %lld is forgotten; %s was not there any more: where it was moved to, it stays",
        (long long)cli_number(answer, "export"), cli_text(answer, "directory"));
}

void cli_show_export_copies(const json_t *exports, struct cli_page *page)
{
    for (size_t i = 0; i < json_array_size(exports); i++) {
        const json_t *one = json_array_get(exports, i);
        cli_line(page, "export %lld holds a copy of %lld of them outside of Weir's reach: %s%s",
                 (long long)cli_number(one, "export"), (long long)cli_number(one, "samples"),
                 cli_text(one, "directory"),
                 cli_flag(one, "there") ? "" : ", which is no longer there");
    }
}

void cli_render_exports(const json_t *answer, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"export", CLI_NUMBER, .key = "export"},
        {"pipeline", CLI_TEXT, .key = "pipeline"},
        {"trigger", CLI_COUNT, .key = "trigger"},
        {"state", CLI_TEXT, .key = "state"},
        {"samples", CLI_COUNT, .key = "samples"},
        {"of", CLI_COUNT, .key = "set"},
        {"format", CLI_TEXT, .key = "format"},
        {"directory", CLI_TEXT, .key = "directory"},
        {"finished", CLI_TIME, .key = "finished", .absent = "-"},
    };
    const json_t *exports = json_object_get(answer, "exports");

    if (json_array_size(exports) == 0)
        cli_line(page, "nothing was exported: weir materialize PIPELINE --to DIR --format FORMAT");
    cli_show_table(page, exports, COLUMNS, WEIR_COUNT(COLUMNS));
}
