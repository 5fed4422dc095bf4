/* Figures about measuring drift. */
#include "benchmarks/orchestrator/bench.h"

#include "benchmarks/rig.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "orchestrator/drift/statistic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WIDTH = 128, PERMUTATIONS = 1000 };

static const char PYTHON[] = "/usr/bin/python3"; /* the one that Debian's modules are for */
static const char SCRIPT[] = WEIR_SOURCE_DIR "/benchmarks/peers/mmd_numpy.py";
static const double APART_MAX = 1e-6; /* of the distance, which lies near 0 */
static const double P_APART_MAX = 0.1;

/* Two windows of the same stream: p-values are neither 0 nor 1. */
struct windows {
    size_t rows; /* of each */
    float *reference, *current;
};

static void windows_init(struct windows *windows, const struct orchestrator_bench *bench)
{
    struct weir_rng rng;
    weir_rng_init(&rng, 1);
    windows->rows = (size_t)(1000 * bench->scale) + 1;
    windows->reference = weir_calloc(windows->rows * WIDTH, sizeof(*windows->reference));
    windows->current = weir_calloc(windows->rows * WIDTH, sizeof(*windows->current));
    for (size_t i = 0; i < windows->rows * WIDTH; i++) {
        windows->reference[i] = (float)(weir_rng_unit(&rng) + weir_rng_unit(&rng));
        windows->current[i] = (float)(weir_rng_unit(&rng) + weir_rng_unit(&rng));
    }
}

static void windows_fini(struct windows *windows)
{
    free(windows->reference);
    free(windows->current);
}

static enum weir_status measure(const struct windows *windows, struct drift_score *ret_score,
                                double *ret_seconds, struct weir_error *err)
{
    WEIR_AUTO(weir_yaml) document = NULL;
    const struct drift_statistic *mmd = orchestrator_drift_find("mmd");
    WEIR_AUTO_FREE char *options = weir_calloc(1, mmd->options_size);
    WEIR_AUTO_FREE char *text = weir_format("{permutations: %d}", PERMUTATIONS);
    const struct drift_request asked = {.statistic = mmd, .options = options};
    const struct drift_input input = {
        .reference = {.count = windows->rows, .values = windows->reference},
        .current = {.count = windows->rows, .values = windows->current},
        .width = WIDTH,
        .p_value = true,
        .seed = 1};
    enum weir_status status = weir_yaml_parse("options", weir_bytes_of(text), &document, err);
    if (status == WEIR_OK)
        status =
            cfg_read(mmd->options, CFG_CLOSED, weir_yaml_root(document), "mmd", NULL, options, err);
    if (status != WEIR_OK)
        return status;
    int64_t started = weir_now_ns();
    if (!orchestrator_drift_measure(&asked, &input, ret_score))
        return weir_fail(err, WEIR_INTERNAL, "mmd: no score");
    *ret_seconds = (double)(weir_now_ns() - started) / 1e9;
    return WEIR_OK;
}

enum weir_status mmd_here(void *state, double *ret_rate, struct weir_error *err)
{
    struct windows windows;
    struct drift_score score;
    double seconds = 1;
    windows_init(&windows, state);
    enum weir_status status = measure(&windows, &score, &seconds, err);
    windows_fini(&windows);
    *ret_rate = 1 / seconds;
    return status;
}

/* ---- NumPy ---- */

static enum weir_status run_script(const struct orchestrator_bench *bench,
                                   const struct windows *windows, const char *way, const char *log,
                                   struct weir_error *err)
{
    size_t bytes = windows->rows * WIDTH * sizeof(float);
    WEIR_AUTO_FREE char *reference = weir_format("%s/reference", bench->directory);
    WEIR_AUTO_FREE char *current = weir_format("%s/current", bench->directory);
    WEIR_AUTO_FREE char *rows = weir_format("%zu", windows->rows);
    WEIR_AUTO_FREE char *width = weir_format("%d", WIDTH);
    WEIR_AUTO_FREE char *permutations = weir_format("%d", PERMUTATIONS);
    WEIR_AUTO_FREE char *python = weir_strdup(PYTHON);
    WEIR_AUTO_FREE char *script = weir_strdup(SCRIPT);
    WEIR_AUTO_FREE char *how = weir_strdup(way);
    char *const argv[] = {python, script, rows, width, permutations, how, NULL};
    const struct orchestrator_spawn spawn = {
        .argv = argv, .directory = bench->directory, .log_path = log};
    (void)unlink(log);
    enum weir_status status =
        weir_file_write_atomic(reference, weir_bytes(windows->reference, bytes), err);
    if (status == WEIR_OK)
        status = weir_file_write_atomic(current, weir_bytes(windows->current, bytes), err);
    return status == WEIR_OK ? rig_spawn_wait(&spawn, err) : status;
}

/* The script prints seconds, distance and p-value; the last is of other permutations. */
static enum weir_status read_result(const char *log, const struct drift_score *ours,
                                    double *ret_seconds, struct weir_error *err)
{
    WEIR_AUTO_BUF text = {0};
    double distance = 0, p_value = 0;
    enum weir_status status = weir_file_read(log, 4096, &text, err);
    if (status != WEIR_OK)
        return status;
    if (sscanf(weir_buf_text(&text), "%lf %lf %lf", ret_seconds, &distance, &p_value) != 3)
        return weir_fail(err, WEIR_INTERNAL, "%s: expected three numbers, found '%s'", SCRIPT,
                         weir_buf_text(&text));
    if (fabs(distance - ours->distance) > APART_MAX || fabs(p_value - ours->p_value) > P_APART_MAX)
        return weir_fail(err, WEIR_INTERNAL, "mmd: ours %.9g, p %.3g; NumPy's %.9g, p %.3g",
                         ours->distance, ours->p_value, distance, p_value);
    return WEIR_OK;
}

static enum weir_status numpy(const struct orchestrator_bench *bench, const char *way,
                              double *ret_rate, struct weir_error *err)
{
    struct windows windows;
    struct drift_score score = {0};
    double seconds = 1;
    WEIR_AUTO_FREE char *log = weir_format("%s/mmd.log", bench->directory);
    windows_init(&windows, bench);
    enum weir_status status = measure(&windows, &score, &seconds, err);
    if (status == WEIR_OK)
        status = run_script(bench, &windows, way, log, err);
    if (status == WEIR_OK)
        status = read_result(log, &score, &seconds, err);
    windows_fini(&windows);
    *ret_rate = 1 / seconds;
    return status;
}

enum weir_status mmd_in_numpy(void *state, double *ret_rate, struct weir_error *err)
{
    return numpy(state, "batched", ret_rate, err);
}

enum weir_status mmd_in_a_loop(void *state, double *ret_rate, struct weir_error *err)
{
    return numpy(state, "loop", ret_rate, err);
}
