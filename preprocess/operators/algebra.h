/* Laws by which operators of a chain change places (C18): they follow from what operators declare, and
 * from nothing else. After an exact swap of two neighbours every batch, hole, failure and fit is what it was, to the
 * bit; after a near one numbers differ by rounding and by how pictures are sampled. Pure. */
#ifndef WEIR_PREPROCESS_OPERATORS_ALGEBRA_H
#define WEIR_PREPROCESS_OPERATORS_ALGEBRA_H

#include <stdbool.h>
#include <stdint.h>

enum algebra_kinds {
    ALGEBRA_FITTED = 1 << 0, /* has fitted state, which lies in the order of the operators */
    ALGEBRA_FOLDS = 1 << 1,  /* is fitted on the rows that reach it */
    /* nothing passes it: it works across rows, or nobody knows what it does */
    ALGEBRA_BARRIER = 1 << 2,
    /* the one directly before it does a part of its work: exact orders leave it there */
    ALGEBRA_BOUND = 1 << 3,
};

/* Facts about an operator of a chain. */
struct algebra_facts {
    unsigned kinds;  /* enum algebra_kinds */
    unsigned traits; /* enum operator_trait */
    uint64_t reads;  /* the columns that it reads, a bit for each slot */
    uint64_t makes;  /* those that it puts in place of others, or adds */
    uint64_t ends;   /* those that it takes away */
    bool is_simple; /* it reads one column, and either leaves it or puts another one in its place */
};

enum algebra_law { ALGEBRA_NEVER, ALGEBRA_NEARLY, ALGEBRA_EXACTLY };

/* Returns how far two neighbours commute, in either order. */
enum algebra_law preprocess_algebra_commute(const struct algebra_facts *one,
                                            const struct algebra_facts *other);

#endif
