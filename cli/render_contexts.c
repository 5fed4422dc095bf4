/* weir context: a row for each. */
#include "cli/answer.h"
#include "cli/render.h"

void cli_render_contexts(const json_t *answer, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"context", CLI_TEXT, .key = "context"},
        {"used", CLI_FLAG, .key = "used"},
        {"platform", CLI_TEXT, .key = "platform", .absent = "-"},
        {"role", CLI_TEXT, .key = "role", .absent = "-"},
        {"name", CLI_TEXT, .key = "name", .absent = "-"},
        {"file", CLI_TEXT, .key = "key"},
        {"problem", CLI_TEXT, .key = "problem"},
    };
    const json_t *contexts = json_object_get(answer, "contexts");
    if (json_array_size(contexts) == 0)
        cli_line(page, "there are no contexts: weir context add NAME --key FILE");
    cli_show_table(page, contexts, COLUMNS, WEIR_COUNT(COLUMNS));
}
