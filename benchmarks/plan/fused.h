/* Chains whose neighbours are fused, beside the same ones in which each operator takes the whole batch before the next
 * one does: what it is worth that a piece of the batch stays in the cache. */
#ifndef BENCHMARKS_PLAN_FUSED_H
#define BENCHMARKS_PLAN_FUSED_H

#include "benchmarks/plan/rows.h"

enum fused_side { FUSED_LOOPS, FUSED_BATCHES, FUSED_SIDES };

/* Four element-wise operators on rows of 4096 numbers; text; pictures decoded, cropped and normalised. */
enum fused_case { FUSED_TABLE, FUSED_TEXT, FUSED_PICTURES, FUSED_CASES };

struct fused {
    struct fused_of {
        struct weir_yaml *document;
        struct chain *chain[FUSED_SIDES];
        struct rows rows;
    } of[FUSED_CASES];
};

enum weir_status fused_open(struct fused *fused, struct weir_error *err) WEIR_MUST_USE;
void fused_close(struct fused *fused);
/* Returns the rows that a second of CPU time brings through a chain. */
double fused_rate(struct fused_of *of, enum fused_side side);

#endif
