/* weir status, weir datasets. */
#include "cli/answer.h"
#include "cli/render.h"
#include "core/base/clock.h"

#include <ctype.h>
#include <string.h>

enum { COMPLAINTS_SHOWN = 5, COLUMNS_SHOWN = 40 };

/* "READING" -> "reading" */
static void put_state(struct weir_buf *out, const json_t *state)
{
    for (const char *text = cli_text_of(state); *text != '\0'; text++)
        weir_buf_append(out, &(char){(char)tolower((unsigned char)*text)}, 1);
}

static void show_progress(const json_t *pipeline, struct cli_page *page)
{
    const json_t *progress = json_object_get(pipeline, "progress");
    double total = cli_real(progress, "samples_total");
    if (!json_is_object(progress))
        return;
    if (total == 0)
        cli_line(page, "%s: %s for trigger %lld, which begins", cli_text(pipeline, "pipeline"),
                 cli_text(progress, "mode"), (long long)cli_number(progress, "trigger"));
    else
        cli_line(
            page,
            "%s: %s for trigger %lld, %.0f %% of %.0f samples, loss %.4f; its trainer has waited %.0f %% "
            "of its time%s",
            cli_text(pipeline, "pipeline"), cli_text(progress, "mode"),
            (long long)cli_number(progress, "trigger"), 100 * cli_real(progress, "samples") / total,
            total, cli_loss(progress), 100 * cli_real(progress, "stall_fraction"),
            cli_stage_text(cli_text(progress, "stage")));
}

/* Why its policy fired or did not, the last time it checked. */
static void show_check(const json_t *pipeline, struct cli_page *page)
{
    const json_t *check = json_object_get(pipeline, "check");
    if (!json_is_object(check))
        return;
    cli_line(page, "%s: check %lld at %s %s: %s", cli_text(pipeline, "pipeline"),
             (long long)cli_number(check, "check"), cli_text(check, "at"),
             cli_flag(check, "verdict") ? "fired" : "did not fire", cli_text(check, "because"));
}

static void show_budget(const char *pipeline, const json_t *budget, struct cli_page *page)
{
    const json_t *spent = json_object_get(budget, "spent");
    WEIR_AUTO_BUF limits = {0};
    if (cli_real(budget, "money") > 0)
        weir_buf_printf(&limits, " %.4f of %.4f %s", cli_real(spent, "money"),
                        cli_real(budget, "money"), cli_text(spent, "currency"));
    if (cli_real(budget, "cpu_seconds") > 0)
        weir_buf_printf(&limits, "%s %.1f of %.1f CPU s", limits.size > 0 ? "," : "",
                        cli_real(spent, "cpu_seconds"), cli_real(budget, "cpu_seconds"));
    if (cli_real(budget, "gpu_seconds") > 0)
        weir_buf_printf(&limits, "%s %.1f of %.1f GPU s", limits.size > 0 ? "," : "",
                        cli_real(spent, "gpu_seconds"), cli_real(budget, "gpu_seconds"));
    bool of_all = strcmp(cli_text(budget, "of"), "all") == 0;
    bool holds = cli_flag(budget, "over") && strcmp(cli_text(budget, "then"), "hold") == 0;
    cli_line(page, "%s: budget%s%s%s spent%s", pipeline, of_all ? " of all pipelines" : "",
             strcmp(cli_text(budget, "per"), "day") == 0 ? " of today:" : ":",
             weir_buf_text(&limits),
             holds                      ? ": nothing fires any more"
             : cli_flag(budget, "over") ? ": more than it should"
                                        : "");
}

static bool time_of(const json_t *timeline, const char *step, int64_t *ret_us)
{
    const char *text = cli_text(timeline, step);
    return text[0] != '\0' && weir_time_parse(text, strlen(text), ret_us);
}

/* Shows how the newest model came to be: the time between each step and the one before it. */
static void show_timeline(const json_t *pipeline, struct cli_page *page)
{
    static const struct {
        const char *key, *text;
    } STEPS[] = {{"fired", "fired"},     {"sealed", "sealed"}, {"first_batch", "first batch"},
                 {"trained", "trained"}, {"stored", "stored"}, {"evaluated", "evaluated"}};
    const json_t *timeline = json_object_get(pipeline, "timeline");
    int64_t before_us, at_us;
    if (!json_is_object(timeline))
        return;
    bool waited = time_of(timeline, "arrived", &before_us);
    if (!waited && !time_of(timeline, "fired", &before_us))
        return;
    WEIR_AUTO_BUF steps = {0};
    for (size_t i = waited ? 0 : 1; i < WEIR_COUNT(STEPS); i++) {
        if (!time_of(timeline, STEPS[i].key, &at_us))
            continue;
        weir_buf_printf(&steps, "%s%s %.3f", steps.size > 0 ? ", " : "", STEPS[i].text,
                        (double)(at_us - before_us) / 1e6);
        before_us = at_us;
    }
    if (cli_real(timeline, "hidden_seconds") > 0)
        weir_buf_printf(&steps, "; %.3f of it while the one before was trained",
                        cli_real(timeline, "hidden_seconds"));
    cli_line(page, "%s: trigger %lld had its model %.3f s after %s (%s)",
             cli_text(pipeline, "pipeline"), (long long)cli_number(timeline, "trigger"),
             cli_real(timeline, "seconds"), waited ? "its first sample came" : "it fired",
             weir_buf_text(&steps));
}

static void show_unread(const json_t *pipeline, struct cli_page *page)
{
    const json_t *unread = json_object_get(pipeline, "unread");
    long long failed = (long long)cli_number(unread, "failed");
    if (failed > 0)
        cli_line(page,
                 "%s: %lld samples could not be read in its trainings; weir report %s says why",
                 cli_text(pipeline, "pipeline"), failed, cli_text(pipeline, "pipeline"));
}

static void show_errors(const json_t *pipelines, struct cli_page *page)
{
    for (size_t i = 0; i < json_array_size(pipelines); i++) {
        const json_t *pipeline = json_array_get(pipelines, i);
        show_progress(pipeline, page);
        show_check(pipeline, page);
        show_timeline(pipeline, page);
        show_unread(pipeline, page);
        const json_t *budgets = json_object_get(pipeline, "budgets");
        for (size_t b = 0; b < json_array_size(budgets); b++)
            show_budget(cli_text(pipeline, "pipeline"), json_array_get(budgets, b), page);
        if (cli_text(pipeline, "error")[0] != '\0')
            cli_line(page, "%s: %s", cli_text(pipeline, "pipeline"), cli_text(pipeline, "error"));
    }
}

static void show_pipelines(const json_t *pipelines, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"pipeline", CLI_TEXT, .key = "pipeline"},
        {"mode", CLI_TEXT, .key = "mode"},
        {"state", CLI_TEXT, .key = "state", .put = put_state},
        {"triggers", CLI_COUNT, .key = "triggers"},
        {"skipped", CLI_COUNT, .key = "skipped"},
        {"models", CLI_COUNT, .key = "models"},
        {"CPU s", CLI_TENTHS, .key = "cost.cpu_seconds"},
        {"read", CLI_BYTES, .key = "cost.bytes_read"},
        {"cost", CLI_NUMBER, .key = "cost", .put = cli_put_cost},
        {"active model", CLI_TEXT, .key = "active_model", .absent = "-"},
    };
    cli_show_table(page, pipelines, COLUMNS, WEIR_COUNT(COLUMNS));
}

static void show_trainers(const json_t *trainers, struct cli_page *page)
{
    if (json_is_object(trainers))
        cli_pair(page, "trainers", "%lld of %lld at work, %lld runs wait for one",
                 (long long)cli_number(trainers, "busy"), (long long)cli_number(trainers, "slots"),
                 (long long)cli_number(trainers, "waiting"));
}

void cli_render_status(const json_t *answer, struct cli_page *page)
{
    const json_t *pipelines = json_object_get(answer, "pipelines");
    cli_pair(page, "data directory", "%s", cli_text(answer, "data_dir"));
    if (cli_text(answer, "listen")[0] != '\0')
        cli_pair(page, "elsewhere", "%s", cli_text(answer, "listen"));
    WEIR_AUTO_BUF up = {0};
    cli_put_duration(&up, cli_real(answer, "up_ms") / 1e3);
    cli_pair(page, "platform", "up for %s%s", weir_buf_text(&up),
             cli_flag(answer, "held") ? "; unfinished pipelines are left at rest" : "");
    show_trainers(json_object_get(answer, "trainers"), page);
    cli_pair(page, "open erasures", "%lld", (long long)cli_number(answer, "erasures_open_count"));
    weir_buf_append_text(page->out, "\n");
    if (json_array_size(pipelines) == 0)
        cli_line(page, "no pipeline has run here yet");
    show_pipelines(pipelines, page);
    show_errors(pipelines, page);
}

/* ---- datasets ---- */

static void show_complaints(const json_t *datasets, struct cli_page *page)
{
    for (size_t i = 0; i < json_array_size(datasets); i++) {
        const json_t *dataset = json_array_get(datasets, i);
        const json_t *complaints = json_object_get(dataset, "complaints");
        size_t count = json_array_size(complaints);
        for (size_t j = 0; j < count && j < COMPLAINTS_SHOWN; j++) {
            cli_line(page, "%s: refused: %s", cli_text(dataset, "dataset"),
                     json_string_value(json_array_get(complaints, j)));
        }
        if (count > COMPLAINTS_SHOWN) {
            cli_line(page, "%s: %zu more; --json lists them", cli_text(dataset, "dataset"),
                     count - COMPLAINTS_SHOWN);
        }
    }
}

static void show_columns(const json_t *datasets, struct cli_page *page)
{
    for (size_t i = 0; i < json_array_size(datasets); i++) {
        const json_t *dataset = json_array_get(datasets, i);
        const json_t *columns = json_object_get(dataset, "columns");
        size_t count = json_array_size(columns);
        WEIR_AUTO_BUF names = {0};
        for (size_t j = 0; j < count && j < COLUMNS_SHOWN; j++) {
            const char *name = json_string_value(json_array_get(columns, j));
            weir_buf_printf(&names, "%s%s", j > 0 ? ", " : "",
                            name != NULL && *name != '\0' ? name : "(no name)");
        }
        if (count > COLUMNS_SHOWN)
            weir_buf_printf(&names, " and %zu more; --json lists them", count - COLUMNS_SHOWN);
        if (count > 0)
            cli_line(page, "%s: columns: %s", cli_text(dataset, "dataset"), weir_buf_text(&names));
    }
}

static void put_dataset(struct weir_buf *out, const json_t *dataset)
{
    weir_buf_printf(out, "%s%s", cli_text(dataset, "dataset"),
                    cli_flag(dataset, "scanned") ? "" : " (scanning)");
}

static void put_size(struct weir_buf *out, const json_t *array)
{
    weir_buf_printf(out, "%zu", json_array_size(array));
}

void cli_render_datasets(const json_t *answer, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"dataset", CLI_TEXT, .put = put_dataset},
        {"format", CLI_TEXT, .key = "format"},
        {"ingested", CLI_COUNT, .key = "ingested"},
        {"live", CLI_COUNT, .key = "live"},
        {"erased", CLI_COUNT, .key = "erased"},
        {"removed", CLI_COUNT, .key = "removed"},
        {"replaced", CLI_COUNT, .key = "replaced"},
        {"quarantined", CLI_COUNT, .key = "quarantined"},
        {"duplicate", CLI_COUNT, .key = "duplicate"},
        {"blocked", CLI_COUNT, .key = "blocked"},
        {"returned", CLI_COUNT, .key = "returned"},
        {"bytes", CLI_BYTES, .key = "bytes"},
        {"classes", CLI_TEXT, .key = "classes", .put = put_size},
    };
    const json_t *datasets = json_object_get(answer, "datasets");
    if (json_array_size(datasets) == 0)
        cli_line(page, "no dataset yet: a pipeline's first run declares its datasets");
    cli_show_table(page, datasets, COLUMNS, WEIR_COUNT(COLUMNS));
    show_columns(datasets, page);
    show_complaints(datasets, page);
}

void cli_render_dataset_removed(const json_t *answer, struct cli_page *page)
{
    cli_line(
        page,
        "dataset %s is removed: %lld samples, with their keys and the files of them that Weir owned; "
        "a source that was only read is as it was",
        cli_text(answer, "dataset"), (long long)cli_number(answer, "ingested"));
}
