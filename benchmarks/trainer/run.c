/* One `orchestrator run` a measurement: the program measures itself, and says what it found as a metric. */
#include "benchmarks/trainer/bench.h"

#include "benchmarks/rig.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "orchestrator/platform/platform.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_BYTES_MAX = 1 << 24 };

static const char PIPELINE[] =
    "pipeline: {name: clicks, mode: replay}\n"
    "datasets:\n"
    "  - name: clicks\n"
    "    source: {path: clicks, format: binary, include: \"day_*\", record_bytes: %d}\n"
    "    time:   {from: file_name, pattern: \"day_%%Y-%%m-%%d\"}\n"
    "    label:  {offset: 0, type: i32}\n"
    "trigger:   {policy: amount, samples: %zu}\n"
    "selection: {policy: new_data, seed: 1}\n"
    "preprocess:\n"
    "  operators:\n"
    "    - {op: record_fields, dense: [4, 13, f32], sparse: [56, 26, i32]}\n"
    "    - {op: log1p, on: dense}\n"
    "    - {op: hash_mod, on: sparse, buckets: 100000}\n"
    "  batch: {samples: %d, last: short, shuffle: full, order: deterministic, delivery: exactly_once}\n"
    "training: {program: p, epochs: 1, seed: 1, retries: 0}\n";

static enum weir_status write_pipeline(const struct trainer_bench *bench, const char *path,
                                       struct weir_error *err)
{
    WEIR_AUTO_FREE char *text =
        weir_format(PIPELINE, CORPUS_RECORD_BYTES, bench->clicks.samples, TRAINER_BATCH);

    return weir_file_write_atomic(path, weir_bytes_of(text), err);
}

/* Lines that are no events come from elsewhere. */
static bool find_metric(const char *log, const char *metric, double *ret_value)
{
    bool is_found = false;

    for (const char *line = log; *line != '\0' && !is_found;) {
        size_t size = strcspn(line, "\n");
        json_t *event = json_loadb(line, size, 0, NULL);
        const json_t *value = json_object_get(json_object_get(event, "metrics"), metric);
        is_found = json_is_number(value);
        if (is_found)
            *ret_value = json_number_value(value);
        json_decref(event);
        line += size + (line[size] == '\n');
    }
    return is_found;
}

enum weir_status trainer_run(const struct trainer_bench *bench, const char *command,
                             const char *metric, double *ret_value, struct weir_error *err)
{
    WEIR_AUTO_FREE char *bin = orchestrator_platform_own_directory();
    WEIR_AUTO_FREE char *orchestrator = weir_format("%s/orchestrator", bin);
    WEIR_AUTO_FREE char *file = weir_format("%s/clicks.yaml", bench->directory);
    WEIR_AUTO_FREE char *data_dir = weir_format("%s/data", bench->directory);
    WEIR_AUTO_FREE char *log = weir_format("%s/events", bench->directory);
    WEIR_AUTO_FREE char *program = weir_format("--program=p=%s", command);
    WEIR_AUTO_FREE char *workers = weir_format("--workers=%d", TRAINER_WORKERS);
    WEIR_AUTO_BUF events = {0};
    char *const run[] = {orchestrator, (char[]){"run"}, file,    (char[]){"--data-dir"},
                         data_dir,     program,         workers, (char[]){"--json"},
                         NULL};
    enum weir_status status = weir_remove_tree(data_dir, err);

    if (status == WEIR_OK)
        status = weir_remove_tree(log, err);
    if (status == WEIR_OK)
        status = write_pipeline(bench, file, err);
    if (status == WEIR_OK)
        status = rig_spawn_wait(&(struct orchestrator_spawn){.argv = run,
                                                             .directory = bench->directory,
                                                             .log_path = log},
                                err);
    if (status == WEIR_OK)
        status = weir_file_read(log, LOG_BYTES_MAX, &events, err);
    if (status == WEIR_OK && !find_metric(weir_buf_text(&events), metric, ret_value))
        status =
            weir_fail(err, WEIR_INVALID, "%s: expected the metric %s, found none", command, metric);
    return status;
}

char *trainer_python(const char *script)
{
    WEIR_AUTO_FREE char *bin = orchestrator_platform_own_directory();

    return weir_format("/usr/bin/env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=%s/../python:%s "
                       "/usr/bin/python3 %s/%s",
                       bin, WEIR_SOURCE_DIR "/benchmarks/trainer",
                       WEIR_SOURCE_DIR "/benchmarks/trainer", script);
}
