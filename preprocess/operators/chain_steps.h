/* The inside of a chain, for chain.c, which plans it, chain_run.c, which runs it, and
 * chain_fit.c, which fits it. */
#ifndef WEIR_PREPROCESS_OPERATORS_CHAIN_STEPS_H
#define WEIR_PREPROCESS_OPERATORS_CHAIN_STEPS_H

#include "preprocess/operators/chain.h"

/* One operator at its place. */
struct chain_step {
    const struct preprocess_operator *op;
    void *options;
    void *state;
    struct operator_plan plan;
    struct column own[OPERATOR_OUTPUTS_MAX];
    int places[OPERATOR_OUTPUTS_MAX]; /* of its outputs among the columns */
    size_t columns;                   /* there are once it has run */
    bool behind_fit;                  /* it reads output of a fitted operator, or of one after it */
    bool joined;                      /* a step before does its work */
    int64_t spent_ns;
    uint64_t taken; /* bytes */
    uint64_t bytes;
    uint64_t failed;
    uint64_t filtered;
    uint64_t warnings;
    char reason[OPERATOR_REASON_MAX];
    struct weir_buf inherited; /* given state as it was for the model that training starts from */
};

struct chain {
    struct chain_step step[CHAIN_OPERATORS_MAX];
    size_t steps;
    size_t end;                          /* of those that run: all, if it was not cut off */
    size_t fitted;                       /* steps that want a fit … */
    size_t folding;                      /* … and those of them that want samples for it */
    const struct chain_step *classifies; /* NULL: none does */
    struct column payload;
    struct column *column[COLUMNS_MAX]; /* of the batch, as far as it has come */
    struct weir_arena *arena;           /* names of elements */
    size_t columns;                     /* that leave the chain … */
    size_t leaving[COLUMNS_MAX];        /* … and where they are in `column` */
    bool copies_payload;                /* it cannot be left where it lies */
    uint64_t row_bytes;                 /* of those of them that are dense */
    struct operator_failures failures;  /* of the newest batch */
    struct weir_buf rows;               /* what has become of each */
    bool waits;                         /* an operator needs the batch once more */
};

/* Maximum bytes of one operator's partial fit: an equal part for each. */
static inline size_t chain_partial_bytes_max(const struct chain *chain)
{
    return CHAIN_PARTIAL_BYTES_MAX / (chain->folding > 0 ? chain->folding : 1);
}

/* True when what the operator is made with is given by a file, not fitted on samples. */
static inline bool chain_is_given(const struct chain_step *step)
{
    return step->op->fit != NULL && !operator_folds(step->op);
}

/* True when `next` reads what `step` makes, and both take one row after the other. */
static inline bool chain_is_run(const struct chain_step *step, const struct chain_step *next)
{
    return step->op->by_row && next->op->by_row && step->plan.outputs == 1 &&
           next->plan.in == step->places[0];
}

#endif
