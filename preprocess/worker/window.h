/* The window of a worker's productions (C20): finished batches that other jobs need as well. Pure, as flow.h is:
 * payloads stay the caller's until they are dropped. Owned by: struct worker; tests/simulation has one per worker.
 *
 * Rules
 *   1  A batch is kept for as long as a job that makes the same needs it: one that has leased it here, or lacks it and
 *      is no more batches behind than the budget holds of its size. Who is further behind, comes late, or has died
 *      finds that it is not there, and has it made again. Nobody is waited for. A job whose consumer has gone needs
 *      nothing.
 *   2  The oldest leave when there are more bytes than the budget, or too many batches. One that is larger than the
 *      budget is not kept.
 *   3  A batch that holds an erased id leaves before the erasure is acknowledged (flow.h, rule 6): it is made again,
 *      with a hole, for each job that has not been sent it. */
#ifndef WEIR_PREPROCESS_WORKER_WINDOW_H
#define WEIR_PREPROCESS_WORKER_WINDOW_H

#include "preprocess/worker/flow.h"

enum { WINDOW_BATCHES_MAX = 512 /* however small they are */ };

/* The same for equal batches: of a production, the slice of a rank. */
struct window_key {
    uint64_t production; /* never 0 */
    uint64_t batch;
    uint32_t rank;
};

struct window_entry {
    struct window_key key;
    uint64_t bytes;
    const uint64_t *ids; /* live samples in it; the caller's, as is `payload` */
    size_t id_count;
    void *payload;
};

struct window {
    uint64_t bytes, bytes_max;
    struct window_entry *of; /* oldest first */
    size_t count, capacity;
    void (*drop)(void *payload); /* frees it */
};

void preprocess_window_init(struct window *window, uint64_t bytes_max, void (*drop)(void *payload));
void preprocess_window_fini(struct window *window);
/* Takes over the payload; one that holds an erased id is dropped. */
void preprocess_window_add(struct window *window, const struct worker_flow *flow,
                           const struct window_entry *entry);
/* Returns its payload, which stays the window's; NULL: it is not there. */
void *preprocess_window_find(const struct window *window, const struct window_key *key);
/* Batches of `bytes` that a job may be behind (rule 1). */
uint64_t preprocess_window_reach(const struct window *window, uint64_t bytes);
/* Drops what holds an id that was erased (rule 3). */
void preprocess_window_drop_erased(struct window *window, const struct worker_flow *flow);
/* Drops what nobody needs. */
void preprocess_window_sweep(struct window *window,
                             bool (*is_needed)(const void *owner, const struct window_entry *entry),
                             const void *owner);
void preprocess_window_clear(struct window *window);

#endif
