/* Rows of a few kinds, the same in every run, and how fast a chain of operators takes them. */
#ifndef BENCHMARKS_PLAN_ROWS_H
#define BENCHMARKS_PLAN_ROWS_H

#include "preprocess/operators/chain.h"

enum { ROWS_COUNT = 256 };

/* Zeroed is empty. */
struct rows {
    struct weir_buf bytes[ROWS_COUNT];
};

/* Words of 1.5 kB in capitals; records of `count` numbers, f32 from 0 to 1; JPEG files of 500 x 375, of which 16
 * differ. */
void rows_draw_text(struct rows *rows);
void rows_draw_numbers(struct rows *rows, size_t count);
void rows_draw_pictures(struct rows *rows);
void rows_fini(struct rows *rows);

/* Returns how many rows a second of CPU time brings through the chain, measured for so long: large ones in batches of
 * 32. */
double rows_rate(const struct rows *rows, struct chain *chain, int64_t at_least_ns);

#endif
