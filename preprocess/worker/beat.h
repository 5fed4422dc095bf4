/* The dispatcher: full state to it, orders back. */
#ifndef WEIR_PREPROCESS_WORKER_BEAT_H
#define WEIR_PREPROCESS_WORKER_BEAT_H

#include "preprocess/worker/state.h"

/* Sends a beat when one is due. */
void preprocess_worker_beat(struct worker *worker);

#endif
