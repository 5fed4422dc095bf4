/* weir workers: the pool, who shares it, its operators, and what trainers wait for. */
#include "cli/answer.h"
#include "cli/render.h"

#include <string.h>

enum { PERCENT = 100 };

static void show_pool(const json_t *workers, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"worker", CLI_TEXT, .key = "worker"},
        {"leases", CLI_COUNT, .key = "leases"},
        {"queued", CLI_COUNT, .key = "queued"},
        {"CPU s", CLI_HUNDREDTHS, .key = "cpu_seconds"},
        {"read", CLI_BYTES, .key = "bytes_read"},
        {"sent", CLI_BYTES, .key = "bytes_sent"},
        {"out / in", CLI_HUNDREDTHS, .key = "inflation", .absent = "-"},
    };
    cli_show_table(page, workers, COLUMNS, WEIR_COUNT(COLUMNS));
}

/* Says which workers elsewhere cannot be reached, or see old bytes. */
static void show_troubles(const json_t *workers, struct cli_page *page)
{
    for (size_t i = 0; i < json_array_size(workers); i++) {
        const json_t *worker = json_array_get(workers, i);
        long long mismatches = (long long)cli_number(worker, "mismatches");
        if (json_is_true(json_object_get(worker, "unreached")))
            cli_line(page,
                     "%s: a trainer cannot reach it, and it is leased nothing for that: trainers "
                     "connect to workers (--listen, --advertise)",
                     cli_text(worker, "worker"));
        if (mismatches > 0)
            cli_line(page,
                     "%s: %lld records were not what storage has in the same file, and were read "
                     "by storage: the file system that they share shows old bytes",
                     cli_text(worker, "worker"), mismatches);
    }
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

static void add_stage(json_t *stages, json_t *stage, double whole)
{
    double percent = whole > 0 ? PERCENT * cli_real(stage, "cpu_seconds") / whole : 0;
    json_object_set_new(stage, "percent", json_real(percent));
    json_array_append_new(stages, stage);
}

static void put_percent(struct weir_buf *out, const json_t *percent)
{
    weir_buf_printf(out, "%.0f %%", json_number_value(percent));
}

/* Shows the stages of a run on its workers, in order. */
static void show_stages(const json_t *run, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"stage", CLI_TEXT, .key = "operator"},
        {"seconds", CLI_HUNDREDTHS, .key = "cpu_seconds"},
        {"share", CLI_NUMBER, .key = "percent", .put = put_percent},
        {"in", CLI_BYTES, .key = "bytes_in", .absent = "-"},
        {"out", CLI_BYTES, .key = "bytes_out"},
        {"out / in", CLI_HUNDREDTHS, .key = "inflation", .absent = "-"},
    };
    const json_t *operators = json_object_get(run, "operators");
    double whole = whole_of(run);
    json_t *stages = json_array();
    add_stage(stages,
              json_pack("{ss,sO*,sO*}", "operator", "read", "cpu_seconds",
                        json_object_get(run, "read_seconds"), "bytes_out",
                        json_object_get(run, "bytes_read")),
              whole);
    for (size_t i = 0; i < json_array_size(operators); i++)
        add_stage(stages, json_copy(json_array_get(operators, i)), whole);
    cli_show_table(page, stages, COLUMNS, WEIR_COUNT(COLUMNS));
    json_decref(stages);
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
        cli_line(page, "%lld samples could not be read so far; the first: %s",
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
    static const struct cli_column COLUMNS[] = {
        {"pipeline", CLI_TEXT, .key = "pipeline"},
        {"share", CLI_REAL, .key = "share"},
        {"at most", CLI_COUNT, .key = "workers_max", .absent = "-"},
        {"workers", CLI_COUNT, .key = "workers"},
        {"leases", CLI_COUNT, .key = "leases"},
        {"CPU s", CLI_HUNDREDTHS, .key = "cpu_seconds"},
    };
    if (json_array_size(pipelines) == 0)
        return;
    cli_line(page, "%s", "");
    cli_show_table(page, pipelines, COLUMNS, WEIR_COUNT(COLUMNS));
}

void cli_render_workers(const json_t *answer, struct cli_page *page)
{
    const json_t *workers = json_object_get(answer, "workers");
    cli_render_pool(json_object_get(answer, "pool"), page);
    show_pool(workers, page);
    show_troubles(workers, page);
    show_pipelines(json_object_get(answer, "pipelines"), page);
    cli_show_scaling(json_object_get(answer, "runs"), page);
    show_runs(json_object_get(answer, "runs"), page);
}
