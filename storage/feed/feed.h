/* The feed of a dataset: every change of it, in order, kept until each of its consumers has passed it. Each function
 * fills the answer from the arena of the request. */
#ifndef WEIR_STORAGE_FEED_H
#define WEIR_STORAGE_FEED_H

#include "core/wire/wire.h"
#include "storage/store/store.h"

enum weir_status storage_feed_read(struct store *store, const struct msg_feed_read *asked,
                                   struct weir_arena *arena, struct msg_feed_is *answer,
                                   struct weir_error *err) WEIR_MUST_USE;
/* Forgets rows that every consumer has passed, and consumers that are away for good. */
enum weir_status storage_feed_forget(struct store *store, struct weir_error *err) WEIR_MUST_USE;
enum weir_status storage_feed_end(struct store *store, const struct msg_feed_end *asked,
                                  struct msg_feed_ended *answer,
                                  struct weir_error *err) WEIR_MUST_USE;
enum weir_status storage_feed_describe(struct store *store, const struct msg_feed_request *asked,
                                       struct weir_arena *arena, struct msg_feed_readers *answer,
                                       struct weir_error *err) WEIR_MUST_USE;

#endif
