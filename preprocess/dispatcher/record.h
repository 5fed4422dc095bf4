/* The part of a job that survives a crash of the dispatcher: the attempt, the consumers that have a
 * place in it, and the progress of each rank. */
#ifndef WEIR_PREPROCESS_DISPATCHER_RECORD_H
#define WEIR_PREPROCESS_DISPATCHER_RECORD_H

#include "core/wire/delivery.h"
#include "core/wire/position.h"

/* The place of one rank. */
struct dispatcher_seat {
    uint64_t session;               /* of its consumer; 0: nobody has come to this attempt yet */
    struct weir_position begun;     /* where its consumer begins in this attempt */
    struct weir_position committed; /* its part of the newest state that all ranks have committed */
    struct weir_position pending;   /* the newest state it has committed; others may lack theirs */
    /* The rank's newest report. The tally serves `replayed` and may be a little old. The batches are, unless
     * exactly_once, everything that may have been handed to the loop. */
    struct weir_position reported;
    bool final; /* its pending state is the last */
};

struct dispatcher_record {
    uint64_t attempt;     /* 0: no consumer yet */
    uint64_t seats_taken; /* ever */
    uint64_t replayed;
    uint64_t duplicated; /* at_least_once */
    bool final;          /* every rank has made its final commit */
    struct dispatcher_seat seats[WEIR_RANKS_MAX];
};

void preprocess_record_copy(struct dispatcher_record *to, const struct dispatcher_record *from);
void preprocess_record_fini(struct dispatcher_record *record);

#endif
