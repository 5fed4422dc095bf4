/* Keys of trainers, handed on to workers that are elsewhere: those let trainers in by themselves. Trainers that run on
 * the platform's host have no keys. For them the dispatcher keeps one pair, in DATA_DIR/keys/trainers, which it hands
 * on like the others, and tells to whoever opens a consumer through a socket of this host. */
#ifndef WEIR_PREPROCESS_DISPATCHER_KEYS_H
#define WEIR_PREPROCESS_DISPATCHER_KEYS_H

#include "preprocess/dispatcher/dispatcher.h"

/* Adds the pair of trainers of this host to the answer to one of them. */
void preprocess_dispatcher_lend_pair(const struct dispatcher *dispatcher,
                                     const struct weir_request *request,
                                     struct msg_client_opened *opened);
/* DENIED for a worker under a key of another name: it could take over the slot, and the leases, of another worker. Of a
 * key for several, each has the key's name, a hyphen and what tells it from the others; what is after an @ in the name
 * of a key tells it from other keys for such workers. */
enum weir_status preprocess_dispatcher_check_name(const struct weir_sender *sender,
                                                  const char *worker,
                                                  struct weir_error *err) WEIR_MUST_USE;
/* True when a worker may work for a job of this tenant (""): its key is for all, or for that one. */
bool preprocess_dispatcher_may_make(const struct weir_sender *sender, const char *tenant);
/* DENIED for a consumer of another tenant's job, or of a session that was opened under another key. */
enum weir_status preprocess_dispatcher_check_consumer(struct dispatcher_entry *entry,
                                                      const struct weir_request *request,
                                                      uint32_t rank, uint64_t session,
                                                      struct weir_error *err) WEIR_MUST_USE;
/* The keyring has changed: workers elsewhere are told to beat now. */
void preprocess_dispatcher_keys(void *state, const struct weir_keyring *keyring);
/* Returns the keys of trainers, which are gathered once for each keyring. Until that changes. */
const struct msg_keys_set *preprocess_dispatcher_trainers_keys(struct dispatcher *dispatcher);
/* Adds them to the answer of a beat that named older ones. */
void preprocess_dispatcher_tell_keys(struct dispatcher *dispatcher, const struct weir_request *beat,
                                     struct msg_worker_orders *answer);

#endif
