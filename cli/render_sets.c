/* weir sets: sealed sample sets, what candidates take in memory, and what is being chosen. */
#include "cli/answer.h"
#include "cli/render.h"

static void add_row(struct cli_table *table, const json_t *set)
{
    const char *expires = cli_text(set, "expires");
    cli_cell(table, "%s", cli_text(set, "pipeline"));
    if (cli_number(set, "trigger") > 0)
        cli_cell_count(table, cli_number(set, "trigger"));
    else
        cli_cell(table, "-");
    cli_cell_count(table, cli_number(set, "samples"));
    cli_cell_bytes(table, (double)cli_number(set, "bytes"));
    cli_cell(table, "%s", cli_text(set, "policy"));
    cli_cell(table, "%lld", (long long)cli_number(set, "seed"));
    cli_cell(table, "%s", cli_text(set, "digest"));
    cli_cell_time(table, cli_text(set, "sealed"));
    if (expires[0] != '\0')
        cli_cell_time(table, expires);
    else
        cli_cell(table, "always");
    cli_cell(table, "%s", cli_text(set, "kept"));
}

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
        {"pipeline", false},   {"trigger", true}, {"samples", true}, {"bytes", true},
        {"policy", false},     {"seed", true},    {"digest", false}, {"sealed", false},
        {"kept until", false}, {"because", false}};
    CLI_AUTO_TABLE table = {.columns = COLUMNS, .column_count = WEIR_COUNT(COLUMNS)};
    const json_t *sets = json_object_get(answer, "sets");
    for (size_t i = 0; i < json_array_size(sets); i++)
        add_row(&table, json_array_get(sets, i));
    show_totals(answer, json_array_size(sets), page);
    show_pools(json_object_get(answer, "pools"), page);
    show_choosing(json_object_get(answer, "choosing"), page);
    cli_table_show(&table, page);
    show_shares(sets, page);
}
