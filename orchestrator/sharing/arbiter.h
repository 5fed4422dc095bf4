/* Who trains next, where several pipelines share trainers. Start-time fair queueing (Goyal, Vin, Cheng: SIGCOMM 1996): the
 * time that a pipeline has had, divided by its share, is its place in line. One that was idle does not make up for that;
 * one that asks for more than its share waits, and none waits for ever. How long a run takes is known when it is over:
 * it is charged as the one before, and corrected then. Pure: time is handed in. */
#ifndef ORCHESTRATOR_SHARING_ARBITER_H
#define ORCHESTRATOR_SHARING_ARBITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arbiter_quota {
    double share;      /* > 0; of trainer time, against the shares of the others that want any */
    uint64_t trainers; /* at once; 0: as many as there are */
};

struct arbiter;

/* `slots`: trainers at once; 0: no bound. */
struct arbiter *arbiter_new(size_t slots);
void arbiter_free(struct arbiter *arbiter);

/* Run `run` of `pipeline` wants a trainer. Among those of its pipeline the urgent ones come first, then whoever asked first.
 * A claim that is there already stays as it is. */
void arbiter_claim(struct arbiter *arbiter, int64_t run, int64_t pipeline,
                   const struct arbiter_quota *quota, bool is_urgent);
/* Gives the next claim its slot. False: there is none to give, or nobody may have it. */
bool arbiter_grant(struct arbiter *arbiter, int64_t now_ms, int64_t *ret_run);
bool arbiter_holds(const struct arbiter *arbiter, int64_t run);
/* The slot is free again, or the claim is withdrawn; unknown runs are fine. */
void arbiter_release(struct arbiter *arbiter, int64_t run, int64_t now_ms);

struct arbiter_view {
    size_t slots, busy, waiting;
};
struct arbiter_view arbiter_look(const struct arbiter *arbiter);

#endif
