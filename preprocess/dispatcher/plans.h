/* The plans of jobs: the jobs of all triggers of a pipeline file share one, so that what the first of them
 * has measured serves the next, after a restart too. Owned by struct dispatcher. */
#ifndef WEIR_PREPROCESS_DISPATCHER_PLANS_H
#define WEIR_PREPROCESS_DISPATCHER_PLANS_H

#include "core/db/thread.h"
#include "preprocess/dispatcher/entry.h"
#include "preprocess/plan/keeping.h"
#include "preprocess/plan/planning.h"

enum {
    PLANS_MAX = 64, /* the one that was used longest ago makes room */
    /* after so long what was measured meanwhile is stored, whatever comes of it */
    PLANS_SAVE_MS = 10000,
};

struct plans {
    struct weir_db_thread *thread; /* borrowed; stores them */
    size_t count;
    struct plans_row {
        struct weir_digest key;
        int64_t used_ms;
        int64_t saved_ms; /* 0: not by this process */
        struct planning planning;
        struct keeping keeping;
    } row[PLANS_MAX];
    struct keeping_disk disk; /* as a worker has reported last … */
    bool has_disk;            /* … if any has */
};

/* A plan as it is stored. */
struct plans_stored {
    struct planning planning;
    struct keeping keeping;
};
/* Loads the plan of a job as it is stored; one that is begun again where there is none, or it cannot be read: a plan is
 * no more than advice. On any thread. */
void preprocess_plans_load(struct weir_db *db, const struct dispatcher_entry *entry,
                           struct plans_stored *ret_stored);
/* True: it is in memory, and need not be loaded. */
bool preprocess_plans_has(const struct plans *plans, const struct dispatcher_entry *entry);
/* Takes up the plan of a job that is to be in use, unless there is one in memory. `stored` NULL: it is begun again. */
void preprocess_plans_take_up(struct plans *plans, struct dispatcher_entry *entry,
                              const struct plans_stored *stored, int64_t now_ms);
/* Returns the plan of a job, begun if there was none, and has the job keep what it says. It may make room for another
 * one at the next call. */
struct planning *preprocess_plans_of(struct plans *plans, struct dispatcher_entry *entry,
                                     int64_t now_ms);
/* Takes in what a worker has found of its disk. */
void preprocess_plans_hear_disk(struct plans *plans, const struct msg_worker_beat *beat);
/* Operators that are left to trainers: by what was measured, or as the file says. */
uint32_t preprocess_plans_sunk(const struct dispatcher_entry *entry,
                               const struct planning *planning);
/* Spendings of a worker's session on a job, cumulative, and on the way of all its batches since the last beat. */
struct plans_spent {
    const struct dispatcher_cost *before, *now;
    const struct placement_transport *transport;
};
/* The same per operator, by place as written. */
struct plans_costs {
    struct ordering_cost of[CHAIN_OPERATORS_MAX];
    double read_ns; /* of the records */
};
/* Takes in what the operators of a job have cost. */
void preprocess_plans_note(struct plans *plans, struct dispatcher_entry *entry,
                           const struct plans_spent *spent, int64_t now_ms);
/* Returns how each operator runs (enum chain_fusion), by place as written; in the arena. The chain is planned again for
 * it. */
struct weir_u32s preprocess_plans_fusion(struct plans *plans, struct dispatcher_entry *entry,
                                         int64_t now_ms, struct weir_arena *arena);
/* Says all else that is known of it; columns in the arena. */
void preprocess_plans_show(struct plans *plans, struct dispatcher_entry *entry, int64_t now_ms,
                           struct weir_arena *arena, struct msg_plan_is *answer);

#endif
