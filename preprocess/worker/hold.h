/* The use lease. */
#ifndef WEIR_PREPROCESS_WORKER_HOLD_H
#define WEIR_PREPROCESS_WORKER_HOLD_H

#include "preprocess/worker/state.h"

/* Asks storage when it is time. */
void preprocess_worker_hold(struct worker *worker);
void preprocess_worker_on_erased(void *state, struct weir_request *request);

#endif
