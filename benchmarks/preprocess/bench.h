/* State shared by the figures of the preprocessing benchmark: a platform with two workers, and the data sets
 * that figures make when they are first asked for. */
#ifndef BENCHMARKS_PREPROCESS_BENCH_H
#define BENCHMARKS_PREPROCESS_BENCH_H

#include "benchmarks/harness.h"
#include "benchmarks/preprocess/plain.h"
#include "benchmarks/slice/workload.h"

enum {
    BENCH_RANK_SAMPLES = 32, /* of a step, for each rank */
    BENCH_WORKERS = 2,
    BENCH_PICTURES = 2000,
    BENCH_PICTURE_EPOCHS = 4, /* in one job: so that its start is little of it */
};

/* figures_tabular.c: the workloads, and the scripts that they are compared with. */
enum tabular_workload {
    CLICKS_EXACT,
    CLICKS_AT_MOST_ONCE,
    CLICKS_RELAXED,
    NGRAM_LINES,
    UNEVEN_DRAWN, /* lines of very different lengths, as the order has them … */
    UNEVEN_ALIKE, /* … and in batches of like length */
    FOUR_RANKS,   /* the same in batches for so many ranks … */
    EIGHT_RANKS,
    EACH_ALONE,   /* … and for one of them */
    SLOW_UNEVEN,  /* samples some of which take much longer … */
    SLOW_ORDERED, /* … in deterministic order */
    SLOW_EVEN,    /* … and as many that share the same time equally */
    TABULAR_WORKLOADS,
};
enum tabular_corpus { CORPUS_CLICKS, CORPUS_LINES, CORPUS_UNEVEN, CORPUS_FEW, TABULAR_CORPORA };
enum tabular_script {
    SCRIPT_MAP,
    SCRIPT_VECTORISED,
    SCRIPT_MAPPED,
    SCRIPT_NUMPY,
    SCRIPT_LINES,
    TABULAR_SCRIPTS
};

struct limit; /* figures_limit.c */

struct preprocess_bench {
    const char *directory;
    double scale;
    struct rig *rig;
    uint64_t jobs;          /* opened so far */
    struct corpus pictures; /* one file each */
    struct workload picture_batches;
    struct plain *plain;
    char *torch; /* the command that PyTorch's side is, with its best worker count */
    struct corpus corpora[TABULAR_CORPORA];
    struct workload tabular[TABULAR_WORKLOADS];
    /* the commands of other products, with their best worker count */
    char *scripts[TABULAR_SCRIPTS];
    struct limit *limit;
};

/* figures_pictures.c */
enum weir_status prepare_pictures(void *state, struct weir_error *err);
enum weir_status prepare_torch(void *state, struct weir_error *err);
bench_side_fn pictures_by_worker_cpu, pictures_by_time, pictures_whole, pictures_region,
    pictures_torch;
void pictures_fini(struct preprocess_bench *bench);

/* figures_tabular.c */
enum weir_status prepare_clicks(void *state, struct weir_error *err);
enum weir_status prepare_at_most_once(void *state, struct weir_error *err);
enum weir_status prepare_relaxed(void *state, struct weir_error *err);
enum weir_status prepare_clicks_map(void *state, struct weir_error *err);
enum weir_status prepare_clicks_vectorised(void *state, struct weir_error *err);
enum weir_status prepare_clicks_mapped(void *state, struct weir_error *err);
enum weir_status prepare_clicks_numpy(void *state, struct weir_error *err);
enum weir_status prepare_lines_torch(void *state, struct weir_error *err);
enum weir_status prepare_uneven(void *state, struct weir_error *err);
enum weir_status prepare_slow(void *state, struct weir_error *err);
/* Makes the workload once, and what it needs. */
enum weir_status tabular_need(struct preprocess_bench *bench, enum tabular_workload which,
                              struct weir_error *err);
/* Lets workers that are started from now on run the program in which samples of prepare_slow() take their time. */
void slow_samples_allow(void);
bench_side_fn clicks_by_cpu, clicks_a_cpu_second, clicks_exact, clicks_at_most_once, clicks_relaxed,
    clicks_here, clicks_map, clicks_vectorised, clicks_mapped, clicks_numpy, lines_there,
    lines_torch, uneven_drawn, uneven_alike, filled_drawn, filled_alike, slow_uneven, slow_ordered,
    slow_even;
/* figures_limit.c */
enum weir_status prepare_gather(void *state, struct weir_error *err);
enum weir_status prepare_limit(void *state, struct weir_error *err);
bench_side_fn clicks_limit, clicks_gather_by_cpu;
void limit_fini(struct preprocess_bench *bench);

/* figures_ranks.c */
enum weir_status prepare_ranks(void *state, struct weir_error *err);
bench_side_fn four_ranks, four_alone, eight_ranks, eight_alone;

/* figures_leases.c */
bench_side_fn leases_one, leases_hundred, leases_many, leases_wanted, beats_many, beats_allowed,
    restarts, restarts_wanted;

/* figures_visitation.c */
bench_side_fn visits_exactly_once, visits_off, visits_static, visits_dynamic;

/* figures_transport.c */
bench_side_fn transport_small_lent, transport_small_frames, transport_lent, transport_frames,
    transport_large_lent, transport_large_frames, transport_tcp;

void tabular_fini(struct preprocess_bench *bench);

#endif
