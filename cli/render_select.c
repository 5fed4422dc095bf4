/* weir select: what the next trigger would pick. */
#include "cli/answer.h"
#include "cli/render.h"

void cli_render_select(const json_t *answer, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"by", CLI_TEXT, .key = "by"},
        {"group", CLI_TEXT, .key = "group"},
        {"samples", CLI_COUNT, .key = "samples"},
        {"candidates", CLI_COUNT, .key = "candidates"},
        {"why", CLI_TEXT, .key = "why"},
    };
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
    cli_show_table(page, json_object_get(answer, "groups"), COLUMNS, WEIR_COUNT(COLUMNS));
}
