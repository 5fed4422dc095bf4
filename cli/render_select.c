/* weir select: what the next trigger would pick. */
#include "cli/answer.h"
#include "cli/render.h"

void cli_render_select(const json_t *answer, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"by", false}, {"group", false}, {"samples", true}, {"candidates", true}, {"why", false}};
    CLI_AUTO_TABLE table = {.columns = COLUMNS, .column_count = WEIR_COUNT(COLUMNS)};
    const json_t *groups = json_object_get(answer, "groups");
    bool unscored = cli_number(answer, "unscored") > 0;
    cli_line(page, "trigger %lld of %s would %s %lld of %lld samples (%s); nothing was changed",
             (long long)cli_number(answer, "trigger"), cli_text(answer, "pipeline"),
             unscored ? "choose among" : "pick", (long long)cli_number(answer, "samples"),
             (long long)cli_number(answer, "candidates"), cli_text(answer, "policy"));
    cli_pair_text(page, "because", cli_text(answer, "reason"));
    cli_pair_text(page, "scored by", cli_text(answer, "scored_by"));
    if (cli_number(answer, "held_out") > 0)
        cli_pair(page, "before that", "models learn from %lld held-out samples",
                 (long long)cli_number(answer, "held_out"));
    if (unscored)
        cli_pair(page, "first", "%lld of them have to be scored, by a run of %s",
                 (long long)cli_number(answer, "unscored"), cli_text(answer, "scored_by"));
    for (size_t i = 0; i < json_array_size(groups); i++) {
        const json_t *group = json_array_get(groups, i);
        cli_cell(&table, "%s", cli_text(group, "by"));
        cli_cell(&table, "%s", cli_text(group, "group"));
        cli_cell_count(&table, cli_number(group, "samples"));
        cli_cell_count(&table, cli_number(group, "candidates"));
        cli_cell(&table, "%s", cli_text(group, "why"));
    }
    cli_table_show(&table, page);
}
