/* The stage that a trainer waits for, from the share of time that it waits and the time that workers spend. Pure. */
#ifndef WEIR_PREPROCESS_DISPATCHER_STAGES_H
#define WEIR_PREPROCESS_DISPATCHER_STAGES_H

#include <stdbool.h>
#include <stdint.h>

enum {
    STAGES_LOOK_MS = 1000,      /* minimum time between two looks */
    STAGES_STALL_PERMILLE = 50, /* below this the trainer waits for nobody */
    /* after the newest look the stage is no longer known: there is no trainer */
    STAGES_FORGET_MS = 10000,
};

/* Cumulative, of all ranks and all workers of a job. */
struct stages_spent {
    int64_t wait_ns;     /* of the ranks, on average */
    int64_t read_ns;     /* of workers, getting bytes */
    int64_t operator_ns; /* … in operators */
    int64_t queued_ns;   /* of finished batches, until they were sent */
};

/* Zeroed: nothing is known yet. */
struct stages {
    int64_t since_ms;
    struct stages_spent before;
    uint32_t stall_permille; /* of the time between the two newest looks */
    const char *stage;       /* cause of the wait; NULL: not known yet */
};

/* Takes in the newest numbers. A returned trainer or a restarted dispatcher counts from 0 again, which may make
 * them smaller: then the next look begins there. */
void preprocess_stages_look(struct stages *stages, const struct stages_spent *spent,
                            int64_t now_ms);
/* "locate", "read", "operators", "transfer" or "trainer"; "" before anything is known. */
const char *preprocess_stages_name(const struct stages *stages);
bool preprocess_stages_are_known(const struct stages *stages, int64_t now_ms);

#endif
