/* Counting refused holders in bounded memory. */
#include "storage/erasure/refused_holders.h"

static bool is_told(const struct refused_holders *refused, uint64_t who)
{
    for (size_t i = 0; i < refused->count; i++)
        if (refused->who[i] == who)
            return true;
    return refused->count == REFUSED_LOGGED_MAX;
}

bool storage_refused_holder(struct refused_holders *refused, uint64_t who, int64_t now_ms,
                            uint64_t *ret_untold)
{
    if (now_ms >= refused->end_ms) {
        refused->end_ms = now_ms + REFUSED_LOG_MS;
        refused->count = 0;
    }
    if (is_told(refused, who)) {
        refused->untold++;
        return false;
    }
    refused->who[refused->count++] = who;
    *ret_untold = refused->untold;
    refused->untold = 0;
    return true;
}
