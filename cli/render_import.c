/* weir import modyn. */
#include "cli/answer.h"
#include "cli/render.h"

#include <string.h>

static void show_file(const json_t *answer, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"", CLI_TEXT, .key = "verdict"}, {"in Modyn", CLI_TEXT, .key = "key"},
        {"", CLI_TEXT, .key = "value"},   {"in Weir", CLI_TEXT, .key = "weir"},
        {"", CLI_TEXT, .key = "why"},
    };
    const json_t *complaints = json_object_get(answer, "complaints"), *complaint;
    int64_t choose = cli_number(answer, "choose"), lacks = cli_number(answer, "lacks");
    size_t index;

    cli_line(page, "%s: %s%s%s", cli_text(answer, "file"), cli_text(answer, "result"),
             json_object_get(answer, "error") != NULL ? ": " : "", cli_text(answer, "error"));
    if (choose + lacks > 0)
        cli_line(page, "%ld to choose, %ld without an equivalent", choose, lacks);
    if (json_object_get(answer, "written") != NULL)
        cli_line(page, "wrote %s", cli_text(answer, "written"));
    json_array_foreach(complaints, index, complaint)
        cli_line(page, "%s", json_string_value(complaint));
    cli_show_table(page, json_object_get(answer, "lines"), COLUMNS, WEIR_COUNT(COLUMNS));
    weir_buf_append_text(page->out, "\n");
}

void cli_render_import(const json_t *answer, struct cli_page *page)
{
    const json_t *files = json_object_get(answer, "files"), *file, *count;
    const char *result;
    size_t index;

    json_array_foreach(files, index, file) show_file(file, page);
    json_object_foreach((json_t *)json_object_get(answer, "counts"), result, count)
        cli_pair(page, result, "%ld", cli_number_of(count));
}
