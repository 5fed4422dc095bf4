/* Progress of long work, which can be given up. */
#ifndef SELECTOR_SCORING_PROGRESS_H
#define SELECTOR_SCORING_PROGRESS_H

#include "core/base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct progress {
    /* `done` of `total` equal parts, about; called many times a second from the thread that chooses.
     * False: give up. NULL: never given up. */
    bool (*report)(void *owner, size_t done, size_t total);
    void *owner;
};

static inline bool scoring_goes_on(const struct progress *progress, size_t done, size_t total)
{
    return !progress->report || progress->report(progress->owner, done, total);
}

/* Fails for work that was given up. */
static inline enum weir_status scoring_given_up(struct weir_error *err)
{
    return weir_fail(err, WEIR_RESTART, "given up: nobody waits for the choice");
}

#endif
