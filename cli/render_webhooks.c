/* weir webhooks: who is posted events. */
#include "cli/answer.h"
#include "cli/render.h"

void cli_render_webhooks(const json_t *answer, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"webhook", CLI_TEXT, .key = "webhook"},
        {"sent", CLI_COUNT, .key = "sent"},
        {"behind", CLI_COUNT, .key = "behind"},
        {"oldest", CLI_TEXT, .key = "oldest", .absent = "-"},
        {"tries", CLI_COUNT, .key = "tries"},
        {"failing since", CLI_TEXT, .key = "failing_since", .absent = "-"},
        {"again", CLI_TEXT, .key = "again", .absent = "-"},
        {"error", CLI_TEXT, .key = "error", .absent = "-"},
    };
    const json_t *hooks = json_object_get(answer, "webhooks");
    if (json_array_size(hooks) == 0)
        cli_line(page, "there are none: webhooks of the system file says who is posted events");
    else
        cli_show_table(page, hooks, COLUMNS, WEIR_COUNT(COLUMNS));
}
