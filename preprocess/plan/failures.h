/* The first samples of a job that could not be read, with reasons, for people; all of them are counted
 * elsewhere. A worker has its own, the dispatcher those of all workers. */
#ifndef WEIR_PREPROCESS_PLAN_FAILURES_H
#define WEIR_PREPROCESS_PLAN_FAILURES_H

#include "core/base/memory.h"
#include "core/wire/wire.h"

enum { FAILURES_MAX = 32, FAILURE_REASON_MAX = 200 };

struct failure {
    uint64_t id;
    char reason[FAILURE_REASON_MAX];
};

/* Zeroed is empty. */
struct failures {
    size_t count;
    struct failure of[FAILURES_MAX];
    bool is_changed; /* since its owner set this to false */
};

/* A sample that is listed already keeps its place, with the newer reason. */
void preprocess_failures_note(struct failures *failures, uint64_t id, const char *reason);
/* Lists them as columns of a message, in the arena; reasons are borrowed. */
void preprocess_failures_list(const struct failures *failures, struct weir_arena *arena,
                              struct weir_u64s *ret_ids, struct weir_strs *ret_reasons);

#endif
