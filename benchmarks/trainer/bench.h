/* State shared by the figures of the trainer benchmark: clicks, and pipelines that train a program on them. */
#ifndef BENCHMARKS_TRAINER_BENCH_H
#define BENCHMARKS_TRAINER_BENCH_H

#include "benchmarks/harness.h"
#include "benchmarks/peers/peer.h"
#include "benchmarks/slice/corpus.h"

enum {
    TRAINER_SAMPLES = 1000000,
    TRAINER_BATCH = 4096,
    TRAINER_WORKERS = 2,
};

enum trainer_style { STYLE_MAP, STYLE_VECTORISED, STYLE_MEMORY, TRAINER_STYLES };

/* A built-in model and the product that it is measured against. */
enum trainer_model {
    MODEL_TITLES,
    MODEL_TITLES_IN_ORDER, /* `order: deterministic` */
    MODEL_MAILS,
    MODEL_LINEAR,
    MODEL_LINEAR_AT_BEST, /* against the weights that are best */
    TRAINER_MODELS
};

struct trainer_bench {
    const char *directory;        /* borrowed */
    struct corpus clicks;         /* in DIRECTORY/clicks */
    char *theirs[TRAINER_STYLES]; /* commands, with the best worker count; NULL: not chosen yet */
    double scale;
    double loop_us;                                 /* of the C loop; 0: not measured yet */
    struct peer_training trainings[TRAINER_MODELS]; /* the products', quality 0: not measured yet */
};

/* run.c: a platform of its own replays the clicks and trains `command`; returns a metric that it said. */
enum weir_status trainer_run(const struct trainer_bench *bench, const char *command,
                             const char *metric, double *ret_value, struct weir_error *err);
/* A program beside this file, for the Python that finds the package `weir`. */
char *trainer_python(const char *script);

/* figures_python.c */
enum weir_status prepare_torch_map(void *state, struct weir_error *err);
enum weir_status prepare_torch_vectorised(void *state, struct weir_error *err);
enum weir_status prepare_torch_memory(void *state, struct weir_error *err);
enum weir_status prepare_loop(void *state, struct weir_error *err);
bench_side_fn dlrm_weir, dlrm_map, dlrm_vectorised, dlrm_memory, dlrm_wanted, stall, stall_allowed,
    handing_all, handing_all_allowed, handing_one, handing_one_allowed;

/* figures_warm.c */
bench_side_fn warm_built_in, warm_built_in_wanted, warm_python, warm_python_wanted, warm_gap,
    warm_gap_allowed;

/* figures_models.c: samples a second of CPU time, and quality, of ours and of theirs. */
#define TRAINER_MODEL(name)                                               \
    enum weir_status prepare_##name(void *state, struct weir_error *err); \
    bench_side_fn name##_ours, name##_theirs, name##_quality, name##_wanted
TRAINER_MODEL(titles);
TRAINER_MODEL(titles_in_order);
TRAINER_MODEL(mails);
TRAINER_MODEL(linear);
TRAINER_MODEL(linear_at_best);

#endif
