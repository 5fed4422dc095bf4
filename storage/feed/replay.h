/* Replays: the samples of a dataset as of a fixed position, in (event time, id) order. The order is made
 * once per (dataset, position), in pieces, in a file of DATA_DIR/replays that outlives the process; samples
 * that lie in order already need no file. Only erasures change what is handed out: those of the order's
 * dataset take its file along, since times and labels of the erased stand in it. Owned by struct storage. */
#ifndef WEIR_STORAGE_REPLAY_H
#define WEIR_STORAGE_REPLAY_H

#include "core/wire/wire.h"
#include "storage/catalog/deaths.h"
#include "storage/feed/order_sort.h"
#include "storage/store/store.h"

struct replays;

/* Removes what a death has left half-made, and orders that nobody has read for a day. */
struct replays *storage_replays_new(struct store *store);
void storage_replays_free(struct replays *replays);
/* One piece of what is being made; false when nothing is. */
bool storage_replays_step(struct replays *replays);
/* All orders of `dataset` go, files and all: it is about to lose what they hold. */
void storage_replays_drop(struct replays *replays, uint32_t dataset);
/* Orders that were not read for an hour go; those that are read keep the feed after their position. */
enum weir_status storage_replays_tidy(struct replays *replays,
                                      struct weir_error *err) WEIR_MUST_USE;
/* A page of samples after the one that was handed out last; UNAVAILABLE while the order is being made, or
 * as many others are awaited as can be made at a time. */
enum weir_status storage_replay_read(struct replays *replays, const struct msg_replay_read *asked,
                                     struct weir_arena *arena, struct msg_replay_is *answer,
                                     struct weir_error *err) WEIR_MUST_USE;

#endif
