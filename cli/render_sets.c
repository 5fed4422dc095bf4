/* weir sets: sealed sample sets, what candidates take in memory, and what is being chosen. */
#include "cli/answer.h"
#include "cli/render.h"

static void show_totals(const json_t *answer, size_t listed, struct cli_page *page)
{
    WEIR_AUTO_BUF bytes = {0};
    cli_put_bytes(&bytes, (double)cli_number(answer, "bytes"));
    cli_line(page, "%lld sets, the newest %zu are listed; %lld files take %s",
             (long long)cli_number(answer, "total"), listed, (long long)cli_number(answer, "files"),
             weir_buf_text(&bytes));
}

static void show_pools(const json_t *pools, struct cli_page *page)
{
    for (size_t i = 0; i < json_array_size(pools); i++) {
        const json_t *pool = json_array_get(pools, i);
        WEIR_AUTO_BUF bytes = {0};
        cli_put_bytes(&bytes, (double)cli_number(pool, "bytes"));
        cli_line(page, "candidates of %s: %s in memory", cli_text(pool, "pipeline"),
                 weir_buf_text(&bytes));
    }
}

static void show_shares(const json_t *sets, struct cli_page *page)
{
    for (size_t i = 0; i < json_array_size(sets); i++) {
        const json_t *set = json_array_get(sets, i);
        const char *shares = cli_text(set, "shares");
        if (shares[0] != '\0')
            cli_line(page, "shares of %s, trigger %lld: %s", cli_text(set, "pipeline"),
                     (long long)cli_number(set, "trigger"), shares);
    }
}

static void show_choosing(const json_t *choosing, struct cli_page *page)
{
    for (size_t i = 0; i < json_array_size(choosing); i++) {
        const json_t *choice = json_array_get(choosing, i);
        long long trigger = (long long)cli_number(choice, "trigger");
        WEIR_AUTO_BUF what = {0};
        if (trigger > 0)
            weir_buf_printf(&what, " for trigger %lld", trigger);
        cli_line(page, "choosing of %s%s: %.0f %% done", cli_text(choice, "pipeline"),
                 weir_buf_text(&what), 100 * json_number_value(json_object_get(choice, "done")));
    }
}

void cli_render_sets(const json_t *answer, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"pipeline", CLI_TEXT, .key = "pipeline"},
        {"trigger", CLI_COUNT, .key = "trigger", .absent = "-"},
        {"samples", CLI_COUNT, .key = "samples"},
        {"bytes", CLI_BYTES, .key = "bytes"},
        {"policy", CLI_TEXT, .key = "policy"},
        {"seed", CLI_NUMBER, .key = "seed"},
        {"digest", CLI_TEXT, .key = "digest"},
        {"sealed", CLI_TIME, .key = "sealed"},
        {"kept until", CLI_TIME, .key = "expires", .absent = "always"},
        {"because", CLI_TEXT, .key = "kept"},
    };
    const json_t *sets = json_object_get(answer, "sets");
    show_totals(answer, json_array_size(sets), page);
    show_pools(json_object_get(answer, "pools"), page);
    show_choosing(json_object_get(answer, "choosing"), page);
    cli_show_table(page, sets, COLUMNS, WEIR_COUNT(COLUMNS));
    show_shares(sets, page);
}
