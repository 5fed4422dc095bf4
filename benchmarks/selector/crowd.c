/* Makes up records of eight bytes, label and noise, in files of a day each. */
#include "benchmarks/selector/crowd.h"

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rng.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { FILES = 8, RECORD_BYTES = 8 };

int32_t crowd_class(size_t i)
{
    double unit = (double)(weir_mix64(i) >> 11) * 0x1p-53;
    return (int32_t)(CROWD_CLASSES * unit * unit * unit);
}

static enum weir_status write_file(const char *directory, size_t file, size_t from, size_t to,
                                   struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/day_2026-01-%02zu", directory, file + 1);
    WEIR_AUTO_BUF bytes = {0};
    for (size_t i = from; i < to; i++) {
        const uint32_t record[] = {(uint32_t)crowd_class(i), (uint32_t)i};
        weir_buf_append(&bytes, record, sizeof(record));
    }
    return weir_file_write_atomic(path, weir_buf_view(&bytes), err);
}

static enum weir_status write_files(const char *directory, size_t samples, struct weir_error *err)
{
    enum weir_status status = weir_make_directories(directory, 0755, err);
    for (size_t f = 0; status == WEIR_OK && f < FILES; f++)
        status = write_file(directory, f, samples * f / FILES, samples * (f + 1) / FILES, err);
    return status;
}

enum weir_status crowd_make(struct rig *rig, const char *directory, struct crowd *crowd,
                            size_t samples, struct weir_error *err)
{
    (void)snprintf(crowd->name, sizeof(crowd->name), "crowd-%zu", samples);
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", directory, crowd->name);
    WEIR_AUTO_FREE char *config =
        weir_format("pipeline: {name: %s}\ndatasets:\n  - name: %s\n"
                    "    source: {path: %s, format: binary, record_bytes: %d, settle: 0s}\n"
                    "    time: {from: file_name, pattern: \"day_%%Y-%%m-%%d\"}\n"
                    "    label: {offset: 0, type: i32}\n",
                    crowd->name, crowd->name, path, RECORD_BYTES);
    struct msg_dataset_is dataset;
    enum weir_status status = write_files(path, samples, err);
    if (status == WEIR_OK)
        status = rig_scan(rig, config, crowd->name, &dataset, err);
    if (status == WEIR_OK && dataset.live != samples)
        status = weir_fail(err, WEIR_INTERNAL, "storage found %" PRIu64 " samples, expected %zu",
                           dataset.live, samples);
    if (status != WEIR_OK)
        return status;
    crowd->dataset = dataset.dataset;
    crowd->position = dataset.sequence;
    crowd->samples = samples;
    return WEIR_OK;
}

enum weir_status crowd_open(struct rig *rig, struct crowd_pipeline *pipeline,
                            struct weir_error *err)
{
    WEIR_AUTO_FREE char *config =
        weir_format("pipeline: {name: %s}\ndatasets:\n"
                    "  - {name: %s, label: {offset: 0, type: i32}}\nselection: %s\n",
                    pipeline->name, pipeline->crowd->name, pipeline->selection);
    const struct msg_selection_open open = {.pipeline = pipeline->name,
                                            .file = "bench.yaml",
                                            .config = weir_bytes_of(config),
                                            .datasets = {&pipeline->crowd->dataset, 1}};
    const struct rig_call call = {RIG_SELECTOR, MSG_selection_open, &open, MSG_selection_opened};
    struct msg_selection_opened opened;
    return rig_request(rig, &call, &opened, err);
}

enum weir_status crowd_select(struct rig *rig, struct crowd_pipeline *pipeline,
                              struct msg_selected *ret_selected, double *ret_seconds,
                              struct weir_error *err)
{
    const struct msg_select select = {.pipeline = pipeline->name,
                                      .trigger = ++pipeline->trigger,
                                      .positions = {&pipeline->crowd->position, 1},
                                      .until_time = INT64_MAX,
                                      .until_id = UINT64_MAX};
    const struct rig_call call = {RIG_SELECTOR, MSG_select, &select, MSG_selected};
    int64_t started = weir_now_ns();
    enum weir_status status = rig_request(rig, &call, ret_selected, err);
    *ret_seconds = (double)(weir_now_ns() - started) / 1e9;
    if (status == WEIR_OK && ret_selected->samples == 0)
        status = weir_fail(err, WEIR_INTERNAL, "%s: nothing selected: %s", pipeline->name,
                           ret_selected->reason);
    return status;
}
