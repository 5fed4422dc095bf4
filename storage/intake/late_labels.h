/* Labels that arrive later than their samples: a dataset `updates:` another, and each of its rows is the label
 * of the samples that have the same key there. Inside the transaction of a batch.
 *
 * Labels never change in place. A sample without its label is given an id and counts as replaced at once: nobody
 * trains on it. When the label is there, the same bytes get a new id with it; a label that comes again replaces
 * that one in turn. So a replay as of a position sees the labels as of that position, a sealed set keeps the
 * labels that were trained on, and whoever reads the feed need not know. */
#ifndef WEIR_STORAGE_LATE_LABELS_H
#define WEIR_STORAGE_LATE_LABELS_H

#include "storage/intake/batch_stage.h"
#include "storage/keys/id_list.h"

/* Before rows of a dataset whose labels come from another are inserted: fills in the labels that are known
 * already, and adds the rows that wait (block << 16 | row, counted from `first_row`) to `waiting`, ascending. */
enum weir_status storage_late_labels_fill(struct batch *batch, struct weir_db *db,
                                          struct chunk_cache *cache, uint64_t first_row,
                                          struct id_list *waiting,
                                          struct weir_error *err) WEIR_MUST_USE;

/* After the rows of an updating dataset are inserted, from `first_row` on: stages the samples that get a label
 * into `late`, a batch of the other dataset, and in late->replaced the places that they take. Of several labels
 * for one key the last row counts. */
enum weir_status storage_late_labels_stage(struct batch *batch, struct weir_db *db,
                                           struct chunk_cache *cache, uint64_t first_row,
                                           struct batch *late,
                                           struct weir_error *err) WEIR_MUST_USE;

#endif
