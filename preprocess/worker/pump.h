/* Making and sending. */
#ifndef WEIR_PREPROCESS_WORKER_PUMP_H
#define WEIR_PREPROCESS_WORKER_PUMP_H

#include "preprocess/worker/state.h"

/* Makes one batch and sends what consumers have credit for. The owner is a struct worker. */
void preprocess_worker_pump(void *owner);

#endif
