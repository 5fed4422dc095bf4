/* Lines of the log about refused holders, within bounds: one a minute for each key and cause, so that a key that is
 * refused often hides no other. Pure. */
#ifndef WEIR_STORAGE_REFUSED_HOLDERS_H
#define WEIR_STORAGE_REFUSED_HOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    REFUSED_LOG_MS = 60 * 1000,
    REFUSED_LOGGED_MAX = 16, /* lines in that time */
};

/* Zeroed is empty. */
struct refused_holders {
    int64_t end_ms; /* of the minute under way */
    uint64_t who[REFUSED_LOGGED_MAX];
    size_t count;
    uint64_t untold; /* refusals without a line since the newest line */
};

/* True, with the number of those that were not told since, when a line is to tell of a refusal; `who` is a hash of key
 * and cause. */
bool storage_refused_holder(struct refused_holders *refused, uint64_t who, int64_t now_ms,
                            uint64_t *ret_untold);

#endif
