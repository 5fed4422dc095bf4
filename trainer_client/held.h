/* Patience with a loop that holds a batch back from an erasure. Pure: `now_ms` (monotonic) is a parameter. Such a loop
 * is warned about after HELD_WARN_MS and ended after HELD_END_MS: the run goes on from its checkpoint, without what was
 * erased. */
#ifndef WEIR_TRAINER_CLIENT_HELD_H
#define WEIR_TRAINER_CLIENT_HELD_H

#include <stdbool.h>
#include <stdint.h>

enum { HELD_WARN_MS = 5000, HELD_END_MS = 30000 };

/* Zero-initialised is new. */
struct held_watch {
    int64_t since_ms; /* when an erasure began to wait for the loop; 0: none does */
    bool is_warned;
};

enum held_verdict { HELD_FINE, HELD_WARN, HELD_END };

/* Returns what is due now; HELD_WARN once for each erasure that waits. */
enum held_verdict trainer_held_look(struct held_watch *watch, bool is_waited_for, int64_t now_ms);

#endif
