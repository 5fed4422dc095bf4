/* Rows that a worker keeps of samples, for whoever reads them again (C19): those at the cut of a job's
 * operators. One for all jobs of a worker; found by sample and by what made the rows (preprocess_plan, kept_key), so
 * that another epoch, trigger or pipeline finds them. */
#ifndef WEIR_PREPROCESS_WORKER_KEPT_H
#define WEIR_PREPROCESS_WORKER_KEPT_H

#include "preprocess/operators/chain.h"
#include "preprocess/worker/flow.h"
#include "preprocess/worker/kept_store.h"
#include "preprocess/worker/kept_writer.h"

struct kept;
/* `flow` is borrowed: it knows what is erased. A budget of 0 keeps nothing. */
struct kept *preprocess_kept_new(struct weir_loop *loop, const struct worker_flow *flow,
                                 const char *data_dir, uint64_t bytes_max,
                                 enum weir_compression how);
void preprocess_kept_free(struct kept *kept);
/* Looks for new segments, and writes what was gathered; once a tick. */
void preprocess_kept_step(struct kept *kept, int64_t now_ms);
/* A newer erasure epoch is known: drops what is not in a segment yet. Those are the platform's to scrub. */
void preprocess_kept_on_erasure(struct kept *kept);
/* Releases all memory and mappings. */
void preprocess_kept_wipe(struct kept *kept);

/* Returns the number of segments that were found damaged so far. */
uint64_t preprocess_kept_damaged(const struct kept *kept);

/* ---- a batch ---- */

/* Finds the rows of samples; ret_places as in preprocess_kept_store_find(). False: nothing is kept of this key. */
bool preprocess_kept_find(struct kept *kept, uint64_t key, const uint64_t *ids, size_t count,
                          struct kept_place *ret_places);
/* The row, as preprocess_kept_store_load() has it. */
bool preprocess_kept_load(struct kept *kept, struct kept_place place, struct weir_bytes *ret_row);
/* A read of a row has failed: see preprocess_kept_store_give_up_shorter(). `kept` may be NULL. */
void preprocess_kept_give_up_shorter(struct kept *kept);
/* Gathers a row that was made, until preprocess_kept_settle() says whether the batch was good, and how long all of its
 * rows took that were made. */
void preprocess_kept_add(struct kept *kept, uint64_t id, uint64_t key, struct weir_bytes row);
void preprocess_kept_settle(struct kept *kept, bool is_good, int64_t made_ns);

#endif
