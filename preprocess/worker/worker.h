/* A worker: leases groups from the dispatcher, makes their batches, sends them to consumers. It is
 * stateless: everything here may be lost at any time, and is made again elsewhere. One thread, one
 * loop; long work is cut into batches. The protocol is flow.h; this is its rim. */
#ifndef WEIR_PREPROCESS_WORKER_WORKER_H
#define WEIR_PREPROCESS_WORKER_WORKER_H

#include "core/rpc/segment.h"
#include "core/service/service.h"
#include "core/wire/delivery.h"
#include "preprocess/worker/flow.h"
#include "preprocess/worker/kitchen.h"
#include "preprocess/worker/layouts.h"
#include "preprocess/worker/located.h"

enum {
    WORKER_TICK_MS = 20,
    WORKER_BEAT_MS = 300,
    WORKER_IDLE_BEAT_MS = 100, /* while it wants work */
    WORKER_HOLD_MS = 500,
    WORKER_ASK_MS = 2000,  /* deadline of a question */
    WORKER_RETRY_MS = 200, /* before a refused question is asked again */
    WORKER_JOBS_MAX = 64,
    WORKER_JOB_IDLE_MS = 60000, /* a job without leases is closed after so long */
    WORKER_LENT_BYTES = 8 << 20,
    WORKER_LOAN_MS =
        5000, /* what a batch is made in for longer may be over: far below LENDING_LOST_MS of clients */
};

/* What an operator has cost so far. */
struct worker_spent {
    int64_t ns; /* as chain_cost.spent_ns */
    uint64_t taken, bytes;
};

/* A job as the worker knows it. */
struct worker_job {
    uint64_t number; /* 0: the slot is free */
    bool asking;     /* job_describe is open */
    bool open;       /* `plan` is there */
    bool fitting;    /* as described: it can fold, but not make */
    struct preprocess_plan plan;
    int64_t used_ms;
    int64_t ask_ms; /* not asked before */
    /* cumulative for this session */
    int64_t cpu_ns;
    int64_t read_ns;
    int64_t queued_ns;
    uint64_t bytes_read;
    uint64_t bytes_sent;
    struct worker_spent operators[CHAIN_OPERATORS_MAX]; /* by plans that were closed since */
    char reason[KITCHEN_REASON_MAX];                    /* why a sample failed, newest */
    char problem[WEIR_ERROR_TEXT_MAX];                  /* why no plan could be made; "": one was */
    unsigned problems;                                  /* in a row */
    struct failures failures;
    struct worker *worker;
};

/* Memory that a consumer lends for its batches: see trainer_client/lending.h. */
struct worker_loans {
    uint8_t at[WEIR_BATCH_LOANS_MAX][WEIR_LOAN_BYTES];
    size_t count;
};

/* What the worker keeps for each lease slot of the flow. */
struct worker_task {
    uint64_t fence;  /* of the lease it belongs to */
    bool asking;     /* locate_chunks, locate or read is open */
    int64_t ask_ms;  /* not asked before */
    unsigned waits;  /* questions in a row that were not answered in time */
    int64_t read_ns; /* when storage was asked to read */
    bool begun;      /* `located` is set down */
    struct located located;
    bool is_placed; /* what whole chunks say of `located` is filled in, and holds */
    struct fetched fetched;
    struct chain_partial partial; /* of a lease that asks for a partial fit */
    struct worker *worker;
};

struct worker {
    struct weir_loop *loop;
    struct weir_rpc_server *server;
    struct weir_rpc_peer *dispatcher;
    struct weir_rpc_peer *storage;
    char *name;
    struct worker_flow flow;
    struct worker_job jobs[WORKER_JOBS_MAX];
    struct worker_task tasks[WORKER_LEASES_MAX];
    struct layouts *layouts;
    struct weir_segment *lent;         /* where storage writes what it reads … */
    const struct worker_task *lent_to; /* … for this task, until it answers; NULL: for none */
    struct weir_route routes[WORKER_CONSUMERS_MAX];
    struct crashes *crashes;
    struct worker_loans loans[WORKER_CONSUMERS_MAX];
    struct weir_borrowed *borrowed;
    struct kitchen *kitchen;
    enum weir_compression compression; /* of batches on their way */
    uint64_t timer;
    bool pumping; /* pump() is due in the next round */

    bool beat_open;
    bool beat_due;    /* something has changed that the dispatcher should know at once */
    int64_t beat_ms;  /* when the newest beat was sent */
    int64_t pause_ms; /* that the dispatcher wants between two beats, at least */
    bool hold_open;
    int64_t hold_ms;

    uint64_t wipe, wiped; /* newest that was asked for, and obeyed */
};

enum weir_status worker_open(const struct weir_service_options *options, struct weir_loop *loop,
                             struct weir_rpc_server *server, void **ret_state,
                             struct weir_error *err) WEIR_MUST_USE;
void worker_close(void *state);
extern const struct weir_rpc_handler WORKER_HANDLERS[];

/* beat.c: the dispatcher. Sends a beat when one is due. */
void worker_beat(struct worker *worker);
/* hold.c: the use lease. Asks storage when it is time. */
void worker_hold(struct worker *worker);
void worker_on_erased(void *state, struct weir_request *request);
/* wipe.c: obeys the newest `wipe`, if it has not yet: releases everything that batches were made in and connects
 * again. From the timer alone. */
void worker_wipe(struct worker *worker);
/* jobs.c: finds or asks for what a lease's job is. NULL: not yet. */
struct worker_job *worker_job_for(struct worker *worker, const struct worker_lease *lease);
/* What an operator of an open job has cost in this session. */
struct worker_spent worker_job_spent(const struct worker_job *job, size_t operator);
void worker_jobs_expire(struct worker *worker, int64_t now_ms);
void worker_jobs_close(struct worker *worker);
/* tasks.c: gets leases ready: job, where the samples are, and those that only storage can read. */
void worker_prepare(struct worker *worker);
struct worker_task *worker_task_of(struct worker *worker, const struct worker_lease *lease);
/* Has storage read what this batch needs of files that cannot be read from here. */
void worker_fetch(struct worker *worker, struct worker_task *task, uint64_t batch);
/* Where its samples are is out of date. */
void worker_locate_again(struct worker *worker, struct worker_task *task);
/* Drops what storage read, of every lease. */
void worker_tasks_drop_fetched(struct worker *worker);
void worker_tasks_close(struct worker *worker);
/* pump.c: makes and sends. */
void worker_pump_soon(struct worker *worker);
void worker_send(struct worker *worker);
void worker_free_discarded(struct worker *worker);

#endif
