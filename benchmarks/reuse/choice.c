/* See choice.h. */
#include "benchmarks/reuse/choice.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "preprocess/plan/keeping.h"
#include "preprocess/worker/kept_probe.h"
#include "preprocess/worker/kept_store.h"
#include "tests/support/jpeg_picture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PICTURES = 16,
    WRITTEN = 8 * PICTURES, /* rows of a segment */
    ROUNDS = 8,             /* at least, … */
    TRIAL_NS = 1000000000,  /* … and for so long: small pictures are done within a moment */
    KEY = 77,               /* of nobody else in the folder, … */
    SEGMENT = 7,            /* … as is this */
};
#define NEAR 1.03

static const struct {
    uint32_t height, width;
} SIZES[] = {{64, 64}, {160, 240}, {375, 500}};
static const int TARGETS[] = {32, 128, 320};
static const double USES[] = {1, 2, 3, 5, 10, 30};

/* Rows kept after so many operators: CPU time per row of making and keeping them, of writing them, and of going on. */
struct alternative {
    struct chain *chain; /* NULL: it is not legal */
    struct kept_store store;
    struct kept_place places[PICTURES];
    double first_ns, write_ns, read_ns;
};

/* One pipeline on its pictures. */
struct trial {
    struct weir_yaml *document;
    struct chain *whole;
    struct weir_buf files[PICTURES], made[PICTURES];
    uint64_t ids[PICTURES];
    uint32_t epoch;
    double whole_ns;                                /* per row, nothing kept … */
    struct keeping keeping;                         /* … as a worker would report it */
    struct alternative at[CHAIN_OPERATORS_MAX + 1]; /* by cut */
    struct alternative *running;
};

/* Keeps the best of several rounds, in which all alternatives take turns: others have the machine, too. */
static bool improve(double *best, double ns)
{
    bool is_better = *best == 0 || ns < *best;
    *best = is_better ? ns : *best;
    return is_better;
}

/* ---- running ---- */

static bool load(void *owner, size_t row, struct weir_bytes *ret_row)
{
    struct alternative *running = ((struct trial *)owner)->running;
    return preprocess_kept_store_load(&running->store, running->places[row], ret_row);
}

static void keep(void *owner, size_t row, struct weir_bytes bytes)
{
    struct weir_buf *made = &((struct trial *)owner)->made[row];
    weir_buf_clear(made);
    weir_buf_append(made, &(uint8_t){WEIR_CACHE_PLAIN}, 1);
    weir_buf_append(made, bytes.at, bytes.size);
}

/* Returns the CPU time per row. `is_known` NULL: without a cut. */
static double run_once(struct trial *trial, struct chain *chain, const uint8_t *is_known)
{
    struct chain_kept use = {.is_known = is_known, .load = load, .keep = keep, .owner = trial};
    int64_t begun_ns = weir_cpu_thread_ns();
    struct column *payload = preprocess_chain_begin(chain);
    for (size_t i = 0; i < PICTURES; i++) {
        if (is_known == NULL || is_known[i] == 0)
            weir_buf_append(&payload->values, trial->files[i].at, trial->files[i].size);
        preprocess_column_end_row(payload);
    }
    preprocess_chain_use_kept(chain, is_known != NULL ? &use : NULL);
    preprocess_chain_run(chain, &(struct operator_batch){.rows = PICTURES,
                                                         .ids = trial->ids,
                                                         .epoch = trial->epoch++,
                                                         .trains = true,
                                                         .drops = true});
    weir_require(!preprocess_chain_has_lost(chain));
    return (double)(weir_cpu_thread_ns() - begun_ns) / PICTURES;
}

/* The same, of the second time in turn: whoever comes after one that does the same work finds it in the caches. */
static double run(struct trial *trial, struct chain *chain, const uint8_t *is_known)
{
    (void)run_once(trial, chain, is_known);
    return run_once(trial, chain, is_known);
}

static void add_costs(const struct chain *chain, double sign, struct keeping *keeping)
{
    for (size_t i = 0; i < preprocess_chain_operators(chain); i++) {
        struct chain_cost cost = preprocess_chain_cost(chain, i);
        keeping->costs[i].ns += sign * (double)cost.spent_ns;
        keeping->costs[i].made += sign * (double)cost.bytes;
        keeping->costs[i].rows += sign * (double)cost.rows;
    }
}

/* Nothing is kept; the operators report what they have spent. */
static void run_whole(struct trial *trial)
{
    struct keeping keeping = {.is_measured = true};
    (void)run_once(trial, trial->whole, NULL);
    add_costs(trial->whole, -1, &keeping);
    double ns = run_once(trial, trial->whole, NULL);
    add_costs(trial->whole, 1, &keeping);
    if (improve(&trial->whole_ns, ns))
        trial->keeping = keeping;
}

static bool is_nobody(const void *owner, uint64_t id)
{
    (void)owner;
    (void)id;
    return false;
}

static char *segment_of(const struct alternative *at)
{
    return weir_format("%s/%016x" WEIR_CACHE_SUFFIX, at->store.folder, SEGMENT);
}

/* Writes what was made, often enough for a segment of some size, and finds it. */
static enum weir_status write_rows(struct trial *trial, struct alternative *at,
                                   struct weir_error *err)
{
    const struct kept_erased nobody = {.is_erased = is_nobody};
    struct weir_cache_row rows[WRITTEN];
    WEIR_AUTO_FREE char *path = segment_of(at);
    for (size_t i = 0; i < WRITTEN; i++)
        rows[i] = (struct weir_cache_row){
            .id = i, .key = KEY, .bytes = weir_buf_view(&trial->made[i % PICTURES])};
    int64_t begun_ns = weir_cpu_thread_ns();
    enum weir_status status =
        weir_cache_segment_write(path, 0, rows, WRITTEN, WEIR_COMPRESSION_NONE, err);
    improve(&at->write_ns, (double)(weir_cpu_thread_ns() - begun_ns) / WRITTEN);
    preprocess_kept_store_scan(&at->store, &nobody);
    preprocess_kept_store_find(&at->store, KEY, trial->ids, PICTURES, at->places);
    return status;
}

/* Makes, keeps, writes, and goes on from what was kept. */
static enum weir_status run_kept(struct trial *trial, struct alternative *at,
                                 struct weir_error *err)
{
    static const uint8_t NONE[PICTURES] = {0};
    uint8_t all[PICTURES];
    WEIR_AUTO_FREE char *path = segment_of(at);
    memset(all, 1, sizeof(all));
    trial->running = at;
    improve(&at->first_ns, run(trial, at->chain, NONE));
    enum weir_status status = write_rows(trial, at, err);
    if (status == WEIR_OK)
        improve(&at->read_ns, run(trial, at->chain, all));
    (void)unlink(path);
    preprocess_kept_store_forget(&at->store);
    return status;
}

static enum weir_status run_all(struct trial *trial, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    run_whole(trial);
    for (size_t cut = 0; cut <= CHAIN_OPERATORS_MAX && status == WEIR_OK; cut++) {
        if (trial->at[cut].chain != NULL)
            status = run_kept(trial, &trial->at[cut], err);
    }
    return status;
}

/* ---- choosing ---- */

static double truth(const struct trial *trial, size_t cut, double uses)
{
    const struct alternative *at = &trial->at[cut];
    return cut == 0 ? uses * trial->whole_ns
                    : at->first_ns + at->write_ns + (uses - 1) * at->read_ns;
}

static void judge(const struct trial *trial, const struct keeping_disk *disk, double uses,
                  struct choice_regret *regret)
{
    struct keeping keeping = trial->keeping;
    const struct keeping_needs needs = {.rows = PICTURES, .uses = uses};
    double best = truth(trial, 0, uses);
    (void)preprocess_keeping_decide(&keeping, trial->whole, disk, &needs);
    for (size_t cut = 1; cut <= CHAIN_OPERATORS_MAX; cut++) {
        if (trial->at[cut].chain != NULL && truth(trial, cut, uses) < best)
            best = truth(trial, cut, uses);
    }
    double ratio = truth(trial, keeping.choice.cut, uses) / best;
    regret->sum += ratio;
    regret->max = ratio > regret->max ? ratio : regret->max;
    regret->points++;
    regret->right += ratio <= NEAR;
}

/* ---- the sweep ---- */

static void draw(struct trial *trial, size_t size)
{
    for (size_t i = 0; i < PICTURES; i++) {
        struct jpeg_picture picture = {.height = SIZES[size].height,
                                       .width = SIZES[size].width,
                                       .seed = i,
                                       .quality = 85,
                                       .components = 3,
                                       .noise = 12};
        weir_buf_clear(&trial->files[i]);
        jpeg_picture_write(&picture, &trial->files[i]);
        trial->ids[i] = i;
    }
}

static enum weir_status open_trial(struct trial *trial, const char *directory, int target,
                                   struct weir_error *err)
{
    WEIR_AUTO_FREE char *operators =
        weir_format("[{op: decode_jpeg, scale: never}, {op: resize, size: [%d, %d]}, "
                    "{op: normalize}, {op: to_chw}]",
                    target, target);
    enum weir_status status =
        weir_yaml_parse("choice.yaml", weir_bytes_of(operators), &trial->document, err);
    if (status == WEIR_OK)
        status = preprocess_chain_new(weir_yaml_root(trial->document), NULL, &trial->whole, err);
    if (status != WEIR_OK)
        return status;
    for (size_t cut = 1; cut <= preprocess_chain_operators(trial->whole); cut++) {
        struct weir_error reason;
        struct alternative *at = &trial->at[cut];
        at->store.folder = weir_strdup(directory);
        if (preprocess_chain_cut_after(trial->whole, cut, &at->chain, &reason) != WEIR_OK)
            at->chain = NULL;
    }
    return WEIR_OK;
}

static void trial_fini(struct trial *trial)
{
    for (size_t cut = 0; cut <= CHAIN_OPERATORS_MAX; cut++) {
        preprocess_chain_free(trial->at[cut].chain);
        preprocess_kept_store_fini(&trial->at[cut].store);
    }
    preprocess_chain_free(trial->whole);
    weir_yaml_free(trial->document);
    for (size_t i = 0; i < PICTURES; i++) {
        weir_buf_fini(&trial->files[i]);
        weir_buf_fini(&trial->made[i]);
    }
}

static enum weir_status try_pipeline(const char *directory, size_t size, int target,
                                     const struct keeping_disk *disk, struct choice_regret *regret,
                                     struct weir_error *err)
{
    struct trial trial = {.epoch = 0};
    draw(&trial, size);
    enum weir_status status = open_trial(&trial, directory, target, err);
    int64_t begun_ns = weir_cpu_thread_ns();
    for (int round = 0;
         status == WEIR_OK && (round < ROUNDS || weir_cpu_thread_ns() - begun_ns < TRIAL_NS);
         round++)
        status = run_all(&trial, err);
    for (size_t i = 0; i < WEIR_COUNT(USES) && status == WEIR_OK; i++)
        judge(&trial, disk, USES[i], regret);
    trial_fini(&trial);
    return status;
}

enum weir_status choice_sweep(const char *directory, struct choice_regret *ret_regret,
                              struct weir_error *err)
{
    struct kept_speed speed;
    enum weir_status status = WEIR_OK;
    *ret_regret = (struct choice_regret){0};
    weir_memory_keep(); /* as workers do */
    if (!preprocess_kept_measure(directory, &speed))
        return weir_fail(err, WEIR_IO, "%s: its speed cannot be measured", directory);
    const struct keeping_disk disk = {.write_ns = speed.write_ns,
                                      .warm_ns = speed.warm_ns,
                                      .cold_ns = speed.cold_ns,
                                      .memory = 1e12, /* rows were written just now */
                                      .budget = 1e12};
    for (size_t size = 0; size < WEIR_COUNT(SIZES) && status == WEIR_OK; size++)
        for (size_t i = 0; i < WEIR_COUNT(TARGETS) && status == WEIR_OK; i++)
            status = try_pipeline(directory, size, TARGETS[i], &disk, ret_regret, err);
    return status;
}
