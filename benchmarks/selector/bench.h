/* State shared by the figures of the selector benchmark: a platform, crowds to select from, and the table of
 * rows that selecting is compared with. */
#ifndef BENCHMARKS_SELECTOR_BENCH_H
#define BENCHMARKS_SELECTOR_BENCH_H

#include "benchmarks/harness.h"
#include "benchmarks/selector/crowd.h"
#include "benchmarks/table.h"

enum { CROWDS = 3, PIPELINES_MAX = 16 };

struct selector_bench {
    const char *directory;
    double scale;
    struct rig *rig; /* NULL until a figure needs it */
    struct crowd crowds[CROWDS];
    struct crowd_pipeline pipelines[PIPELINES_MAX];
    size_t pipeline_count;
    struct table *table;
    char digest[33]; /* of the set that is served */
};

/* figures_pool.c */
enum weir_status prepare_rows(void *state, struct weir_error *err);
enum weir_status prepare_ten(void *state, struct weir_error *err);
enum weir_status prepare_hundred(void *state, struct weir_error *err);
enum weir_status prepare_serving(void *state, struct weir_error *err);
bench_side_fn draw_ten, sort_rows, sample_rows, balance_ten, sort_rows_in_memory, balance_rows,
    draw_hundred, draw_one, pool_memory, allowed_pool, seal_all, serve_all, twenty_million;

/* figures_scoring.c */
bench_side_fn cover_lazily, cover_in_numpy, center_memory, cover_memory, one_gigabyte;

#endif
