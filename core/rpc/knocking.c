/* Drawing pauses. */
#include "core/rpc/knocking.h"

enum { HALVES_BITS = 32 };

/* Returns a number of [low, high). */
static int within(int low, int high, uint32_t drawn)
{
    return low + (int)(drawn % (uint32_t)(high - low));
}

struct weir_reconnects weir_reconnects_draw(uint64_t drawn)
{
    int first_ms = within(WEIR_RECONNECT_MIN_MS, WEIR_RECONNECT_FIRST_MAX_MS / 2, (uint32_t)drawn);
    return (struct weir_reconnects){
        .first_ms = first_ms,
        .last_ms = within(WEIR_RECONNECT_LAST_MIN_MS, WEIR_RECONNECT_MAX_MS - first_ms,
                          (uint32_t)(drawn >> HALVES_BITS)),
    };
}

int64_t weir_knock_pause_ms(unsigned knocks, uint64_t drawn)
{
    int pause_ms = WEIR_KNOCK_MS;
    for (unsigned i = 0; i < knocks && pause_ms < WEIR_KNOCK_MAX_MS; i++)
        pause_ms *= 2;
    if (pause_ms > WEIR_KNOCK_MAX_MS)
        pause_ms = WEIR_KNOCK_MAX_MS;
    return within(pause_ms - pause_ms / 4, pause_ms + pause_ms / 4, (uint32_t)drawn);
}
