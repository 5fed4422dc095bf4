/* Samples of the sealed sets of a pipeline's earlier triggers, as bitmaps by block. Read from the
 * files that are sealed, so nothing of it has to be stored: after a restart it is read again. Owned by
 * its pipeline.
 *
 * Epochs (of drawing without replacement): a set that holds a sample the running epoch had drawn
 * begins the next one, in which so far just those repeated samples are drawn. A set of a warm-up
 * trigger, which took everything, is no draw. */
#ifndef SELECTOR_PIPELINES_HISTORY_H
#define SELECTOR_PIPELINES_HISTORY_H

#include "core/db/db.h"
#include "selector/sets/set.h"

struct selector_history {
    uint64_t warmup; /* triggers whose sets are no draws; the owner's to set */
    uint64_t upto;   /* triggers that are in it */
    struct selector_set used;
    struct selector_set drawn;
};

/* Zero-initialised (but for `warmup`) is empty. */
void selector_history_fini(struct selector_history *history);
/* Takes in the set of a trigger, ids ascending; sets come in the order of their triggers. Those of the later rounds of
 * its training begin no epoch. */
void selector_history_add(struct selector_history *history, uint64_t trigger, const uint64_t *ids,
                          size_t count);
/* Makes it hold exactly the sets of the triggers before `trigger`. CORRUPT or IO when a set's file is
 * not as it was sealed. */
enum weir_status selector_history_reach(struct selector_history *history, struct weir_db *db,
                                        const char *data_dir, const char *pipeline,
                                        uint64_t trigger, struct weir_error *err) WEIR_MUST_USE;
/* Fills `past` with the selection_past flags of `ids`, which ascend and lie in one block. */
void selector_history_mark(const struct selector_history *history, const uint64_t *ids,
                           size_t count, uint8_t *past);

#endif
