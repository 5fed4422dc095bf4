/* The order in which the operators of a job run (C18). Two that do not commute keep their relative order,
 * and two that work together stay together; all orders of which that is true are legal, and make the same batches. Of
 * them the cheapest is chosen by what the operators have cost so far: nanoseconds per byte, what a byte becomes, and
 * which share of rows stays (Hellerstein & Stonebraker, "Predicate Migration", SIGMOD 1993, rank filters in the same
 * way). Pure. */
#ifndef WEIR_PREPROCESS_PLAN_ORDERING_H
#define WEIR_PREPROCESS_PLAN_ORDERING_H

#include "preprocess/operators/chain.h"

/* Cost of an operator so far, in the order in which it ran. */
struct ordering_cost {
    double ns, taken, made; /* bytes */
    double rows, kept;
};

struct ordering {
    /* by place as written, like all below but `order` */
    struct algebra_facts facts[CHAIN_OPERATORS_MAX];
    bool after[CHAIN_OPERATORS_MAX][CHAIN_OPERATORS_MAX]; /* [i][j]: i runs after j */
    uint8_t order[CHAIN_OPERATORS_MAX];                   /* the present one */
    /* the operator that has to come directly behind it; -1: any */
    int8_t next[CHAIN_OPERATORS_MAX];
    int8_t last[CHAIN_OPERATORS_MAX]; /* … before it */
    size_t count;
};

/* Takes in the chain as it runs. Neighbours change places that commute at least by `law`. */
void preprocess_ordering_begin(struct ordering *ordering, const struct chain *chain,
                               enum algebra_law law);

typedef bool ordering_visit_fn(void *owner, const uint8_t *order);
/* Visits every legal order, the present one first, until `visit` returns false. */
void preprocess_ordering_visit(const struct ordering *ordering, ordering_visit_fn *visit,
                               void *owner);

/* Returns the nanoseconds that the rows seen so far would have cost in an order. */
double preprocess_ordering_estimate(const struct ordering *ordering,
                                    const struct ordering_cost *costs, const uint8_t *order);

/* A choice among legal orders. */
struct ordering_choice {
    uint8_t order[CHAIN_OPERATORS_MAX];
    double present_ns, best_ns;
    uint64_t tried; /* beginnings of orders */
    bool is_best;   /* all were looked at; else neighbours changed places as long as that helped */
};
void preprocess_ordering_choose(const struct ordering *ordering, const struct ordering_cost *costs,
                                struct ordering_choice *ret_choice);

/* The chain in the order, of all that are nearly legal, in which operators that make less of their column have moved as
 * far up as they may: known without a measurement, so that every process and every run that `order: approximate` is
 * asked of has the same one. NULL when it would be the same chain. */
enum weir_status preprocess_ordering_nearly(const struct chain *chain, struct chain **ret_chain,
                                            struct weir_error *err) WEIR_MUST_USE;

#endif
