/* weir doctor: a line per check, and what is wrong with what to do about it. */
#include "cli/answer.h"
#include "cli/render.h"

#include <string.h>

static void show_finding(const json_t *finding, struct cli_page *page)
{
    const char *dataset = cli_text(finding, "dataset"), *verdict = cli_text(finding, "verdict");
    bool is_fine = strcmp(verdict, "fine") == 0;

    cli_line(page, "%-5s  %s%s%s: %s", is_fine ? "ok" : verdict, dataset, *dataset ? ": " : "",
             cli_text(finding, "check"), cli_text(finding, "found"));
    if (!is_fine && *cli_text(finding, "expected"))
        cli_line(page, "         expected: %s", cli_text(finding, "expected"));
    if (!is_fine && *cli_text(finding, "advice"))
        cli_line(page, "         to do: %s", cli_text(finding, "advice"));
}

void cli_render_doctor(const json_t *answer, struct cli_page *page)
{
    const json_t *findings = json_object_get(answer, "findings");
    long long wrong = (long long)cli_number(answer, "wrong");

    for (size_t i = 0; i < json_array_size(findings); i++)
        show_finding(json_array_get(findings, i), page);
    if (wrong == 0)
        cli_line(page, "nothing is wrong");
    else
        cli_line(page, "%lld wrong", wrong);
}

int cli_exit_of_doctor(const json_t *answer)
{
    return cli_number(answer, "wrong") > 0 ? CLI_EXIT_FAILED : CLI_EXIT_DONE;
}
