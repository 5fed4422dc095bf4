/* weir workers: the pool, its operators, and what trainers wait for. */
#include "cli/answer.h"
#include "cli/render.h"

static double real(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static void show_pool(const json_t *workers, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"worker", false}, {"leases", true}, {"queued", true},  {"CPU s", true},
        {"read", true},    {"sent", true},   {"out / in", true}};
    CLI_AUTO_TABLE table = {.columns = COLUMNS, .column_count = WEIR_COUNT(COLUMNS)};
    for (size_t i = 0; i < json_array_size(workers); i++) {
        const json_t *worker = json_array_get(workers, i);
        cli_cell(&table, "%s", cli_text(worker, "worker"));
        cli_cell_count(&table, cli_number(worker, "leases"));
        cli_cell_count(&table, cli_number(worker, "queued"));
        cli_cell(&table, "%.2f", real(worker, "cpu_seconds"));
        cli_cell_bytes(&table, real(worker, "bytes_read"));
        cli_cell_bytes(&table, real(worker, "bytes_sent"));
        if (json_is_number(json_object_get(worker, "inflation")))
            cli_cell(&table, "%.2f", real(worker, "inflation"));
        else
            cli_cell(&table, "-");
    }
    cli_table_show(&table, page);
}

static void add_operators(struct cli_table *table, const json_t *worker)
{
    const json_t *operators = json_object_get(worker, "operators");
    for (size_t i = 0; i < json_array_size(operators); i++) {
        const json_t *operator= json_array_get(operators, i);
        cli_cell(table, "%s", cli_text(worker, "worker"));
        cli_cell(table, "%lld", (long long)cli_number(operator, "run"));
        cli_cell(table, "%s", cli_text(operator, "operator"));
        cli_cell(table, "%.2f", real(operator, "cpu_seconds"));
        cli_cell_bytes(table, real(operator, "bytes_out"));
    }
}

static void show_operators(const json_t *workers, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"worker", false}, {"run", true}, {"operator", false}, {"CPU s", true}, {"made", true}};
    CLI_AUTO_TABLE table = {.columns = COLUMNS, .column_count = WEIR_COUNT(COLUMNS)};
    for (size_t i = 0; i < json_array_size(workers); i++)
        add_operators(&table, json_array_get(workers, i));
    cli_table_show(&table, page);
}

static void show_runs(const json_t *runs, struct cli_page *page)
{
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i);
        const char *stage = cli_text(run, "stage");
        cli_line(page, "run %lld: its trainer waits %.0f %% of its time%s%s",
                 (long long)cli_number(run, "run"), 100 * real(run, "stall_fraction"),
                 stage[0] != '\0' ? ", limited by " : "", stage);
    }
}

void cli_render_workers(const json_t *answer, struct cli_page *page)
{
    const json_t *workers = json_object_get(answer, "workers");
    show_pool(workers, page);
    show_operators(workers, page);
    show_runs(json_object_get(answer, "runs"), page);
}
