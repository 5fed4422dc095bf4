/* The state that the files of a worker share. */
#ifndef WEIR_PREPROCESS_WORKER_STATE_H
#define WEIR_PREPROCESS_WORKER_STATE_H

#include "core/rpc/published.h"
#include "core/rpc/segment.h"
#include "core/service/service.h"
#include "core/wire/delivery.h"
#include "preprocess/worker/batch_maker.h"
#include "preprocess/worker/flow.h"
#include "preprocess/worker/kept_probe.h"
#include "preprocess/worker/layouts.h"
#include "preprocess/worker/link.h"
#include "preprocess/worker/located.h"
#include "preprocess/worker/objects.h"
#include "preprocess/worker/record_sums.h"
#include "preprocess/worker/sets.h"
#include "preprocess/worker/window.h"

#include <string.h>

enum {
    WORKER_TICK_MS = 20,
    WORKER_BEAT_MS = 300,
    WORKER_IDLE_BEAT_MS = 100, /* while it wants work */
    WORKER_HOLD_MS = 500,
    WORKER_REQUEST_MS = 2000, /* deadline of a request */
    WORKER_RETRY_MS = 200,    /* before a refused request is sent again */
    WORKER_SET_MS = 2000,     /* before a job is looked at again whose set is on its way */
    WORKER_JOBS_MAX = 64,
    WORKER_JOB_IDLE_MS = 60000, /* a job without leases is closed after this time */
    WORKER_AUTHORITY_TEXT = 65,
    WORKER_LENT_BYTES = 8 << 20,
    /* of a batch: a smaller one is copied for each consumer */
    WORKER_PUBLISHED_BYTES_MIN = 1 << 20,
    WORKER_WINDOW_BYTES = 256 << 20, /* unless it is told */
    /* a loan that was used for longer may be over: far below LENDING_LOST_MS of clients */
    WORKER_LOAN_MS = 5000,
};

/* Cost of an operator so far. */
struct worker_spent {
    int64_t ns, programs_ns; /* as in struct chain_cost */
    uint64_t taken, bytes;
    uint64_t rows, kept;
};

/* A job as the worker knows it. */
struct worker_job {
    uint64_t number;    /* 0: the slot is free */
    bool is_requesting; /* job_describe is open */
    bool open;          /* `plan` is there */
    bool fitting;       /* as described: it can fold, but not make */
    struct preprocess_plan plan;
    uint64_t production;   /* its production; 0: its batches are made for it alone */
    bool is_met;           /* a consumer of it has come: it may have gone since */
    uint32_t plan_changes; /* of the order of its operators, as described … */
    bool is_replanned;     /* … and it has changed since */
    uint64_t cut;          /* operators after which rows are kept by choice, as described */
    int64_t used_ms;
    int64_t retry_ms; /* not asked before */
    /* cumulative for this session */
    int64_t cpu_ns; /* of the worker itself */
    int64_t read_ns;
    int64_t queued_ns;
    int64_t busy_ns;  /* busy.h */
    uint64_t batches; /* made, or found made for another job */
    uint64_t bytes_read;
    uint64_t bytes_sent;
    uint64_t shared; /* batches that were found made for another job */
    struct kept_tally kept;
    struct worker_spent operators[CHAIN_OPERATORS_MAX]; /* by plans that were closed since */
    char reason[BATCH_MAKER_REASON_MAX];                /* why the first sample failed */
    bool reason_sent;                                   /* with the newest beat */
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

/* State of a lease slot of the flow. */
struct worker_task {
    uint64_t fence;     /* of the lease it belongs to */
    bool is_requesting; /* locate_chunks, locate, grant or read is open, or objects are read */
    int64_t retry_ms;   /* not asked before */
    unsigned waits;     /* requests in a row that were not answered in time */
    int64_t read_ns;    /* when storage was asked to read */
    bool begun;         /* `located` is set down */
    struct located located;
    bool is_placed; /* locations of whole chunks are filled in, and valid */
    size_t summed;  /* samples, from the first, whose sums are known where they are needed */
    struct fetched fetched;
    struct objects_read *objects;          /* reads by grants under way; NULL: none */
    char authority[WORKER_AUTHORITY_TEXT]; /* hash of the certificates that it has asked for */
    unsigned authorities_asked;            /* for the batch at hand */
    struct chain_partial partial;          /* of a lease that asks for a partial fit */
    struct worker *worker;
};

/* Jobs that the time is spent on (busy.h); slots of `jobs`, which outlive their leases. */
struct worker_busy {
    int64_t since_ns;
    struct worker_job *jobs[WORKER_JOBS_MAX];
    size_t count;
};

struct worker {
    struct weir_loop *loop;
    struct weir_rpc_server *server;
    struct weir_rpc_peer *dispatcher;
    struct weir_rpc_peer *storage;
    struct weir_rpc_peer *selector; /* NULL: the worker sees the platform's files */
    char *name;
    const char *place; /* --place */
    struct worker_flow flow;
    struct worker_busy busy;
    struct window window;                 /* of batches that several jobs need, … */
    int64_t swept_ms;                     /* … when it was looked through last */
    struct weir_published_pool published; /* memory that they are made in, used again … */
    int64_t trimmed_ms;                   /* … when it was trimmed last */
    struct worker_job jobs[WORKER_JOBS_MAX];
    struct worker_task tasks[WORKER_LEASES_MAX];
    struct layouts *layouts;
    struct record_sums sums;           /* of samples in files of another host */
    struct link link;                  /* to storage */
    struct objects *objects;           /* of stores; NULL: storage reads them, on this host */
    struct sets *sets;                 /* NULL: the worker sees those of the platform */
    struct weir_segment *lent;         /* memory that storage reads into … */
    const struct worker_task *lent_to; /* … for this task, until it answers; NULL: for none */
    struct weir_route routes[WORKER_CONSUMERS_MAX];
    /* before that, it is not said again that there is no room for a consumer */
    int64_t full_log_ms;
    struct crashes *crashes;
    struct worker_loans loans[WORKER_CONSUMERS_MAX];
    struct weir_borrowed *borrowed;
    struct weir_ways *ways; /* of batches that are published, to consumers; NULL: there are none */
    struct batch_maker *batch_maker;
    struct kept *kept; /* NULL: nothing is kept of samples */
    struct kept_probe probe;
    enum weir_compression compression; /* of batches on their way */
    int64_t compress_ns;               /* CPU time of that, of this session … */
    uint64_t socket_bytes,
        lent_bytes; /* … and what left by a socket, as it was made, or in memory of trainers */
    uint64_t timer;
    bool pumping;   /* `pump` is due in the next round */
    bool preparing; /* preprocess_worker_prepare() is */
    /* Functions of files above that files below call; set by worker.c. */
    void (*pump)(void *worker);             /* pump.h */
    void (*prepare)(struct worker *worker); /* tasks.h */

    bool beat_open;
    bool is_unreached;        /* a consumer has told the dispatcher that it cannot reach it */
    enum weir_status refused; /* newest refusal of its beats, logged; WEIR_OK: they are taken */
    bool beat_due;            /* something has changed that the dispatcher should know at once */
    int64_t beat_ms;          /* when the newest beat was sent */
    int64_t told_ms;          /* when the newest one was sent that the dispatcher has answered */
    int64_t pause_ms;         /* minimum between two beats, set by the dispatcher */
    /* Changes to the reasons of failed samples: made, sent with the newest beat, acknowledged. */
    uint64_t reasons, reasons_sent, reasons_known;
    bool hold_open;
    int64_t hold_ms;

    uint64_t wipe, wiped; /* newest that was asked for, and obeyed */
};

/* True when its batches leave for other hosts, or are compressed: and not when trainers lend memory for them. */
static inline bool preprocess_worker_uses_sockets(const struct worker *worker)
{
    return worker->compression != WEIR_COMPRESSION_NONE ||
           strncmp(weir_rpc_address(worker->server), "tcp:", strlen("tcp:")) == 0;
}

/* Has the pump run in the next round. */
static inline void preprocess_worker_pump_soon(struct worker *worker)
{
    if (worker->pumping)
        return;
    worker->pumping = true;
    weir_loop_soon(worker->loop, worker->pump, worker);
}

/* Frees batches that the flow has given up. */
static inline void preprocess_worker_free_discarded(struct worker *worker)
{
    for (void *batch; (batch = preprocess_flow_discarded(&worker->flow)) != NULL;)
        preprocess_batch_free(batch);
}

#endif
