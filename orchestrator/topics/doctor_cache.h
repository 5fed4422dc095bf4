/* The examination of the rows that are kept of samples (core/wire/cache_segment.h), for `weir doctor`: on a thread, for
 * it may read all of the cache. */
#ifndef ORCHESTRATOR_TOPICS_DOCTOR_CACHE_H
#define ORCHESTRATOR_TOPICS_DOCTOR_CACHE_H

#include "orchestrator/topics/topic.h"

/* Called with what was found, a list of findings that the caller owns. */
typedef void doctor_cache_fn(struct topic_call *call, json_t *findings);
/* Examines DATA_DIR/cache: sizes and rows against their files, checksums when `is_deep`, rows of samples whose erasure
 * is finished, and the budget. The call drops it when it is forgotten. */
enum weir_status orchestrator_doctor_cache(struct topic_call *call, bool is_deep,
                                           doctor_cache_fn *done,
                                           struct weir_error *err) WEIR_MUST_USE;

#endif
