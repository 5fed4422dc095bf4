/* What the figures of the preprocessing benchmark share: a platform with two workers, and the data sets
 * that figures make when they are first asked for. */
#ifndef BENCHMARKS_PREPROCESS_BENCH_H
#define BENCHMARKS_PREPROCESS_BENCH_H

#include "benchmarks/harness.h"
#include "benchmarks/preprocess/plain.h"
#include "benchmarks/slice/workload.h"

enum { BENCH_WORKERS = 2, BENCH_PICTURES = 2000 };

struct preprocess_bench {
    const char *directory;
    double scale;
    struct rig *rig;
    uint64_t jobs;          /* opened so far */
    struct corpus pictures; /* one file each */
    struct workload picture_batches;
    struct plain *plain;
    char *torch; /* the command that PyTorch's side is, with its best worker count */
};

/* figures_pictures.c */
enum weir_status prepare_pictures(void *state, struct weir_error *err);
enum weir_status prepare_torch(void *state, struct weir_error *err);
bench_side_fn pictures_by_worker_cpu, pictures_by_time, pictures_whole, pictures_region,
    pictures_torch;
void pictures_fini(struct preprocess_bench *bench);

#endif
