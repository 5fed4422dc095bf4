/* An open run, as its two sides share it: client.c (the caller's threads) and client_io.c (the one
 * thread that owns the loop and all sockets). What stands under `mutex` is touched only with it;
 * whatever changes there wakes the callers through `changed`, and the I/O thread through wake_fd.
 * */
#ifndef WEIR_TRAINER_CLIENT_CLIENT_STATE_H
#define WEIR_TRAINER_CLIENT_CLIENT_STATE_H

#include "core/loop/loop.h"
#include "core/rpc/rpc.h"
#include "trainer_client/announced.h"
#include "trainer_client/batch.h"
#include "trainer_client/buffering.h"
#include "trainer_client/collector.h"
#include "trainer_client/delivery.h"
#include "trainer_client/digest_list.h"
#include "trainer_client/held.h"
#include "trainer_client/lending.h"
#include "trainer_client/metrics.h"
#include "trainer_client/options.h"
#include "trainer_client/reach.h"
#include "trainer_client/task.h"

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
    int way; /* of memory that it has made for several (core/rpc/published.h); -1: there is none */
    struct reach reach;
    bool is_barred; /* its socket is one of another host */
};

struct weir_client {
    /* Fixed before the thread starts. */
    uint64_t run, session;
    uint32_t rank, ranks;
    bool is_elsewhere;     /* it has a pass, and cannot reach sockets of the platform's host */
    bool has_pair;         /* it proves this pair to workers: its own, or … */
    struct weir_pair pair; /* … the pair of all trainers of the host of the platform */
    char *dispatcher_endpoint, *storage_endpoint, *orchestrator_endpoint, *holder, *token;
    int64_t open_timeout_ms, open_end_ms;
    int wake_fd;
    pthread_t thread;
    bool is_running;                     /* the thread was started */
    const struct weir_client_task *task; /* NULL: the loop has none */
    uint64_t begun_samples;              /* delivered, in the state that the loop came with */
    bool keeps_digests;

    /* The loop's own. */
    struct collector collector; /* of what weir_client_output() says */
    uint64_t outputs;           /* samples that it was said of */
    struct digest_list digests; /* of a loop with a task */

    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* Under `mutex`. */
    struct delivery *delivery;
    struct lending lending;
    struct buffering buffering;
    struct weir_client_info info;
    struct weir_buf fitted, state;
    struct announced announced;
    bool closing, opened, failed, stop_ordered;
    struct weir_error failure;
    struct weir_error commit_error; /* of the newest commit, when it was refused */
    struct metrics metrics;
    int64_t steps_ns; /* CPU time of steps that workers have left to this end */
    char stage[16];   /* newest cause of a wait, as the dispatcher sees it */
    struct weir_client_stats stats;
    int64_t first_ns;  /* when the loop got its first batch; 0: not yet */
    int64_t handed_ns; /* when the loop last got a batch; 0: not yet */
    int64_t since_ns;  /* when the loop's wait began that still goes on; 0: it does not wait */
    bool has_batch;    /* it was given a batch by the newest call */
    bool is_waiting;   /* the loop is inside a call that waits */
    bool has_called;   /* the loop has called since the newest report */
    bool is_attended;  /* a person sits at the loop, and may think: WEIR_ATTENDED */
    struct {
        bool is_wanted, is_open, is_noted;
        struct msg_run_done message; /* borrows `model` and `fitted` */
        struct weir_buf model, metrics;
        struct weir_error failure; /* of one that is noted: status OK, or why it was refused */
    } done;
    size_t held, unconsumed; /* batches in the loop's hands; handed out and not consumed */

    /* The I/O thread's own. */
    struct weir_loop *loop;
    struct weir_rpc_peer *dispatcher, *storage, *orchestrator;
    struct worker_peer workers[DELIVERY_WORKERS_MAX];
    struct call open_call, beat_call, hold_call, commit_call, report_call;
    struct held_watch held_back;
    int64_t report_ms;
    int64_t commit_ms; /* not asked again before: a final commit waits for the other ranks */
};

/* The thread's whole life: connects, opens, works until `closing`. */
void *trainer_client_io_run(void *client);
/* Frees the batch, and gives its memory back. Under `mutex`. */
void trainer_client_free_batch(struct batch *batch);
/* Frees what the machine has given up. Under `mutex`. */
void trainer_client_free_discarded(struct weir_client *client);

/* ---- reaching.c ---- */

/* Asks workers that have long been silent whether they are there. Under `mutex`. */
void trainer_client_seek_workers(struct weir_client *client, int64_t now_ms);
/* Lists the workers that cannot be reached. Under `mutex`. */
struct weir_strs trainer_client_unreachable(const struct weir_client *client, int64_t now_ms,
                                            const char *endpoints[DELIVERY_WORKERS_MAX]);
/* Takes the pair that workers elsewhere let the platform's own trainers in by, unless this one has its own. */
void trainer_client_take_pair(struct weir_client *client, const struct msg_client_opened *opened);

/* ---- client.c ---- */

/* Has the I/O thread look at everything. */
void trainer_client_wake(struct weir_client *client);
/* Waits for a change, at most until `end_ms` (INT64_MAX: no end). False when that has passed. Under `mutex`. */
bool trainer_client_wait(struct weir_client *client, int64_t end_ms);
/* Takes up which tensors there are, until the run is open: then the loop may hold what it was shown. */
enum weir_status trainer_client_announce(struct weir_client *client,
                                         const struct msg_client_opened *opened,
                                         struct weir_error *err) WEIR_MUST_USE;

/* The tensors that only tell samples apart, which the loop is not shown; NULL: it has no task. */
static inline const struct groups_wanted *client_hides(const struct weir_client *client)
{
    return client->task != NULL ? &task_of_shown(client->task)->tells : NULL;
}

/* ---- outputs.c ---- */

bool trainer_client_learns(const struct weir_client *client);
/* True in modes that say something of every sample, which is gathered in memory until the end. */
bool trainer_client_gathers(const struct weir_client *client);
/* Makes what a training has said so far durable: it may be ahead of a checkpoint that follows, never behind it, as a
 * batch that comes again is said again. */
enum weir_status trainer_client_save_reported(struct weir_client *client,
                                              struct weir_error *err) WEIR_MUST_USE;
/* Reads what earlier sessions said of the samples in the state that the loop came with. */
void trainer_client_restore_reported(struct weir_client *client);
void trainer_client_remove_reported(const struct weir_client *client);
/* Writes the outputs of all `delivered` samples; `*ret_name` is their file in the task's directory, or "". INVALID when
 * some are missing. */
enum weir_status trainer_client_write_outputs(struct weir_client *client, uint64_t delivered,
                                              const char **ret_name,
                                              struct weir_error *err) WEIR_MUST_USE;

/* On rank 0, when all others have written theirs: makes them one file. The others hand none over. */
enum weir_status trainer_client_join_outputs(struct weir_client *client, const char **name,
                                             struct weir_error *err) WEIR_MUST_USE;

/* ---- finish.c ---- */

/* Tells the orchestrator what the run has come to, when that is due. Under `mutex`, on the I/O thread. */
void trainer_client_send_done(struct weir_client *client);

#endif
