/* weir doctor, weir erase verify: a line per check, and what is wrong with what to do about it. */
#include "cli/answer.h"
#include "cli/render.h"

#include <string.h>

/* Writes the subject of a finding: a dataset, an erasure, or the platform ("") */
static void put_subject(const json_t *finding, struct weir_buf *subject)
{
    const char *dataset = cli_text(finding, "dataset");
    if (*dataset)
        weir_buf_printf(subject, "%s: ", dataset);
    if (json_object_get(finding, "erasure") != NULL)
        weir_buf_printf(subject, "erasure %lld: ", (long long)cli_number(finding, "erasure"));
}

static void show_finding(const json_t *finding, struct cli_page *page)
{
    const char *verdict = cli_text(finding, "verdict");
    bool is_fine = strcmp(verdict, "fine") == 0;
    WEIR_AUTO_BUF subject = {0};

    put_subject(finding, &subject);
    cli_line(page, "%-5s  %s%s: %s", is_fine ? "ok" : verdict, weir_buf_text(&subject),
             cli_text(finding, "check"), cli_text(finding, "found"));
    if (!is_fine && *cli_text(finding, "expected"))
        cli_line(page, "         expected: %s", cli_text(finding, "expected"));
    if (!is_fine && *cli_text(finding, "advice"))
        cli_line(page, "         to do: %s", cli_text(finding, "advice"));
}

static void show_findings(const json_t *answer, const char *good, struct cli_page *page)
{
    const json_t *findings = json_object_get(answer, "findings");
    long long wrong = (long long)cli_number(answer, "wrong");

    long long fine = (long long)cli_number(answer, "fine");

    for (size_t i = 0; i < json_array_size(findings); i++)
        show_finding(json_array_get(findings, i), page);
    if (fine > 0)
        cli_line(page, "%lld checks are fine", fine);
    if (wrong == 0)
        cli_line(page, "%s", good);
    else
        cli_line(page, "%lld wrong", wrong);
}

void cli_render_doctor(const json_t *answer, struct cli_page *page)
{
    show_findings(answer, "nothing is wrong", page);
}

void cli_render_erase_verify(const json_t *answer, struct cli_page *page)
{
    show_findings(answer,
                  json_array_size(json_object_get(answer, "findings")) == 0 &&
                          cli_number(answer, "fine") == 0
                      ? "nobody has asked for an erasure"
                      : "everything holds",
                  page);
}

int cli_exit_of_doctor(const json_t *answer)
{
    return cli_number(answer, "wrong") > 0 ? CLI_EXIT_FAILED : CLI_EXIT_DONE;
}

int cli_exit_of_erase_verify(const json_t *answer)
{
    if (cli_number(answer, "wrong") == 0)
        return CLI_EXIT_DONE;
    return cli_flag(answer, "files") ? CLI_EXIT_FAILED : CLI_EXIT_OVERDUE;
}
