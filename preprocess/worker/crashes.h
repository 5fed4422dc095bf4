/* Samples that crash the process which reads them: a file, mapped by all workers of a host, that outlives
 * them. Each worker has a slot in it, with the sample that it is working on; a signal handler marks it
 * when the process dies of its own code. A death that leaves no mark counts as well when the kernel has killed
 * for want of memory meanwhile, and not otherwise (kill -9). The next worker of that name counts the death; a
 * sample that has cost CRASHES_MAX is no longer tried by any worker.
 * The handler needs to find the slot: it is this module's one mutable global. */
#ifndef WEIR_PREPROCESS_WORKER_CRASHES_H
#define WEIR_PREPROCESS_WORKER_CRASHES_H

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    /* deaths that a sample may cost; one more per worker that is at it just then */
    CRASHES_MAX = 2,
    CRASHES_LISTED = 1024, /* samples; the oldest of more are forgotten */
    CRASHES_SLOTS = 64,
};

struct crashes;

/* Returns how many processes the kernel has killed for want of memory since it was started; 0 where it does not say. */
uint64_t preprocess_crashes_oom_kills(void);
/* The same, of the text of /proc/vmstat. */
uint64_t preprocess_crashes_oom_kills_in(const char *vmstat);

/* Maps the file, makes it if it is not there, and counts the death of the process that had this name before;
 * `oom_kills` is preprocess_crashes_oom_kills().
 * IO; LIMIT when there is no room for it, or for another worker; CORRUPT when it is another file. */
enum weir_status preprocess_crashes_open(const char *path, const char *name, uint64_t oom_kills,
                                         struct crashes **ret_crashes,
                                         struct weir_error *err) WEIR_MUST_USE;
void preprocess_crashes_close(struct crashes *crashes); /* NULL is fine */
/* Returns the place for the id of the sample of `job` that is worked on; 0: none. */
volatile uint64_t *preprocess_crashes_watch(struct crashes *crashes, uint64_t job);
/* True when samples have crashed workers. */
bool preprocess_crashes_any(const struct crashes *crashes);
/* True when it has crashed too often; *ret_signal says how, the last time. */
bool preprocess_crashes_is_given_up(const struct crashes *crashes, uint64_t job, uint64_t id,
                                    int *ret_signal);

#endif
