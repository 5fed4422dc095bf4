/* How far long work has come, and whether it is still wanted. */
#ifndef SELECTOR_SCORING_PROGRESS_H
#define SELECTOR_SCORING_PROGRESS_H

#include "core/base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct progress {
    /* `done` of `total` equal parts, about; called many times a second from the thread that chooses.
     * False: give up. NULL: nobody asks. */
    bool (*report)(void *owner, size_t done, size_t total);
    void *owner;
};

static inline bool scoring_goes_on(const struct progress *progress, size_t done, size_t total)
{
    return !progress->report || progress->report(progress->owner, done, total);
}

/* What whoever gives up fails with. */
static inline enum weir_status scoring_given_up(struct weir_error *err)
{
    return weir_fail(err, WEIR_RESTART, "given up: nobody wants the choice any more");
}

#endif
