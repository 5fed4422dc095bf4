/* The choice of an order while jobs run (C18): first the operators are measured as they run, then the
 * cheapest legal order is tried if it promises enough, and it stays if it was cheaper in truth. A settled order is
 * looked at again from time to time, by what operators have cost lately: data drift. Pure: time is handed in. */
#ifndef WEIR_PREPROCESS_PLAN_PLANNING_H
#define WEIR_PREPROCESS_PLAN_PLANNING_H

#include "preprocess/plan/placement.h"

enum {
    PLANNING_MEASURE_NS = 200000000, /* of operators' time, before each decision */
    PLANNING_SETTLE_MS = 1000,       /* after a change: until all workers have taken it up */
};
#define PLANNING_GAIN 0.05 /* share of the cost that a change has to save */
/* Operators' time after which a settled order is looked at again: twice as long each time that nothing came of it. */
#define PLANNING_REVIEW_NS     2e10
#define PLANNING_REVIEW_NS_MAX 1.28e12

enum planning_state {
    PLANNING_MEASURING,
    PLANNING_TRYING,   /* the best order runs, and is measured */
    PLANNING_CHANGED,  /* it stays */
    PLANNING_WRITTEN,  /* nothing promised enough */
    PLANNING_REVERTED, /* it was tried, and no cheaper: the written one runs again */
    PLANNING_FIXED,    /* nobody is to choose */
};

/* Zeroed and begun: nothing is measured yet. */
struct planning {
    enum planning_state state;
    uint32_t changes;                      /* of the order so far: workers compare it */
    uint8_t order[CHAIN_OPERATORS_MAX];    /* the order that runs */
    uint8_t previous[CHAIN_OPERATORS_MAX]; /* the order before: if TRYING fails it runs again */
    struct ordering_choice choice;         /* all but MEASURING and FIXED */
    /* By place as written: since the order changed, those of long ago counting less … */
    struct ordering_cost costs[CHAIN_OPERATORS_MAX];
    /* … and those that the choice was made from. */
    struct ordering_cost before[CHAIN_OPERATORS_MAX];
    struct placement placement;           /* of the last operators in this order … */
    struct placement_transport transport; /* … chosen by this */
    double review_ns; /* of operators' time in `costs`, when it is looked at again */
    int64_t changed_ms;
};

/* `chain` runs in the order that it has; `is_fixed`: for good. */
void preprocess_planning_begin(struct planning *planning, const struct chain *chain, bool is_fixed);
/* Takes in what operators have cost since the last time. Returns true when the order has changed. */
bool preprocess_planning_add(struct planning *planning, const struct chain *chain,
                             const struct ordering_cost *costs, int64_t now_ms);
/* Takes in what the way to trainers has cost since the last time, after the operators. Returns true when the place of
 * the last operators has changed: once for each order. From then on they count as if they cost what they did. */
bool preprocess_planning_place(struct planning *planning, const struct chain *chain,
                               const struct placement_transport *transport, int64_t now_ms);
/* Returns the nanoseconds of operators per row. */
double preprocess_planning_row_ns(const struct ordering_cost *costs, const struct chain *chain);
/* "measuring", "changed", … */
const char *preprocess_planning_state_name(enum planning_state state);

#endif
