/* Reaching a worker, which is asked when nothing is heard of it. A worker that the dispatcher hears and this
 * consumer does not, as behind a firewall, would be leased groups that never arrive. Pure; one per worker. */
#ifndef WEIR_TRAINER_CLIENT_REACH_H
#define WEIR_TRAINER_CLIENT_REACH_H

#include <stdbool.h>
#include <stdint.h>

enum {
    REACH_ASK_MS = 1000,    /* of silence, after which a worker is asked whether it is there */
    REACH_LOST_MS = 3000,   /* of silence, after which it cannot be reached */
    REACH_ANSWER_MS = 1000, /* time-out of a question */
};

/* Zeroed is of a worker on this host's own sockets, which is reached. */
struct reach {
    bool is_far;      /* connected by TCP */
    bool is_asked;    /* a question is open */
    int64_t heard_ms; /* anything of it; at first, when it was connected */
};

bool trainer_reach_is_due(const struct reach *reach, int64_t now_ms);
bool trainer_reach_is_lost(const struct reach *reach, int64_t now_ms);

#endif
