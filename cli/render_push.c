/* The page of `weir push`. */
#include "cli/answer.h"
#include "cli/render.h"

void cli_render_push(const json_t *answer, struct cli_page *page)
{
    const json_t *refusals = json_object_get(answer, "refusals");
    size_t shown = json_array_size(refusals);
    int64_t refused = cli_number(answer, "refused");
    double seconds = cli_real(answer, "seconds"), bytes = cli_real(answer, "bytes");
    WEIR_AUTO_BUF line = {0};
    cli_put_count(&line, cli_number(answer, "samples"));
    weir_buf_printf(&line, " samples are on disk (");
    cli_put_bytes(&line, bytes);
    weir_buf_append_text(&line, " in ");
    cli_put_duration(&line, seconds);
    weir_buf_append_text(&line, ")");
    cli_pair(page, cli_text(answer, "dataset"), "%s", weir_buf_text(&line));
    if (cli_number(answer, "left_out") > 0) {
        cli_pair(page, "left out", "%lld: duplicates, and what was erased before",
                 (long long)cli_number(answer, "left_out"));
    }
    if (cli_number(answer, "resumed_bytes") > 0) {
        cli_pair(page, "resumed", "behind the first %lld bytes, which were on disk before",
                 (long long)cli_number(answer, "resumed_bytes"));
    }
    if (refused > 0)
        cli_pair(page, "refused", "%lld", (long long)refused);
    for (size_t i = 0; i < shown; i++) {
        const json_t *refusal = json_array_get(refusals, i);
        cli_line(page, "  %lld: %s", (long long)cli_number(refusal, "record"),
                 cli_text(refusal, "reason"));
    }
    if (refused > (int64_t)shown && shown > 0)
        cli_line(page, "  and %lld more; weir datasets lists reasons",
                 (long long)refused - (long long)shown);
}
