/* Samples that crash the process which reads them: a file, mapped by all workers of a host, that outlives
 * them. Each worker has a slot in it, where it says which sample it is at work on; a signal handler marks it
 * when the process dies of its own code. A death that leaves no mark counts as well when the kernel has killed
 * for want of memory meanwhile, and not otherwise (kill -9). Who starts again in that name counts the death; a
 * sample that has cost CRASHES_MAX is not tried any more, by nobody.
 * The handler needs to find the slot: it is this module's one mutable global. */
#ifndef WEIR_PREPROCESS_WORKER_CRASHES_H
#define WEIR_PREPROCESS_WORKER_CRASHES_H

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    CRASHES_MAX =
        2, /* deaths that a sample may cost; one more per worker that is at it just then */
    CRASHES_LISTED = 1024, /* samples; of more the oldest are forgotten */
    CRASHES_SLOTS = 64,
};

struct crashes;

/* Returns how many processes the kernel has killed for want of memory since it was started; 0 where it does not say. */
uint64_t crashes_oom_kills(void);

/* Maps the file, makes it if it is not there, and counts how the process that had this name before died; `oom_kills`
 * is crashes_oom_kills().
 * IO; LIMIT when there is no room for it, or for another worker; CORRUPT when it is another file. */
enum weir_status crashes_open(const char *path, const char *name, uint64_t oom_kills,
                              struct crashes **ret_crashes, struct weir_error *err) WEIR_MUST_USE;
void crashes_close(struct crashes *crashes); /* NULL is fine */
/* Where to say which sample of `job` is worked on; 0: none. */
volatile uint64_t *crashes_watch(struct crashes *crashes, uint64_t job);
/* True when samples have crashed workers. */
bool crashes_any(const struct crashes *crashes);
/* True when it has crashed too often; *ret_signal says how, the last time. */
bool crashes_is_given_up(const struct crashes *crashes, uint64_t job, uint64_t id, int *ret_signal);

#endif
