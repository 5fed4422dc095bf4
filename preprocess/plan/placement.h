/* The place of the last operators of a job (C18): workers, or the client library in the trainers. As a rule
 * they make more bytes than they take; where batches travel by a socket each byte costs both ends CPU time. Pure. */
#ifndef WEIR_PREPROCESS_PLAN_PLACEMENT_H
#define WEIR_PREPROCESS_PLAN_PLACEMENT_H

#include "preprocess/plan/ordering.h"

#define PLACEMENT_MEASURE_BYTES 4e6  /* by sockets, before a choice */
#define PLACEMENT_GAIN          0.05 /* share of the operators' time that has to be saved */

/* Way of batches to trainers, as measured by workers. */
struct placement_transport {
    double ns;    /* CPU time to compress and send … */
    double bytes; /* … as many, as they were made; receiving costs as much */
    double lent;  /* bytes that were written to memory of trainers instead */
};

struct placement {
    uint32_t sunk; /* last operators, in the order that runs, that trainers take; 0: none */
    bool is_chosen;
    /* By what it was chosen, per row: */
    double saved_bytes; /* of the best choice, even if it does not pay */
    double saved_ns;    /* CPU time that those cost */
    double host_ns;     /* time that trainers spend on the operators instead */
};

/* Chooses the number of operators at the end of an order that are left to trainers: the bytes that this saves on the
 * way have to cost more than the operators do, which then take cycles of trainers. `costs`: by place as written.
 * Nothing is chosen (is_chosen false) before enough is measured. */
struct placement preprocess_placement_choose(const struct chain *chain, const uint8_t *order,
                                             const struct ordering_cost *costs,
                                             const struct placement_transport *transport);

#endif
