/* Costs of a job, as workers tell them: a row per session of a worker, cumulative, and the sum of all rows.
 * A crowd of workers has many rows, so each holds as many operators as the job has. Pure. */
#ifndef WEIR_PREPROCESS_DISPATCHER_COSTS_H
#define WEIR_PREPROCESS_DISPATCHER_COSTS_H

#include "core/base/index.h"
#include "preprocess/dispatcher/pool.h"
#include "preprocess/operators/chain.h"

/* Use of the rows that are kept of a job's samples: cumulative. */
struct dispatcher_kept {
    uint64_t key; /* as the worker names them; 0: none are kept, or it has not said yet */
    uint64_t hits, misses, damaged;
    int64_t made_ns; /* of the operators before the cut, for the misses */
    int64_t read_ns; /* of the hits */
};

/* Cost of the job in one worker session: cumulative. */
struct dispatcher_cost {
    uint64_t session; /* 0: all sessions that are over, together */
    int64_t cpu_ns;
    uint64_t bytes_read;
    uint64_t bytes_sent;
    int64_t read_ns, queued_ns; /* not stored: they say what is slow now */
    uint64_t shared;            /* batches that were found made for another job; not stored */
    struct dispatcher_kept kept;
    bool unsaved;
    struct dispatcher_operator_cost {
        int64_t ns;
        uint64_t bytes;
        uint64_t taken;        /* not stored: workers tell it again */
        uint64_t rows, kept;   /* not stored: plans are made again */
    } of[CHAIN_OPERATORS_MAX]; /* zeros beyond those that the job has */
};

/* Zeroed is empty, of a job without operators. */
struct dispatcher_costs {
    uint8_t *rows; /* end to end: of each a struct dispatcher_cost as far as its operators */
    size_t count, capacity;
    size_t operators;
    struct weir_index sessions;
    struct dispatcher_cost total; /* session 0 */
    size_t kept;                  /* rows that were left when they were folded last */
    bool is_folded;               /* since they were stored */
};

void preprocess_costs_fini(struct dispatcher_costs *costs);
/* Says how many operators the job has; those of rows that are there stay. */
void preprocess_costs_have(struct dispatcher_costs *costs, size_t operators);
/* Returns the index of the row of a session; `count`: there is none. */
size_t preprocess_costs_find(const struct dispatcher_costs *costs, uint64_t session);
/* Returns a row by its index. */
struct dispatcher_cost preprocess_costs_at(const struct dispatcher_costs *costs, size_t index);
/* Returns the row of a session; zeros if there is none. */
struct dispatcher_cost preprocess_costs_of(const struct dispatcher_costs *costs, uint64_t session);
/* Puts it in the place of the row of its session, or adds it. */
void preprocess_costs_put(struct dispatcher_costs *costs, const struct dispatcher_cost *cost);
bool preprocess_costs_are_unsaved(const struct dispatcher_costs *costs);
/* Copies the rows that have to be stored, all when they were folded, into `ret_rows`, which is empty; they count as
 * stored. The copy has neither sum nor index. */
void preprocess_costs_take_unsaved(struct dispatcher_costs *costs,
                                   struct dispatcher_costs *ret_rows);
/* Those rows were not stored after all. */
void preprocess_costs_put_back(struct dispatcher_costs *costs, const struct dispatcher_costs *rows);
/* Folds the rows of sessions that are over into one, when there are too many: those unknown to the pool, which has
 * listened for POOL_FORGET_MS at least. Workers come and go by the thousand over a long job. */
void preprocess_costs_fold(struct dispatcher_costs *costs, const struct pool *pool);

#endif
