/* See choice.h. */
#include "benchmarks/reuse/choice.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "preprocess/plan/keeping.h"
#include "preprocess/worker/kept_probe.h"
#include "preprocess/worker/kept_store.h"
#include "tests/support/jpeg_picture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    PICTURES = 16,
    PAD_MAX = 64 << 10,    /* bytes */
    TIMES_MIN = 8,         /* copies of their rows in a segment, at least */
    ROUNDS = 8,            /* at least, … */
    TRIAL_NS = 1000000000, /* … and for so long: small pictures are done within a moment */
    KEY = 77,              /* of nobody else in the folder, … */
    SEGMENT = 7,           /* … as is this */
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
    size_t times; /* copies of the rows of all pictures in its segment */
    double first_ns, write_ns, read_ns;
};

/* One pipeline on its pictures. */
struct trial {
    struct weir_yaml *document;
    struct chain *whole;
    void *pad;
    struct weir_buf files[PICTURES], made[PICTURES];
    uint64_t ids[PICTURES];
    uint32_t epoch;
    struct weir_rng rng;
    double whole_ns;        /* per row, nothing kept … */
    struct keeping keeping; /* … and what operators took of it, of all rounds */
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
    (void)run_once(trial, trial->whole, NULL);
    add_costs(trial->whole, -1, &trial->keeping);
    improve(&trial->whole_ns, run_once(trial, trial->whole, NULL));
    add_costs(trial->whole, 1, &trial->keeping);
}

/* Returns the costs as a worker reports them that nothing disturbs: the best of all rounds, parted as in all of them.
 */
static struct keeping undisturbed(const struct trial *trial)
{
    struct keeping keeping = trial->keeping;
    double ns = 0;
    for (size_t i = 0; i < CHAIN_OPERATORS_MAX; i++)
        ns += keeping.costs[i].ns;
    for (size_t i = 0; i < CHAIN_OPERATORS_MAX; i++)
        keeping.costs[i].ns *= trial->whole_ns * preprocess_keeping_rows(&keeping) / ns;
    keeping.is_measured = true;
    return keeping;
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

/* Returns how often rows are written for a segment that is larger than the caches of a processor. */
static size_t times_of(const struct trial *trial)
{
    size_t bytes = 0;
    for (size_t i = 0; i < PICTURES; i++)
        bytes += trial->made[i].size;
    return KEPT_PROBE_BYTES / bytes + TIMES_MIN;
}

/* Writes what was made, and maps it. */
static enum weir_status write_rows(struct trial *trial, struct alternative *at,
                                   struct weir_error *err)
{
    const struct kept_erased nobody = {.is_erased = is_nobody};
    WEIR_AUTO_FREE char *path = segment_of(at);
    at->times = times_of(trial);
    size_t count = at->times * PICTURES;
    WEIR_AUTO_FREE struct weir_cache_row *rows = weir_calloc(count, sizeof(*rows));
    for (size_t i = 0; i < count; i++)
        rows[i] = (struct weir_cache_row){
            .id = i, .key = KEY, .bytes = weir_buf_view(&trial->made[i % PICTURES])};
    int64_t begun_ns = weir_cpu_thread_ns();
    enum weir_status status =
        weir_cache_segment_write(path, 0, rows, count, WEIR_COMPRESSION_NONE, err);
    improve(&at->write_ns, (double)(weir_cpu_thread_ns() - begun_ns) / (double)count);
    preprocess_kept_store_scan(&at->store, &nobody);
    return status;
}

/* Finds a row of each picture, at random: nobody has just read it, and so it is in no cache. */
static void find_rows(struct trial *trial, struct alternative *at)
{
    uint64_t ids[PICTURES];
    for (size_t i = 0; i < PICTURES; i++)
        ids[i] = weir_rng_below(&trial->rng, at->times) * PICTURES + i;
    preprocess_kept_store_find(&at->store, KEY, ids, PICTURES, at->places);
}

/* Has every page mapped and read: until then each costs the host of a virtual machine a fault. */
static void touch(const struct mapping *mapping)
{
    volatile uint8_t sum = 0;
    (void)madvise((void *)(uintptr_t)mapping->at, mapping->size, MADV_POPULATE_READ);
    for (size_t at = 0; at < mapping->size; at += (size_t)sysconf(_SC_PAGESIZE))
        sum ^= mapping->at[at];
    (void)sum;
}

/* As in a later epoch: all pages were read, and the code has run before. */
static double run_from_rows(struct trial *trial, struct alternative *at)
{
    uint8_t all[PICTURES];
    memset(all, 1, sizeof(all));
    for (size_t i = 0; i < at->store.count; i++)
        touch(&at->store.segments[i].mapping);
    find_rows(trial, at);
    (void)run_once(trial, at->chain, all);
    find_rows(trial, at);
    return run_once(trial, at->chain, all);
}

/* Makes, keeps, writes, and goes on from what was kept. */
static enum weir_status run_kept(struct trial *trial, struct alternative *at,
                                 struct weir_error *err)
{
    static const uint8_t NONE[PICTURES] = {0};
    WEIR_AUTO_FREE char *path = segment_of(at);
    trial->running = at;
    improve(&at->first_ns, run(trial, at->chain, NONE));
    enum weir_status status = write_rows(trial, at, err);
    if (status == WEIR_OK)
        improve(&at->read_ns, run_from_rows(trial, at));
    (void)unlink(path);
    preprocess_kept_store_forget(&at->store);
    return status;
}

/* Plans all alternatives anew, in other places of memory: the same decoder can be a third slower in some of them. */
static enum weir_status plan_all(struct trial *trial, struct weir_error *err)
{
    struct weir_error illegal;
    free(trial->pad);
    trial->pad = weir_calloc(1 + weir_rng_below(&trial->rng, PAD_MAX), 1);
    preprocess_chain_free(trial->whole);
    trial->whole = NULL;
    enum weir_status status =
        preprocess_chain_new(weir_yaml_root(trial->document), NULL, &trial->whole, err);
    for (size_t cut = 1; status == WEIR_OK && cut <= preprocess_chain_operators(trial->whole);
         cut++) {
        struct alternative *at = &trial->at[cut];
        preprocess_chain_free(at->chain);
        at->chain = NULL;
        if (preprocess_chain_cut_after(trial->whole, cut, &at->chain, &illegal) != WEIR_OK)
            at->chain = NULL;
    }
    return status;
}

/* Runs all alternatives, in an order of its own each time: a processor is faster or slower after some of them. */
static enum weir_status run_all(struct trial *trial, struct weir_error *err)
{
    enum { CUTS = CHAIN_OPERATORS_MAX + 1 };
    size_t order[CUTS];
    enum weir_status status = plan_all(trial, err);
    for (size_t i = 0; i < CUTS; i++) {
        size_t at = weir_rng_below(&trial->rng, i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    for (size_t i = 0; i < CUTS && status == WEIR_OK; i++) {
        struct alternative *at = &trial->at[order[i]];
        if (order[i] == 0)
            run_whole(trial);
        else if (at->chain != NULL)
            status = run_kept(trial, at, err);
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
    struct keeping keeping = undisturbed(trial);
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
    for (size_t cut = 1; cut <= CHAIN_OPERATORS_MAX; cut++)
        trial->at[cut].store.folder = weir_strdup(directory);
    return status;
}

static void trial_fini(struct trial *trial)
{
    for (size_t cut = 0; cut <= CHAIN_OPERATORS_MAX; cut++) {
        preprocess_chain_free(trial->at[cut].chain);
        preprocess_kept_store_fini(&trial->at[cut].store);
    }
    preprocess_chain_free(trial->whole);
    free(trial->pad);
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
    weir_rng_init(&trial.rng, size);
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
