/* A loop that holds a batch back: see held.h. */
#include "trainer_client/held.h"

enum held_verdict trainer_held_look(struct held_watch *watch, bool is_waited_for, int64_t now_ms)
{
    if (!is_waited_for) {
        *watch = (struct held_watch){0};
        return HELD_FINE;
    }
    if (watch->since_ms == 0)
        watch->since_ms = now_ms;
    if (now_ms - watch->since_ms >= HELD_END_MS)
        return HELD_END;
    if (watch->is_warned || now_ms - watch->since_ms < HELD_WARN_MS)
        return HELD_FINE;
    watch->is_warned = true;
    return HELD_WARN;
}
