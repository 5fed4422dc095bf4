/* weir cache: rows that are kept of samples. */
#include "cli/answer.h"
#include "cli/render.h"

/* Rows by what made them. */
static void show_kept(const json_t *kept, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"made by", CLI_TEXT, .key = "operators", .absent = "(of no known job)"},
        {"rows", CLI_COUNT, .key = "rows"},
        {"bytes", CLI_BYTES, .key = "bytes"},
        {"hits", CLI_COUNT, .key = "hits"},
        {"misses", CLI_COUNT, .key = "misses"},
        {"damaged", CLI_COUNT, .key = "damaged"},
        {"ns to make", CLI_COUNT, .key = "making_ns"},
        {"to read", CLI_COUNT, .key = "reading_ns"},
        {"saved CPU s", CLI_HUNDREDTHS, .key = "saved_seconds"},
        {"since", CLI_TEXT, .key = "since", .absent = "-"},
        {"last use", CLI_TEXT, .key = "last_use", .absent = "-"},
    };
    cli_show_table(page, kept, COLUMNS, WEIR_COUNT(COLUMNS));
}

static void show_stock(const json_t *answer, struct cli_page *page)
{
    WEIR_AUTO_BUF bytes = {0};
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

void cli_render_cache(const json_t *answer, struct cli_page *page)
{
    const json_t *kept = json_object_get(answer, "kept");
    if (cli_number(answer, "segments") == 0)
        cli_line(page,
                 "nothing is kept: preprocess.plan.cache of a pipeline says what is to be, and "
                 "weir plan why nothing is yet");
    else
        show_stock(answer, page);
    if (json_array_size(kept) > 0)
        show_kept(kept, page);
}

void cli_render_cache_dropped(const json_t *answer, struct cli_page *page)
{
    cli_line(page, "%lld files were removed; what is still needed is made again",
             (long long)cli_number(answer, "files"));
}
