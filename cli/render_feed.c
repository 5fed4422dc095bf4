/* weir feed list, forget. */
#include "cli/answer.h"
#include "cli/render.h"

void cli_render_feed(const json_t *answer, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"consumer", CLI_TEXT, .key = "consumer"}, {"passed", CLI_COUNT, .key = "passed"},
        {"behind", CLI_COUNT, .key = "behind"},    {"kept for it alone", CLI_COUNT, .key = "keeps"},
        {"seen", CLI_TIME, .key = "seen"},         {"expires", CLI_TIME, .key = "expires"},
    };
    const json_t *consumers = json_object_get(answer, "consumers");
    cli_line(page, "%s: changes %lld to %lld are kept", cli_text(answer, "dataset"),
             (long long)cli_number(answer, "oldest"), (long long)cli_number(answer, "newest"));
    if (json_array_size(consumers) == 0)
        cli_line(page, "nobody reads them");
    cli_show_table(page, consumers, COLUMNS, WEIR_COUNT(COLUMNS));
}

void cli_render_feed_forgotten(const json_t *answer, struct cli_page *page)
{
    cli_line(page, "%s is forgotten: changes of %s are no longer kept for it",
             cli_text(answer, "forgotten"), cli_text(answer, "dataset"));
}
