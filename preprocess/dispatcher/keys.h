/* Keys of trainers, handed on to workers that are elsewhere: those let trainers in by themselves. */
#ifndef WEIR_PREPROCESS_DISPATCHER_KEYS_H
#define WEIR_PREPROCESS_DISPATCHER_KEYS_H

#include "preprocess/dispatcher/dispatcher.h"

/* The keyring has changed: workers elsewhere are told to beat now. */
void preprocess_dispatcher_keys(void *state, const struct weir_keyring *keyring);
/* Adds the keys to the answer of a beat that named older ones. */
void preprocess_dispatcher_tell_keys(const struct dispatcher *dispatcher,
                                     const struct weir_request *beat,
                                     struct msg_worker_orders *answer);

#endif
