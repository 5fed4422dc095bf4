/* weir cache: rows that are kept of samples. */
#include "cli/answer.h"
#include "cli/render.h"

void cli_render_cache(const json_t *answer, struct cli_page *page)
{
    WEIR_AUTO_BUF bytes = {0};
    if (cli_number(answer, "segments") == 0) {
        cli_line(page, "nothing is kept: preprocess.plan.cache of a pipeline says what is to be");
        return;
    }
    cli_put_bytes(&bytes, cli_real(answer, "bytes"));
    cli_pair(page, "rows", "%lld", (long long)cli_number(answer, "rows"));
    cli_pair(page, "bytes", "%s", weir_buf_text(&bytes));
    cli_pair(page, "segments", "%lld", (long long)cli_number(answer, "segments"));
    cli_pair(page, "last used", "between %s and %s", cli_text(answer, "oldest_use"),
             cli_text(answer, "newest_use"));
    if (cli_number(answer, "damaged") > 0)
        cli_pair(page, "damaged", "%lld, to be removed by the next worker that looks",
                 (long long)cli_number(answer, "damaged"));
}

void cli_render_cache_dropped(const json_t *answer, struct cli_page *page)
{
    cli_line(page, "%lld files were removed; what is still needed is made again",
             (long long)cli_number(answer, "files"));
}
