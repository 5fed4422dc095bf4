/* Time that no training takes: from a sealed set to the first batch, and from one training to the next. A replay of
 * triggers that are all due, by a trainer that stays; medians after the warm-up, of the times that the platform keeps
 * with its edges. */
#include "benchmarks/trainer/bench.h"

#include "benchmarks/rig.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "orchestrator/platform/platform.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIGGERS = 24, LONG_TRIGGERS = 9, WARM_UP = 3, SAMPLES = 1000, EVENTS_MAX = 1 << 24 };

static const double BUILT_IN_MS = 10, PYTHON_MS = 30, LOST_ALLOWED = 0.05;

static const char PIPELINE[] =
    "pipeline: {name: points, mode: replay}\n"
    "datasets:\n"
    "  - name: points\n"
    "    source: {path: warm, format: csv, include: \"*.csv\"}\n"
    "    time:   {from: field, field: ts, unit: s}\n"
    "    label:  {field: y}\n"
    "trigger:   {policy: amount, samples: %d}\n"
    "selection: {policy: new_data}\n"
    "preprocess:\n"
    "  operators: [{op: csv_fields, columns: [ts, x, y], fields: [x]}]\n"
    "  batch: {samples: 256, last: short, shuffle: full, order: deterministic, delivery: exactly_once}\n"
    "training: {%s, epochs: 1, seed: 1}\n";

struct times {
    double sealed, fired, first_batch, trained;
};

static enum weir_status write_inputs(const char *directory, const char *training, int triggers,
                                     struct weir_error *err)
{
    WEIR_AUTO_FREE char *folder = weir_format("%s/warm", directory);
    WEIR_AUTO_FREE char *csv = weir_format("%s/a.csv", folder);
    WEIR_AUTO_FREE char *file = weir_format("%s/warm.yaml", directory);
    WEIR_AUTO_FREE char *text = weir_format(PIPELINE, SAMPLES, training);
    WEIR_AUTO_BUF rows = {0};

    weir_buf_append_text(&rows, "ts,x,y\n");
    for (int i = 0; i < triggers * SAMPLES; i++)
        weir_buf_printf(&rows, "%d,%d.5,%d\n", 1700000000 + i, i % 7, i % 2);
    enum weir_status status = weir_make_directories(folder, 0755, err);
    if (status == WEIR_OK)
        status = weir_file_write_atomic(csv, weir_buf_view(&rows), err);
    return status == WEIR_OK ? weir_file_write_atomic(file, weir_bytes_of(text), err) : status;
}

static enum weir_status run_pipeline(const char *directory, const char *program,
                                     struct weir_buf *ret_events, struct weir_error *err)
{
    WEIR_AUTO_FREE char *bin = orchestrator_platform_own_directory();
    WEIR_AUTO_FREE char *orchestrator = weir_format("%s/orchestrator", bin);
    WEIR_AUTO_FREE char *data_dir = weir_format("%s/warm-data", directory);
    WEIR_AUTO_FREE char *log = weir_format("%s/warm-events", directory);
    WEIR_AUTO_FREE char *given = weir_format("--program=p=%s", program != NULL ? program : "");
    char *const run[] = {
        orchestrator, (char[]){"run"},    (char[]){"warm.yaml"},          (char[]){"--data-dir"},
        data_dir,     (char[]){"--json"}, program != NULL ? given : NULL, NULL};
    const struct orchestrator_spawn spawn = {.argv = run, .directory = directory, .log_path = log};
    enum weir_status status = weir_remove_tree(data_dir, err);

    if (status == WEIR_OK)
        status = weir_remove_tree(log, err);
    if (status == WEIR_OK)
        status = rig_spawn_wait(&spawn, err);
    return status == WEIR_OK ? weir_file_read(log, EVENTS_MAX, ret_events, err) : status;
}

/* ---- what the events say ---- */

static double seconds_of(const json_t *timeline, const char *step)
{
    const char *text = json_string_value(json_object_get(timeline, step));
    int64_t time_us = 0;

    return text != NULL && weir_time_parse(text, strlen(text), &time_us) ? (double)time_us / 1e6
                                                                         : 0;
}

static size_t read_times(const char *events, struct times times[TRIGGERS])
{
    size_t count = 0;

    for (const char *line = events; *line != '\0' && count < TRIGGERS;) {
        size_t size = strcspn(line, "\n");
        json_t *event = json_loadb(line, size, 0, NULL);
        const json_t *timeline = json_object_get(event, "timeline");
        if (timeline != NULL)
            times[count++] = (struct times){.sealed = seconds_of(timeline, "sealed"),
                                            .fired = seconds_of(timeline, "fired"),
                                            .first_batch = seconds_of(timeline, "first_batch"),
                                            .trained = seconds_of(timeline, "trained")};
        json_decref(event);
        line += size + (line[size] == '\n');
    }
    return count;
}

static enum weir_status measure(const struct trainer_bench *bench, const char *program,
                                int triggers, struct times times[TRIGGERS], struct weir_error *err)
{
    const char *training = program != NULL
                               ? "program: p"
                               : "model: linear, loss: logistic, optimizer: {name: sgd, lr: 0.1}";
    WEIR_AUTO_BUF events = {0};
    enum weir_status status = write_inputs(bench->directory, training, triggers, err);

    if (status == WEIR_OK)
        status = run_pipeline(bench->directory, program, &events, err);
    if (status != WEIR_OK)
        return status;
    size_t count = read_times(weir_buf_text(&events), times);
    return count == (size_t)triggers
               ? WEIR_OK
               : weir_fail(err, WEIR_INTERNAL, "expected %d models, found %zu", triggers, count);
}

static enum weir_status reach(const struct trainer_bench *bench, const char *program,
                              const char *name, double *ret_rate, struct weir_error *err)
{
    struct times times[TRIGGERS];
    double sealed_ms[TRIGGERS], fired_ms[TRIGGERS];
    enum weir_status status = measure(bench, program, TRIGGERS, times, err);

    if (status != WEIR_OK)
        return status;
    for (size_t i = WARM_UP; i < TRIGGERS; i++) {
        sealed_ms[i - WARM_UP] = 1e3 * (times[i].first_batch - times[i].sealed);
        fired_ms[i - WARM_UP] = 1e3 * (times[i].first_batch - times[i].fired);
    }
    double ms = bench_spread_of(sealed_ms, TRIGGERS - WARM_UP).median;
    (void)fprintf(stderr, "%s: sealed to first batch %.1f ms, fired to first batch %.1f ms\n", name,
                  ms, bench_spread_of(fired_ms, TRIGGERS - WARM_UP).median);
    *ret_rate = 1 / ms;
    return WEIR_OK;
}

static char *stays_for(const char *seconds)
{
    WEIR_AUTO_FREE char *script = weir_format("stays.py %s", seconds);

    return trainer_python(script);
}

enum weir_status warm_built_in(void *state, double *ret_rate, struct weir_error *err)
{
    return reach(state, NULL, "built-in", ret_rate, err);
}

enum weir_status warm_python(void *state, double *ret_rate, struct weir_error *err)
{
    WEIR_AUTO_FREE char *program = stays_for("0");

    return reach(state, program, "Python", ret_rate, err);
}

/* The share of the time from one first batch to the next that is no training. */
enum weir_status warm_gap(void *state, double *ret_rate, struct weir_error *err)
{
    WEIR_AUTO_FREE char *program = stays_for("1");
    struct times times[TRIGGERS];
    double lost[LONG_TRIGGERS];
    enum weir_status status = measure(state, program, LONG_TRIGGERS, times, err);

    if (status != WEIR_OK)
        return status;
    for (size_t i = 1; i < LONG_TRIGGERS; i++)
        lost[i - 1] = (times[i].first_batch - times[i - 1].trained) /
                      (times[i].first_batch - times[i - 1].first_batch);
    double share = bench_spread_of(lost, LONG_TRIGGERS - 1).median;
    (void)fprintf(stderr, "lost between two trainings of a second: %.1f %%\n", 1e2 * share);
    *ret_rate = 1 / share;
    return WEIR_OK;
}

#define WANTED(name, rate)                                                       \
    enum weir_status name(void *state, double *ret_rate, struct weir_error *err) \
    {                                                                            \
        (void)state;                                                             \
        (void)err;                                                               \
        *ret_rate = (rate);                                                      \
        return WEIR_OK;                                                          \
    }
WANTED(warm_built_in_wanted, 1 / BUILT_IN_MS)
WANTED(warm_python_wanted, 1 / PYTHON_MS)
WANTED(warm_gap_allowed, 1 / LOST_ALLOWED)
