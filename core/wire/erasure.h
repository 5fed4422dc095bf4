/* States of an erasure in storage: by number in columns of messages, by name in erase_is and in storage's table. An
 * erasure passes all of them, in this order. */
#ifndef WEIR_WIRE_ERASURE_H
#define WEIR_WIRE_ERASURE_H

/* Wire numbers: append only. */
#define WEIR_ERASURE_STATE_LIST(X)                                                       \
    X(ACCEPTED, 0, "accepted")     /* durable */                                         \
    X(TOMBSTONED, 1, "tombstoned") /* its samples are known, and served to nobody */     \
    X(IN_FORCE, 2, "in_force")     /* every process that held them has let go of them */ \
    X(SCRUBBED, 3, "scrubbed")     /* their bytes are overwritten */                     \
    X(VERIFIED, 4, "verified")     /* a search found none of them */

enum weir_erasure_state {
#define X(name, number, text) WEIR_ERASURE_##name = number,
    WEIR_ERASURE_STATE_LIST(X)
#undef X
        WEIR_ERASURE_STATES
};

#endif
