/* Pauses of those who come back. A server that dies is missed by thousands of peers in the same moment: each draws its
 * pauses, so that they do not come back in that moment either, nor together at any later one. Pure: what is drawn is
 * handed in. For core/rpc alone. */
#ifndef WEIR_RPC_KNOCKING_H
#define WEIR_RPC_KNOCKING_H

#include <stdint.h>

enum {
    WEIR_RECONNECT_MIN_MS = 50,        /* before a connection is tried again … */
    WEIR_RECONNECT_FIRST_MAX_MS = 250, /* … for the first time */
    WEIR_RECONNECT_LAST_MIN_MS = 1000, /* … and at last */
    WEIR_RECONNECT_MAX_MS = 2000,
    WEIR_KNOCK_MS = 200,      /* before a key that was turned away is shown again, about … */
    WEIR_KNOCK_MAX_MS = 5000, /* … and at last */
};

/* Pauses as ZeroMQ is told them: it adds up to `first_ms` to each, and takes twice as long each time. */
struct weir_reconnects {
    int first_ms, last_ms;
};
struct weir_reconnects weir_reconnects_draw(uint64_t drawn);

/* Returns the pause before a key is shown again that was turned away `knocks` times in a row before this one. */
int64_t weir_knock_pause_ms(unsigned knocks, uint64_t drawn);

#endif
