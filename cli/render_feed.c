/* weir feed list, forget. */
#include "cli/answer.h"
#include "cli/render.h"

void cli_render_feed(const json_t *answer, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {{"consumer", false}, {"passed", true},
                                                {"behind", true},    {"kept for it alone", true},
                                                {"seen", false},     {"expires", false}};
    CLI_AUTO_TABLE table = {.columns = COLUMNS, .column_count = WEIR_COUNT(COLUMNS)};
    const json_t *consumers = json_object_get(answer, "consumers");
    for (size_t i = 0; i < json_array_size(consumers); i++) {
        const json_t *one = json_array_get(consumers, i);
        cli_cell(&table, "%s", cli_text(one, "consumer"));
        cli_cell_count(&table, cli_number(one, "passed"));
        cli_cell_count(&table, cli_number(one, "behind"));
        cli_cell_count(&table, cli_number(one, "keeps"));
        cli_cell_time(&table, cli_text(one, "seen"));
        cli_cell_time(&table, cli_text(one, "expires"));
    }
    cli_line(page, "%s: changes %lld to %lld are kept", cli_text(answer, "dataset"),
             (long long)cli_number(answer, "oldest"), (long long)cli_number(answer, "newest"));
    if (json_array_size(consumers) == 0)
        cli_line(page, "nobody reads them");
    cli_table_show(&table, page);
}

void cli_render_feed_forgotten(const json_t *answer, struct cli_page *page)
{
    cli_line(page, "%s is forgotten: no change of %s is kept for it any more",
             cli_text(answer, "forgotten"), cli_text(answer, "dataset"));
}
