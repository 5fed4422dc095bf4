/* Wiping of what batches were made in. */
#ifndef WEIR_PREPROCESS_WORKER_WIPE_H
#define WEIR_PREPROCESS_WORKER_WIPE_H

#include "preprocess/worker/state.h"

/* Obeys the newest `wipe`, if it has not yet and the dispatcher knows why samples failed: releases everything that
 * batches were made in, forgets those reasons and connects again. From the timer alone. */
void preprocess_worker_wipe(struct worker *worker);

#endif
