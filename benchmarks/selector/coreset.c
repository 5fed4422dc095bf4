/* One child process for each choice: see coreset.h. */
#include "benchmarks/selector/coreset.h"

#include "benchmarks/rig.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "selector/scoring/scoring.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CENTERS = 50 };

static const char PYTHON[] = "/usr/bin/python3"; /* the one that Debian's modules are for */
static const char SCRIPT[] = WEIR_SOURCE_DIR "/benchmarks/peers/facility_numpy.py";
static const double APART_MAX = 1e-6;

/* Returns a sum of four uniform numbers: near enough to a normal distribution. */
static float bell(struct weir_rng *rng)
{
    double sum = -2;
    for (int i = 0; i < 4; i++)
        sum += weir_rng_unit(rng);
    return (float)sum;
}

static float *draw_points(const struct coreset *coreset)
{
    size_t width = coreset->width;
    float *points = weir_calloc(coreset->count * width, sizeof(*points));
    WEIR_AUTO_FREE float *centers = weir_calloc(CENTERS * width, sizeof(*centers));
    struct weir_rng rng;
    weir_rng_init(&rng, 1);
    for (size_t i = 0; i < CENTERS * width; i++)
        centers[i] = bell(&rng);
    for (size_t i = 0; i < coreset->count; i++) {
        const float *center = centers + weir_rng_below(&rng, CENTERS) * width;
        for (size_t k = 0; k < width; k++)
            points[i * width + k] = center[k] + bell(&rng);
    }
    return points;
}

static enum weir_status write_numbers(const struct coreset *coreset, const char *name,
                                      const void *numbers, size_t bytes, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", coreset->directory, name);
    return weir_file_write_atomic(path, weir_bytes(numbers, bytes), err);
}

/* ---- here ---- */

static enum weir_status choose_here(const struct coreset *coreset, double *ret_seconds,
                                    struct weir_error *err)
{
    WEIR_AUTO(weir_yaml) document = NULL;
    const struct scoring_method *method = scoring_find(coreset->method);
    WEIR_AUTO_FREE char *options = weir_calloc(1, method->options_size + 1);
    WEIR_AUTO_FREE float *points = draw_points(coreset);
    WEIR_AUTO_FREE size_t *chosen = weir_calloc(coreset->target, sizeof(*chosen));
    WEIR_AUTO_FREE float *weights = weir_calloc(coreset->target, sizeof(*weights));
    struct scoring_choice choice = {chosen, weights, 0};
    const struct scoring_input input = {.count = coreset->count,
                                        .width = coreset->width,
                                        .values = points,
                                        .target = coreset->target,
                                        .seed = 1};
    enum weir_status status =
        weir_yaml_parse("options", weir_bytes_of(coreset->options), &document, err);
    if (status == WEIR_OK)
        status = cfg_read(method->options, CFG_CLOSED, weir_yaml_root(document), "selection", NULL,
                          options, err);
    if (status != WEIR_OK)
        return status;
    int64_t started = weir_now_ns();
    selector_scoring_choose(method, options, &input, &choice);
    *ret_seconds = (double)(weir_now_ns() - started) / 1e9;
    return write_numbers(coreset, "chosen", chosen, choice.count * sizeof(*chosen), err);
}

struct shared {
    double seconds;
    enum weir_status status;
    struct weir_error err;
};

static void run_child(const struct coreset *coreset, struct shared *shared)
{
    const struct rlimit cap = {coreset->memory_max, coreset->memory_max};
    shared->status = WEIR_INTERNAL;
    (void)setrlimit(RLIMIT_AS, &cap);
    shared->status = choose_here(coreset, &shared->seconds, &shared->err);
    _exit(0);
}

enum weir_status coreset_choose(const struct coreset *coreset, struct coreset_cost *ret_cost,
                                struct weir_error *err)
{
    struct rusage used = {0};
    int ended = 0;
    struct shared *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return weir_fail(err, WEIR_IO, "mmap: %s", strerror(errno));
    pid_t child = fork();
    if (child == 0)
        run_child(coreset, shared);
    enum weir_status status = WEIR_OK;
    if (child < 0 || wait4(child, &ended, 0, &used) < 0)
        status = weir_fail(err, WEIR_IO, "fork: %s", strerror(errno));
    else if (ended != 0)
        status =
            weir_fail(err, WEIR_INTERNAL, "%s: died with wait status %d below %" PRIu64 " bytes",
                      coreset->method, ended, coreset->memory_max);
    else if (shared->status != WEIR_OK)
        status = weir_fail(err, shared->status, "%s", shared->err.text);
    *ret_cost = (struct coreset_cost){shared->seconds, (uint64_t)used.ru_maxrss * 1024};
    munmap(shared, sizeof(*shared));
    return status;
}

/* ---- there ---- */

static enum weir_status run_script(const struct coreset *coreset, const char *log,
                                   struct weir_error *err)
{
    WEIR_AUTO_FREE char *count = weir_format("%zu", coreset->count);
    WEIR_AUTO_FREE char *width = weir_format("%zu", coreset->width);
    WEIR_AUTO_FREE char *target = weir_format("%zu", coreset->target);
    WEIR_AUTO_FREE char *memory = weir_format("%" PRIu64, coreset->memory_max);
    WEIR_AUTO_FREE char *python = weir_strdup(PYTHON);
    WEIR_AUTO_FREE char *script = weir_strdup(SCRIPT);
    char *const argv[] = {python, script, count, width, target, memory, NULL};
    const struct orchestrator_spawn spawn = {
        .argv = argv, .directory = coreset->directory, .log_path = log};
    return rig_spawn_wait(&spawn, err);
}

/* The script prints: seconds, its objective, that of the file `chosen`, bytes of memory. */
static enum weir_status read_result(const char *log, struct coreset_cost *ret_cost,
                                    struct weir_error *err)
{
    WEIR_AUTO_BUF text = {0};
    double theirs = 0, ours = 0;
    enum weir_status status = weir_file_read(log, 4096, &text, err);
    if (status != WEIR_OK)
        return status;
    if (sscanf(weir_buf_text(&text), "%lf %lf %lf %" SCNu64, &ret_cost->seconds, &theirs, &ours,
               &ret_cost->memory_peak) != 4)
        return weir_fail(err, WEIR_INTERNAL, "%s: expected four numbers, found '%s'", SCRIPT,
                         weir_buf_text(&text));
    if (fabs(ours - theirs) > APART_MAX * theirs)
        return weir_fail(err, WEIR_INTERNAL, "objectives differ: ours %.9g, NumPy's %.9g", ours,
                         theirs);
    return WEIR_OK;
}

enum weir_status coreset_compare(const struct coreset *coreset, struct coreset_cost *ret_cost,
                                 struct weir_error *err)
{
    WEIR_AUTO_FREE float *points = draw_points(coreset);
    WEIR_AUTO_FREE char *log = weir_format("%s/facility.log", coreset->directory);
    enum weir_status status = write_numbers(coreset, "points", points,
                                            coreset->count * coreset->width * sizeof(*points), err);
    (void)unlink(log);
    if (status == WEIR_OK)
        status = run_script(coreset, log, err);
    return status == WEIR_OK ? read_result(log, ret_cost, err) : status;
}
