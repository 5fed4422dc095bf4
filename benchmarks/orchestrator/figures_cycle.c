/* Figures about the way from data to model: a pipeline of real processes whose every sample fires a
 * trigger, selects that one sample, trains, stores and measures a linear model. What a cycle costs
 * is then all but the work itself. */
#include "benchmarks/orchestrator/bench.h"

#include "benchmarks/points.h"
#include "benchmarks/rig.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "orchestrator/platform/platform.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { CYCLES = 24, WARM_UP = 3, CYCLE_MS_MAX = 300, REPORT_BYTES_MAX = 1 << 24 };

static const char PIPELINE[] =
    "pipeline: {name: cycles, mode: replay}\n" POINTS_SECTIONS
    "  batch: {samples: 16, last: short, shuffle: full, order: deterministic,\n"
    "          delivery: exactly_once}\n"
    "evaluation: [{name: own, strategy: between_triggers, models: trained,\n"
    "              metrics: [accuracy]}]\n";

static enum weir_status write_inputs(const char *directory, const char *file,
                                     struct weir_error *err)
{
    WEIR_AUTO_FREE char *folder = weir_format("%s/cycles", directory);
    WEIR_AUTO_BUF text = {0};
    weir_buf_printf(&text, PIPELINE, folder);
    enum weir_status status = points_write(folder, CYCLES, err);
    return status == WEIR_OK ? weir_file_write_atomic(file, weir_buf_view(&text), err) : status;
}

/* The programs lie beside this one. The report's log becomes `ret_report`. */
static enum weir_status run_pipeline(const char *directory, struct weir_buf *ret_report,
                                     struct weir_error *err)
{
    WEIR_AUTO_FREE char *bin = orchestrator_platform_own_directory();
    WEIR_AUTO_FREE char *orchestrator = weir_format("%s/orchestrator", bin);
    WEIR_AUTO_FREE char *weir = weir_format("%s/weir", bin);
    WEIR_AUTO_FREE char *file = weir_format("%s/cycles.yaml", directory);
    WEIR_AUTO_FREE char *data_dir = weir_format("%s/cycles-data", directory);
    WEIR_AUTO_FREE char *log = weir_format("%s/cycles.log", directory);
    WEIR_AUTO_FREE char *report = weir_format("%s/report.json", directory);
    char *const run[] = {orchestrator,           (char[]){"run"}, file,
                         (char[]){"--data-dir"}, data_dir,        NULL};
    char *const ask[] = {
        weir, (char[]){"--data-dir"}, data_dir, (char[]){"report"}, (char[]){"--json"}, NULL};
    enum weir_status status = weir_remove_tree(data_dir, err);
    if (status == WEIR_OK)
        status = weir_remove_tree(report, err);
    if (status == WEIR_OK)
        status = write_inputs(directory, file, err);
    if (status == WEIR_OK)
        status = rig_spawn_wait(&(struct orchestrator_spawn){.argv = run, .log_path = log}, err);
    if (status == WEIR_OK)
        status = rig_spawn_wait(&(struct orchestrator_spawn){.argv = ask, .log_path = report}, err);
    return status == WEIR_OK ? weir_file_read(report, REPORT_BYTES_MAX, ret_report, err) : status;
}

/* ---- what a report says ---- */

static double seconds_of(const json_t *timeline, const char *step)
{
    const char *text = json_string_value(json_object_get(timeline, step));
    int64_t time_us = 0;
    return text != NULL && weir_time_parse(text, strlen(text), &time_us) ? (double)time_us / 1e6
                                                                         : -1;
}

/* The median over the triggers after the warm-up that took both steps; 0: none did. */
static double median_between(const json_t *triggers, const char *from, const char *to)
{
    double values[CYCLES];
    size_t count = 0;
    for (size_t i = WARM_UP; i < json_array_size(triggers) && i < CYCLES; i++) {
        const json_t *timeline = json_object_get(json_array_get(triggers, i), "timeline");
        double first = seconds_of(timeline, from), last = seconds_of(timeline, to);
        if (first >= 0 && last >= 0)
            values[count++] = last - first;
    }
    return count == 0 ? 0 : bench_spread_of(values, count).median;
}

static enum weir_status measure(const char *directory, const char *to, double *ret_rate,
                                struct weir_error *err)
{
    static const char *const STEPS[] = {"fired",   "sealed", "first_batch",
                                        "trained", "stored", "evaluated"};
    WEIR_AUTO_BUF text = {0};
    enum weir_status status = run_pipeline(directory, &text, err);
    if (status != WEIR_OK)
        return status;
    json_t *report = json_loads(weir_buf_text(&text), 0, NULL);
    const json_t *triggers = json_object_get(report, "triggers");
    double seconds = median_between(triggers, "fired", to);
    for (size_t i = 0; i + 1 < WEIR_COUNT(STEPS); i++)
        (void)fprintf(stderr, "%s%s to %s %.1f ms", i == 0 ? "cycle: " : ", ", STEPS[i],
                      STEPS[i + 1], 1e3 * median_between(triggers, STEPS[i], STEPS[i + 1]));
    (void)fprintf(stderr, "\n");
    json_decref(report);
    if (seconds <= 0)
        return weir_fail(err, WEIR_INTERNAL, "no trigger was %s", to);
    *ret_rate = 1 / seconds;
    return WEIR_OK;
}

enum weir_status reach_the_trainer(void *state, double *ret_rate, struct weir_error *err)
{
    return measure(((const struct orchestrator_bench *)state)->directory, "first_batch", ret_rate,
                   err);
}

enum weir_status ten_a_second(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state;
    (void)err;
    *ret_rate = 10;
    return WEIR_OK;
}

enum weir_status go_through_a_cycle(void *state, double *ret_rate, struct weir_error *err)
{
    return measure(((const struct orchestrator_bench *)state)->directory, "evaluated", ret_rate,
                   err);
}

enum weir_status cycle_allowed(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state;
    (void)err;
    *ret_rate = 1e3 / CYCLE_MS_MAX;
    return WEIR_OK;
}
