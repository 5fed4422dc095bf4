/* weir workers: the pool, who shares it, its operators, and what trainers wait for. */
#include "cli/answer.h"
#include "cli/render.h"

#include <string.h>

enum { PERCENT = 100 };

static void cell_inflation(struct cli_table *table, const json_t *object)
{
    if (json_is_number(json_object_get(object, "inflation")))
        cli_cell(table, "%.2f", cli_real(object, "inflation"));
    else
        cli_cell(table, "-");
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
        cli_cell(&table, "%.2f", cli_real(worker, "cpu_seconds"));
        cli_cell_bytes(&table, cli_real(worker, "bytes_read"));
        cli_cell_bytes(&table, cli_real(worker, "bytes_sent"));
        cell_inflation(&table, worker);
    }
    cli_table_show(&table, page);
}

const char *cli_stage_text(const char *stage)
{
    static const char *const TEXTS[][2] = {
        {"locate", ", for storage to say where samples are"},
        {"read", ", for samples to be read"},
        {"operators", ", for operators"},
        {"transfer", ", for finished batches on their way"},
        {"trainer", ": workers keep up"},
    };
    for (size_t i = 0; i < WEIR_COUNT(TEXTS); i++) {
        if (strcmp(stage, TEXTS[i][0]) == 0)
            return TEXTS[i][1];
    }
    return "";
}

/* Of all that workers have spent on a run. */
static double whole_of(const json_t *run)
{
    const json_t *operators = json_object_get(run, "operators");
    double whole = cli_real(run, "read_seconds");
    for (size_t i = 0; i < json_array_size(operators); i++)
        whole += cli_real(json_array_get(operators, i), "cpu_seconds");
    return whole;
}

static void cell_time(struct cli_table *table, double seconds, double whole)
{
    cli_cell(table, "%.2f", seconds);
    cli_cell(table, "%.0f %%", whole > 0 ? PERCENT * seconds / whole : 0);
}

/* Shows the stages of a run on its workers, in order. */
static void show_stages(const json_t *run, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {{"stage", false}, {"seconds", true},
                                                {"share", true},  {"in", true},
                                                {"out", true},    {"out / in", true}};
    CLI_AUTO_TABLE table = {.columns = COLUMNS, .column_count = WEIR_COUNT(COLUMNS)};
    const json_t *operators = json_object_get(run, "operators");
    double whole = whole_of(run);
    cli_cell(&table, "read");
    cell_time(&table, cli_real(run, "read_seconds"), whole);
    cli_cell(&table, "-");
    cli_cell_bytes(&table, cli_real(run, "bytes_read"));
    cli_cell(&table, "-");
    for (size_t i = 0; i < json_array_size(operators); i++) {
        const json_t *operator= json_array_get(operators, i);
        cli_cell(&table, "%s", cli_text(operator, "operator"));
        cell_time(&table, cli_real(operator, "cpu_seconds"), whole);
        cli_cell_bytes(&table, cli_real(operator, "bytes_in"));
        cli_cell_bytes(&table, cli_real(operator, "bytes_out"));
        cell_inflation(&table, operator);
    }
    cli_table_show(&table, page);
}

static void show_wait(const json_t *run, struct cli_page *page)
{
    long long number = (long long)cli_number(run, "run");
    const char *stage = cli_text(run, "stage");
    if (stage[0] == '\0')
        cli_line(page, "run %lld: nothing is heard of a trainer", number);
    else
        cli_line(page, "run %lld: its trainer waits %.0f %% of its time%s", number,
                 PERCENT * cli_real(run, "stall_fraction"), cli_stage_text(stage));
}

static void show_failed(const json_t *run, struct cli_page *page)
{
    const char *reason = cli_text(run, "reason");
    if (reason[0] != '\0')
        cli_line(page, "%lld samples could not be read so far; the newest: %s",
                 (long long)cli_number(run, "failed"), reason);
}

static void show_runs(const json_t *runs, struct cli_page *page)
{
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i);
        cli_line(page, "%s", "");
        show_wait(run, page);
        show_failed(run, page);
        show_stages(run, page);
    }
}

static void show_pipelines(const json_t *pipelines, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {{"pipeline", false}, {"share", true},
                                                {"at most", true},   {"workers", true},
                                                {"leases", true},    {"CPU s", true}};
    CLI_AUTO_TABLE table = {.columns = COLUMNS, .column_count = WEIR_COUNT(COLUMNS)};
    for (size_t i = 0; i < json_array_size(pipelines); i++) {
        const json_t *pipeline = json_array_get(pipelines, i);
        cli_cell(&table, "%s", cli_text(pipeline, "pipeline"));
        cli_cell(&table, "%g", cli_real(pipeline, "share"));
        if (json_is_integer(json_object_get(pipeline, "workers_max")))
            cli_cell_count(&table, cli_number(pipeline, "workers_max"));
        else
            cli_cell(&table, "-");
        cli_cell_count(&table, cli_number(pipeline, "workers"));
        cli_cell_count(&table, cli_number(pipeline, "leases"));
        cli_cell(&table, "%.2f", cli_real(pipeline, "cpu_seconds"));
    }
    if (json_array_size(pipelines) == 0)
        return;
    cli_line(page, "%s", "");
    cli_table_show(&table, page);
}

void cli_render_workers(const json_t *answer, struct cli_page *page)
{
    const json_t *workers = json_object_get(answer, "workers");
    show_pool(workers, page);
    show_pipelines(json_object_get(answer, "pipelines"), page);
    show_runs(json_object_get(answer, "runs"), page);
}
