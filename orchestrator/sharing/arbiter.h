/* The order of runs where several pipelines share trainers. Start-time fair queueing (Goyal, Vin,
 * Cheng: SIGCOMM 1996): the time that a pipeline has had, divided by its share, is its place in
 * line. One that was idle does not make up for that; one that asks for more than its share waits,
 * and none waits for ever. How long a run takes is known when it is over: it is charged as the one
 * before, and corrected then. Pure: time is handed in. */
#ifndef ORCHESTRATOR_SHARING_ARBITER_H
#define ORCHESTRATOR_SHARING_ARBITER_H

#include "core/config/sections.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arbiter_quota {
    double share;      /* > 0; of trainer time, against the shares of the others that want any */
    uint64_t trainers; /* at once; 0: as many as there are */
    uint64_t gpus;     /* the same */
};

/* The claim of a run. Among those of its pipeline the urgent ones come first, then the oldest. */
struct arbiter_claim {
    int64_t run, pipeline;
    struct arbiter_quota quota;
    size_t gpus; /* beside a trainer */
    bool is_urgent;
};

struct arbiter;

/* `trainers`: at once; 0: no bound. `gpus`: at most CFG_GPUS_MAX. */
struct arbiter *orchestrator_arbiter_new(size_t trainers, size_t gpus);
void orchestrator_arbiter_free(struct arbiter *arbiter);

/* A run of a former process: a pipeline that is known goes on from what it has had. In the order in
 * which they began. */
void orchestrator_arbiter_recall(struct arbiter *arbiter, int64_t pipeline,
                                 const struct arbiter_quota *quota, int64_t held_ns);

/* False: there are not so many GPUs, or not for this pipeline. A claim that is there already stays as it is. */
bool orchestrator_arbiter_claim(struct arbiter *arbiter, const struct arbiter_claim *claim);
/* Gives the next claim its slot. False: there is none to give, or nobody may have it. Who comes
 * next and finds too few GPUs is waited for: nobody who wants one is given it before. */
bool orchestrator_arbiter_grant(struct arbiter *arbiter, int64_t now_ns, int64_t *ret_run);
bool orchestrator_arbiter_holds(const struct arbiter *arbiter, int64_t run);
/* GPUs that it holds, a bit each. */
uint64_t orchestrator_arbiter_gpus(const struct arbiter *arbiter, int64_t run);
/* For how long it has held its slot and was not asked so before; 0: it holds none. */
int64_t orchestrator_arbiter_bill(struct arbiter *arbiter, int64_t run, int64_t now_ns);
/* The run has come to its end: it is billed no more, however long its process takes to leave. */
void orchestrator_arbiter_settle(struct arbiter *arbiter, int64_t run);
/* The slot is free again, or the claim is withdrawn; unknown runs are fine. */
void orchestrator_arbiter_release(struct arbiter *arbiter, int64_t run, int64_t now_ns);

struct arbiter_view {
    size_t slots, busy, waiting;
    size_t gpus, gpus_busy;
};
struct arbiter_view orchestrator_arbiter_look(const struct arbiter *arbiter);
/* The same, of which one pipeline's claims alone are busy or waiting. */
struct arbiter_view orchestrator_arbiter_look_at(const struct arbiter *arbiter, int64_t pipeline);

#endif
