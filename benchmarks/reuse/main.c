/* bench_reuse: what rows that are kept are worth (C15, C19), in one thread and without a platform: pictures from the
 * cache against pictures that are decoded, and a segment that is written against its bytes and a checksum alone. */
#include "benchmarks/harness.h"
#include "benchmarks/reuse/choice.h"
#include "benchmarks/reuse/lookup.h"
#include "benchmarks/reuse/monthly.h"
#include "benchmarks/reuse/shared.h"
#include "preprocess/worker/kept_store.h"
#include "tests/support/jpeg_picture.h"

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/memory.h"
#include "preprocess/operators/chain.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PICTURES = 64,
    HEIGHT = 375,
    WIDTH = 500,
    KEY = 1,
    EPOCHS = 4,
    LOOKUP_NS = 100,
    ROW_BYTES = 16,
};
#define WRITING_BAR (1 / 1.3)
static const char OPERATORS[] =
    "[{op: decode_jpeg, scale: never}, {op: random_resized_crop, size: 224}, {op: flip},"
    " {op: normalize}, {op: to_chw}]";

struct reuse {
    char *directory;
    size_t pictures;
    struct weir_yaml *document;
    struct chain *whole, *cut;
    struct weir_buf files[PICTURES], made[PICTURES];
    uint64_t ids[PICTURES];
    struct weir_cache_row rows[PICTURES];
    struct kept_store store;
    struct kept_place places[PICTURES];
    uint8_t all[PICTURES], none[PICTURES];
    uint32_t epoch;
    uint64_t written; /* files so far */
    double scale;
    struct lookup lookup;        /* many rows, once a figure wants them */
    struct shared shared;        /* a platform, once a figure wants it */
    struct choice_regret regret; /* of the sweep, once a figure wants it */
    struct monthly monthly;      /* a year of trainings, once a figure wants it */
};

/* ---- the two chains ---- */

static bool load(void *owner, size_t row, struct weir_bytes *ret_row)
{
    struct reuse *reuse = owner;
    return preprocess_kept_store_load(&reuse->store, reuse->places[row], ret_row);
}

static void keep(void *owner, size_t row, struct weir_bytes bytes)
{
    struct weir_buf *made = &((struct reuse *)owner)->made[row];
    weir_buf_clear(made);
    weir_buf_append(made, &(uint8_t){WEIR_CACHE_PLAIN}, 1);
    weir_buf_append(made, bytes.at, bytes.size);
}

/* Brings all pictures through a chain; `is_known`: NULL without a cut. */
static void run(struct reuse *reuse, struct chain *chain, const uint8_t *is_known)
{
    struct chain_kept use = {.is_known = is_known, .load = load, .keep = keep, .owner = reuse};
    struct column *payload = preprocess_chain_begin(chain);
    for (size_t i = 0; i < reuse->pictures; i++) {
        if (is_known == NULL || is_known[i] == 0)
            weir_buf_append(&payload->values, reuse->files[i].at, reuse->files[i].size);
        preprocess_column_end_row(payload);
    }
    preprocess_chain_use_kept(chain, is_known != NULL ? &use : NULL);
    preprocess_chain_run(chain, &(struct operator_batch){.rows = reuse->pictures,
                                                         .ids = reuse->ids,
                                                         .epoch = reuse->epoch++,
                                                         .trains = true,
                                                         .drops = true});
    weir_require(!preprocess_chain_has_lost(chain));
}

static void find(struct reuse *reuse)
{
    preprocess_kept_store_find(&reuse->store, KEY, reuse->ids, reuse->pictures, reuse->places);
}

static enum weir_status run_epochs(struct reuse *reuse, struct chain *chain,
                                   const uint8_t *is_known, double *ret_rate)
{
    int64_t begun_ns = weir_cpu_thread_ns();
    for (int i = 0; i < EPOCHS; i++) {
        if (is_known != NULL)
            find(reuse);
        run(reuse, chain, is_known);
    }
    *ret_rate =
        (double)(EPOCHS * reuse->pictures) * 1e9 / (double)(weir_cpu_thread_ns() - begun_ns);
    return WEIR_OK;
}

static enum weir_status from_cache(void *state, double *ret_rate, struct weir_error *err)
{
    struct reuse *reuse = state;
    (void)err;
    return run_epochs(reuse, reuse->cut, reuse->all, ret_rate);
}

static enum weir_status decoded(void *state, double *ret_rate, struct weir_error *err)
{
    struct reuse *reuse = state;
    (void)err;
    return run_epochs(reuse, reuse->whole, NULL, ret_rate);
}

static char *next_path(struct reuse *reuse)
{
    return weir_format("%s/%016lx" WEIR_CACHE_SUFFIX, reuse->directory, reuse->written++ + 2);
}

static enum weir_status write_segment(struct reuse *reuse, const char *path, struct weir_error *err)
{
    for (size_t i = 0; i < reuse->pictures; i++)
        reuse->rows[i] = (struct weir_cache_row){
            .id = reuse->ids[i], .key = KEY, .bytes = weir_buf_view(&reuse->made[i])};
    return weir_cache_segment_write(path, 0, reuse->rows, reuse->pictures, WEIR_COMPRESSION_NONE,
                                    err);
}

/* As it is before anything is kept. */
static enum weir_status kept_first(void *state, double *ret_rate, struct weir_error *err)
{
    struct reuse *reuse = state;
    enum weir_status status = WEIR_OK;
    int64_t begun_ns = weir_cpu_thread_ns();
    for (int i = 0; i < EPOCHS && status == WEIR_OK; i++) {
        WEIR_AUTO_FREE char *path = next_path(reuse);
        run(reuse, reuse->cut, reuse->none);
        status = write_segment(reuse, path, err);
        (void)unlink(path);
    }
    *ret_rate =
        (double)(EPOCHS * reuse->pictures) * 1e9 / (double)(weir_cpu_thread_ns() - begun_ns);
    return status;
}

/* ---- writing ---- */

static double bytes_of(const struct reuse *reuse)
{
    double bytes = 0;
    for (size_t i = 0; i < reuse->pictures; i++)
        bytes += (double)reuse->made[i].size;
    return bytes;
}

static enum weir_status written(void *state, double *ret_rate, struct weir_error *err)
{
    struct reuse *reuse = state;
    WEIR_AUTO_FREE char *path = next_path(reuse);
    int64_t begun_ns = weir_cpu_thread_ns();
    enum weir_status status = write_segment(reuse, path, err);
    *ret_rate = bytes_of(reuse) * 1e9 / (double)(weir_cpu_thread_ns() - begun_ns);
    (void)unlink(path);
    return status;
}

static enum weir_status written_bare(void *state, double *ret_rate, struct weir_error *err)
{
    struct reuse *reuse = state;
    WEIR_AUTO_FREE char *path = next_path(reuse);
    off_t at = 0;
    uint64_t sum = 0;
    int64_t begun_ns = weir_cpu_thread_ns();
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool is_written = fd >= 0;
    for (size_t i = 0; i < reuse->pictures && is_written; i++) {
        const struct weir_buf *row = &reuse->made[i];
        sum ^= weir_hash64(weir_buf_view(row), 0);
        is_written = pwrite(fd, row->at, row->size, at) == (ssize_t)row->size;
        at += (off_t)row->size;
    }
    (void)close(fd);
    *ret_rate = bytes_of(reuse) * 1e9 / (double)(weir_cpu_thread_ns() - begun_ns);
    (void)unlink(path);
    return is_written && sum != 0 ? WEIR_OK : weir_fail(err, WEIR_IO, "%s: not written", path);
}

/* ---- equal jobs ---- */

static enum weir_status start_platform(void *state, struct weir_error *err)
{
    struct reuse *reuse = state;
    return reuse->shared.rig != NULL
               ? WEIR_OK
               : shared_open(&reuse->shared, reuse->directory, reuse->scale, err);
}

/* The worker CPU time of a batch that is delivered, of K equal jobs; and the rate of the slowest of them. */
#define EQUAL_JOBS(K)                                                                          \
    static enum weir_status cpu_of_##K(void *state, double *ret_rate, struct weir_error *err)  \
    {                                                                                          \
        struct shared_taken taken;                                                             \
        enum weir_status status =                                                              \
            shared_run(&((struct reuse *)state)->shared, K, false, &taken, err);               \
        *ret_rate = taken.batches_per_cpu_s;                                                   \
        return status;                                                                         \
    }                                                                                          \
    static enum weir_status rate_of_##K(void *state, double *ret_rate, struct weir_error *err) \
    {                                                                                          \
        struct shared_taken taken;                                                             \
        enum weir_status status =                                                              \
            shared_run(&((struct reuse *)state)->shared, K, false, &taken, err);               \
        *ret_rate = taken.batches_per_s;                                                       \
        return status;                                                                         \
    }
EQUAL_JOBS(1)
EQUAL_JOBS(2)
EQUAL_JOBS(4)
EQUAL_JOBS(8)
EQUAL_JOBS(16)

/* The rate of the slowest of eight but for three: one that stops, one that dies and comes back, one that comes late. */
static enum weir_status rate_beside_others(void *state, double *ret_rate, struct weir_error *err)
{
    struct shared_taken taken;
    enum weir_status status = shared_run(&((struct reuse *)state)->shared, 8, true, &taken, err);
    *ret_rate = taken.batches_per_s;
    return status;
}

/* ---- looking up ---- */

static enum weir_status prepare_lookup(void *state, struct weir_error *err)
{
    struct reuse *reuse = state;
    return lookup_open(&reuse->lookup, reuse->directory, reuse->scale, err);
}

static enum weir_status looked_up(void *state, double *ret_rate, struct weir_error *err)
{
    struct reuse *reuse = state;
    (void)err;
    *ret_rate = lookup_rate(&reuse->lookup);
    return WEIR_OK;
}

static enum weir_status in_100_ns(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state;
    (void)err;
    *ret_rate = 1e9 / LOOKUP_NS;
    return WEIR_OK;
}

static enum weir_status in_16_bytes(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state;
    (void)err;
    *ret_rate = 1.0 / ROW_BYTES;
    return WEIR_OK;
}

/* Memory that a store takes, mappings aside. */
static size_t bookkeeping_bytes(const struct kept_store *store)
{
    return store->index.room * sizeof(*store->index.slots) +
           store->capacity * sizeof(*store->segments);
}

static enum weir_status held(void *state, double *ret_rate, struct weir_error *err)
{
    const struct reuse *reuse = state;
    (void)err;
    *ret_rate = (double)reuse->lookup.rows / (double)bookkeeping_bytes(&reuse->lookup.store);
    return WEIR_OK;
}

/* ---- opening ---- */

static enum weir_status open_chains(struct reuse *reuse, struct weir_error *err)
{
    enum weir_status status =
        weir_yaml_parse("reuse.yaml", weir_bytes_of(OPERATORS), &reuse->document, err);
    if (status == WEIR_OK)
        status = preprocess_chain_new(weir_yaml_root(reuse->document), NULL, &reuse->whole, err);
    if (status == WEIR_OK)
        status = preprocess_chain_materialise(reuse->whole, "decode_jpeg", &reuse->cut, err);
    return status;
}

static void draw_pictures(struct reuse *reuse)
{
    for (size_t i = 0; i < reuse->pictures; i++) {
        struct jpeg_picture picture = {.height = HEIGHT,
                                       .width = WIDTH,
                                       .seed = i,
                                       .quality = 85,
                                       .components = 3,
                                       .noise = 12};
        jpeg_picture_write(&picture, &reuse->files[i]);
        reuse->ids[i] = i;
        reuse->all[i] = 1;
    }
}

static bool is_nobody(const void *owner, uint64_t id)
{
    (void)owner;
    (void)id;
    return false;
}

/* Keeps what the first epoch makes. */
static enum weir_status fill(struct reuse *reuse, struct weir_error *err)
{
    const struct kept_erased nobody = {.is_erased = is_nobody};
    WEIR_AUTO_FREE char *path = weir_format("%s/%016x" WEIR_CACHE_SUFFIX, reuse->directory, 1);
    run(reuse, reuse->cut, reuse->none);
    enum weir_status status = write_segment(reuse, path, err);
    reuse->store.folder = weir_strdup(reuse->directory);
    preprocess_kept_store_scan(&reuse->store, &nobody);
    find(reuse);
    return status;
}

static void close_reuse(void *state)
{
    struct reuse *reuse = state;
    if (reuse == NULL)
        return;
    lookup_close(&reuse->lookup);
    shared_close(&reuse->shared);
    preprocess_chain_free(reuse->whole);
    preprocess_chain_free(reuse->cut);
    weir_yaml_free(reuse->document);
    preprocess_kept_store_fini(&reuse->store);
    for (size_t i = 0; i < PICTURES; i++) {
        weir_buf_fini(&reuse->files[i]);
        weir_buf_fini(&reuse->made[i]);
    }
    free(reuse->directory);
    free(reuse);
}

static enum weir_status open_reuse(const char *directory, double scale, void **ret_state,
                                   struct weir_error *err)
{
    struct reuse *reuse = weir_calloc(1, sizeof(*reuse));
    size_t pictures = (size_t)(PICTURES * scale);
    reuse->directory = weir_strdup(directory);
    reuse->scale = scale;
    reuse->pictures = pictures < 1 ? 1 : pictures < PICTURES ? pictures : PICTURES;
    draw_pictures(reuse);
    enum weir_status status = open_chains(reuse, err);
    if (status == WEIR_OK)
        status = fill(reuse, err);
    if (status != WEIR_OK) {
        close_reuse(reuse);
        return status;
    }
    *ret_state = reuse;
    return WEIR_OK;
}

#define CPU_BAR(K) ((K) / 1.1)
#define RATE_BAR   0.95
#define SHARED_FIGURES(K)                                                                          \
    {.name = "reuse.shared.cpu." #K,                                                               \
     .against = "one job",                                                                         \
     .unit = "batches/worker CPU s",                                                               \
     .bar = CPU_BAR(K),                                                                            \
     .runs_max = BENCH_RUNS_FEW,                                                                   \
     .prepare = start_platform,                                                                    \
     .ours = cpu_of_##K,                                                                           \
     .theirs = cpu_of_1},                                                                          \
    {                                                                                              \
        .name = "reuse.shared.rate." #K, .against = "one job", .unit = "batches/s of the slowest", \
        .bar = RATE_BAR, .runs_max = BENCH_RUNS_FEW, .prepare = start_platform,                    \
        .ours = rate_of_##K, .theirs = rate_of_1                                                   \
    }

/* ---- the choice of what is kept ---- */

static enum weir_status sweep(void *state, struct weir_error *err)
{
    struct reuse *reuse = state;
    return reuse->regret.points > 0 ? WEIR_OK : choice_sweep(reuse->directory, &reuse->regret, err);
}

static enum weir_status one(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state;
    (void)err;
    *ret_rate = 1;
    return WEIR_OK;
}

static enum weir_status chosen_on_average(void *state, double *ret_rate, struct weir_error *err)
{
    const struct choice_regret *regret = &((struct reuse *)state)->regret;
    (void)err;
    *ret_rate = (double)regret->points / regret->sum;
    return WEIR_OK;
}

static enum weir_status chosen_at_worst(void *state, double *ret_rate, struct weir_error *err)
{
    (void)err;
    *ret_rate = 1 / ((struct reuse *)state)->regret.max;
    return WEIR_OK;
}

static enum weir_status chosen_right(void *state, double *ret_rate, struct weir_error *err)
{
    const struct choice_regret *regret = &((struct reuse *)state)->regret;
    (void)err;
    *ret_rate = (double)regret->right / (double)regret->points;
    return WEIR_OK;
}

#define CHOICE_FIGURE(NAME, UNIT, BAR, OURS)                                                     \
    {                                                                                            \
        .name = "reuse.choice." NAME, .against = "the best alternative, measured", .unit = UNIT, \
        .bar = BAR, .runs_max = 1, .prepare = sweep, .ours = OURS, .theirs = one                 \
    }

/* ---- a year of trainings ---- */

#define LOST_BAR 0.012 /* of the rows, by an erasure of a hundredth of the samples */

static enum weir_status measure_year(void *state, struct weir_error *err)
{
    struct reuse *reuse = state;
    return reuse->monthly.rows > 0
               ? WEIR_OK
               : monthly_measure(reuse->directory, reuse->scale, &reuse->monthly, err);
}

#define OF_YEAR(NAME, EXPRESSION)                                                       \
    static enum weir_status NAME(void *state, double *ret_rate, struct weir_error *err) \
    {                                                                                   \
        const struct monthly *monthly = &((struct reuse *)state)->monthly;              \
        (void)err;                                                                      \
        *ret_rate = (EXPRESSION);                                                       \
        return WEIR_OK;                                                                 \
    }

OF_YEAR(year_kept, 1 / monthly->kept.workers_s)
OF_YEAR(year_plain, 1 / monthly->plain.workers_s)
OF_YEAR(year_kept_in_all, 1 / monthly->kept.platform_s)
OF_YEAR(year_plain_in_all, 1 / monthly->plain.platform_s)
OF_YEAR(rows_for_each_lost, monthly->rows / monthly->lost)

static enum weir_status rows_of_the_bar(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state;
    (void)err;
    *ret_rate = 1 / LOST_BAR;
    return WEIR_OK;
}

static const struct bench_figure FIGURES[] = {
    {.name = "reuse.pictures.second_epoch",
     .against = "the first, which decodes (scale: never) and keeps",
     .unit = "samples/CPU s",
     .bar = 4,
     .ours = from_cache,
     .theirs = kept_first},
    {.name = "reuse.pictures.decoded",
     .against = "the same without a cache",
     .unit = "samples/CPU s",
     .ours = from_cache,
     .theirs = decoded},
    {.name = "reuse.lookup",
     .against = "100 ns of CPU a row, of a million",
     .unit = "rows/CPU s",
     .bar = 1,
     .prepare = prepare_lookup,
     .ours = looked_up,
     .theirs = in_100_ns},
    {.name = "reuse.memory",
     .against = "16 bytes a row, of a million",
     .unit = "rows/byte",
     .bar = 1,
     .runs_max = 1,
     .prepare = prepare_lookup,
     .ours = held,
     .theirs = in_16_bytes},
    CHOICE_FIGURE("mean", "of its speed, on average", 1 / 1.03, chosen_on_average),
    CHOICE_FIGURE("worst", "of its speed, at worst", 1 / 1.07, chosen_at_worst),
    /* Cachew: 7 of 8 (ATC 2022, fig. 7). */
    CHOICE_FIGURE("right", "of the points within 3 %", 7.0 / 8, chosen_right),
    {.name = "reuse.monthly",
     .against = "nothing kept; twelve trainings, each on all of the past",
     .unit = "years/worker CPU s",
     .bar = 4,
     .runs_max = 1,
     .prepare = measure_year,
     .ours = year_kept,
     .theirs = year_plain},
    {.name = "reuse.monthly.platform",
     .against = "the same, of all processes, writing of rows among it",
     .unit = "years/CPU s",
     .runs_max = 1,
     .prepare = measure_year,
     .ours = year_kept_in_all,
     .theirs = year_plain_in_all},
    {.name = "reuse.erasure",
     .against = "1.2 % of the rows lost by an erasure of 1 % of the samples",
     .unit = "rows for each that is lost",
     .bar = 1,
     .runs_max = 1,
     .prepare = measure_year,
     .ours = rows_for_each_lost,
     .theirs = rows_of_the_bar},
    {.name = "reuse.writing",
     .against = "bare pwrite and a checksum",
     .unit = "bytes/CPU s",
     .bar = WRITING_BAR,
     .ours = written,
     .theirs = written_bare},
    SHARED_FIGURES(2),
    SHARED_FIGURES(4),
    SHARED_FIGURES(8),
    SHARED_FIGURES(16),
    {.name = "reuse.shared.disturbed",
     .against = "eight jobs that nothing disturbs",
     .unit = "batches/s of the slowest",
     .bar = RATE_BAR,
     .runs_max = 1,
     .prepare = start_platform,
     .ours = rate_beside_others,
     .theirs = rate_of_8},
};

static const struct bench REUSE = {
    .name = "reuse",
    .summary = "what rows that are kept of samples are worth, and what it takes to write them",
    .figures = FIGURES,
    .figure_count = WEIR_COUNT(FIGURES),
    .open = open_reuse,
    .close = close_reuse,
};

int main(int argc, char **argv)
{
    return bench_main(&REUSE, argc, argv);
}
