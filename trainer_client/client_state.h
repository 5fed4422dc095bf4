/* An open run, as its two sides share it: client.c (the caller's threads) and client_io.c (the one
 * thread that owns the loop and all sockets). What stands under `mutex` is touched only with it;
 * whatever changes there wakes the callers through `changed`, and the I/O thread through wake_fd.
 * */
#ifndef WEIR_TRAINER_CLIENT_CLIENT_STATE_H
#define WEIR_TRAINER_CLIENT_CLIENT_STATE_H

#include "core/loop/loop.h"
#include "core/rpc/rpc.h"
#include "trainer_client/batch.h"
#include "trainer_client/delivery.h"
#include "trainer_client/lending.h"

#include <pthread.h>
#include <weir/client.h>

/* A request that is open at most once at a time. */
struct call {
    struct weir_client *client;
    bool open;
    int64_t sent_ms;
    uint64_t number; /* of the commit it asks for */
};

struct worker_peer {
    struct weir_client *client;
    uint32_t slot;
    char *endpoint;             /* NULL: the slot was never used */
    struct weir_rpc_peer *peer; /* NULL: not connected */
};

struct weir_client {
    /* Fixed before the thread starts. */
    uint64_t run, session;
    uint32_t rank, ranks;
    char *dispatcher_endpoint, *storage_endpoint, *orchestrator_endpoint, *holder;
    int64_t open_timeout_ms, open_end_ms;
    int wake_fd;
    pthread_t thread;
    bool is_running; /* the thread was started */

    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* Under `mutex`. */
    struct delivery *delivery;
    struct lending lending;
    struct weir_client_info info;
    struct weir_buf fitted, state;
    bool closing, opened, failed, stop_ordered;
    struct weir_error failure;
    struct weir_error commit_error; /* of the newest commit, when it was refused */
    uint64_t samples_done, samples_total;
    double loss;
    char stage[16]; /* that the loop has waited for, as the dispatcher sees it */
    struct weir_client_stats stats;
    int64_t handed_ns;       /* when the loop last got a batch; 0: not yet */
    size_t held, unconsumed; /* batches in the loop's hands; handed out and not consumed */

    /* The I/O thread's own. */
    struct weir_loop *loop;
    struct weir_rpc_peer *dispatcher, *storage, *orchestrator;
    struct worker_peer workers[DELIVERY_WORKERS_MAX];
    struct call open_call, beat_call, hold_call, commit_call, report_call;
    int64_t report_ms;
    int64_t commit_ms; /* not asked again before: a final commit waits for the other ranks */
};

/* The thread's whole life: connects, opens, works until `closing`. */
void *trainer_client_io_run(void *client);
/* Frees the batch, and gives its memory back. Under `mutex`. */
void trainer_client_free_batch(struct batch *batch);
/* Frees what the machine has given up. Under `mutex`. */
void trainer_client_free_discarded(struct weir_client *client);
/* Ends the session with what happened, once. Under `mutex`. */
void trainer_client_fail(struct weir_client *client, const struct weir_error *failure);

#endif
