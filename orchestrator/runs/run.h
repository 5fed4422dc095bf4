/* A run: one sample set through the dispatcher to one trainer, or a group of them, to the end, once. It is asked for by
 * purpose; the same purpose is never run twice. Its number is the dispatcher's job number.
 *
 *     open     the job is opened, a trainer works (started again when it dies)
 *     trained  the trainer is done, the audit is awaited
 *     done     audited            failed  the trainer failed too often, or samples were lost
 *
 * Owned by: struct runs. Survives: a crash between any two steps. */
#ifndef ORCHESTRATOR_RUNS_RUN_H
#define ORCHESTRATOR_RUNS_RUN_H

#include "orchestrator/config/outline.h"
#include "orchestrator/context/context.h"
#include "orchestrator/models/run_result.h"
#include "orchestrator/pool/pool.h"
#include "orchestrator/runs/group.h"
#include "orchestrator/runs/run_watch.h"
#include "orchestrator/runs/tally.h"
#include "orchestrator/sharing/quotas.h"

#include <sys/queue.h>

enum {
    /* Of trainers that were killed by a signal, or had no answer of the platform; other ends count against
     * training.retries. */
    RUN_DEATHS_MAX = 20
};

/* Purposes of runs that somebody at a command line waits for begin so: nobody takes them up again. */
#define ORCHESTRATOR_RUN_PREDICTS "predict/"

/* Of the data directory: lists of batch digests, see run_digests.c. */
#define RUN_DIGESTS_FOLDER "digests"

struct run;
struct warm_trainers;

/* Owned by: struct orchestrator. */
struct runs {
    struct context *context;
    struct pool *pool; /* of workers, which hears of jobs; NULL: none */
    struct orchestrator_trainers trainers;
    struct arbiter *arbiter;    /* of trainers */
    struct run_watch *watch;    /* their processes */
    struct warm_trainers *warm; /* those that stay */
    /* Backed by the room of pipelines; NULL: none does. True while the pipeline is on its way to a model, or soon. */
    bool (*is_at_trigger)(void *pipelines, int64_t pipeline);
    void *pipelines;
    LIST_HEAD(, run) all;
    bool keep_digests;       /* of all batches, whatever pipelines say */
    bool explains;           /* an event tells the plan of each training */
    bool are_held;           /* an erasure purges what runs left behind: none begins */
    unsigned trainers_alive; /* processes, those included that were asked to stop */
    struct run_tallies tallies;
};

/* Rows that are read of a run, all each time: its own, of the model that it starts from, of the training before it. */
enum run_row { RUN_ROW, RUN_BASE, RUN_BEFORE, RUN_ROWS };

struct run_wanted {
    struct pipeline_outline pipeline;
    const char *purpose; /* unique per pipeline: "train/3" */
    const char *mode;    /* train, evaluate, predict, export */
    int64_t trigger;
    const char *set_digest;
    const char *set_path;
    uint64_t epochs;
    uint64_t epochs_before,
        epochs_in_all; /* of the training that it is a round of; in all 0: it is all of it */
    uint64_t seed;
    const char *base_model; /* id, or NULL: initial weights */
    const char *options;    /* of the task, as JSON; NULL: those of the pipeline's program */
    /* RUN_ROWS, taken if it is done, or was added and not started; NULL: they are not read. */
    struct weir_rows **known;
};

/* Reads the columns cpu_ns, worker_cpu_ns, bytes_read, bytes_sent and gpu_ns. */
struct orchestrator_cost orchestrator_run_cost(const struct weir_rows *rows, size_t row);

/* Called once from the loop: with the result (valid during the call), or NULL and why not. */
typedef void run_done_fn(void *owner, const struct run_result *result,
                         const struct weir_error *err);

/* Inside a transaction: makes the run of that purpose, unless there is one. */
enum weir_status orchestrator_run_add(const struct runs *runs, const struct run_wanted *wanted,
                                      struct weir_error *err) WEIR_MUST_USE;
/* Finds or makes the run of that purpose and sees it through. A run that has failed is tried again.
 * UNAVAILABLE when the database is away; `done` is not called then. */
enum weir_status orchestrator_run_start(struct runs *runs, const struct run_wanted *wanted,
                                        run_done_fn *done, void *owner,
                                        struct weir_error *err) WEIR_MUST_USE;
/* Drops the runs of an owner that is gone; their trainers are ended. */
void orchestrator_run_forget(struct runs *runs, const void *owner);
void orchestrator_runs_free(struct runs *runs);
/* Takes in what workers have done for a run so far, if it is not over, and is said by the dispatcher. */
void orchestrator_run_worked(struct runs *runs, int64_t number, const struct run_work *work);
/* Pipeline of a run that is not over; 0: it is, or it is unknown. */
int64_t orchestrator_run_pipeline(const struct runs *runs, int64_t number);
/* Number of the runs of a pipeline that are not over. */
size_t orchestrator_runs_in_flight(const struct runs *runs, int64_t pipeline);
/* True while a run has begun and is not over. */
bool orchestrator_runs_under_way(const struct runs *runs);
/* Numbers of the runs that have not begun; returns their count. `*ret_numbers` is the caller's to free. */
size_t orchestrator_runs_waiting(const struct runs *runs, int64_t **ret_numbers);
/* Charges pipelines with the runs of earlier processes. */
enum weir_status orchestrator_runs_recall(struct runs *runs, struct weir_error *err) WEIR_MUST_USE;

/* The number of a run that was started. */
enum weir_status orchestrator_run_number(const struct runs *runs, const struct run_wanted *wanted,
                                         int64_t *ret_number, struct weir_error *err) WEIR_MUST_USE;
/* Removes the files of runs that an earlier process began and nobody takes up again, and folders of its trainers. */
enum weir_status orchestrator_runs_sweep(const struct runs *runs,
                                         struct weir_error *err) WEIR_MUST_USE;
/* Removes the directory of a run's files. */
enum weir_status orchestrator_run_remove_files(const struct context *context, int64_t number,
                                               struct weir_error *err) WEIR_MUST_USE;

/* The process of a run, of that rank, has ended. */
void orchestrator_run_exited(struct runs *runs, int64_t number, uint32_t rank,
                             const struct run_exit *ended);

/* Trainers that stay; `runs` outlives them. When they are freed, their processes are gone. */
struct warm_trainers *orchestrator_warm_new(struct runs *runs);
void orchestrator_warm_free(struct warm_trainers *warm);
/* Tells those that wait for a run of the pipeline (0: of any) to leave, and the log why. */
void orchestrator_warm_end(struct warm_trainers *warm, int64_t pipeline, const char *why);

/* Progress of a trainer that works now, for a pipeline (0: for any), for people. False: none. */
struct run_progress {
    int64_t number;
    int64_t pipeline;
    int64_t trigger;
    const char *mode; /* until the next step of the run */
    uint64_t samples, samples_total;
    double loss;
    int64_t busy_ns, wait_ns;
    const char *metrics; /* JSON object, until the next message of its trainer; NULL: none */
    char stage[16]; /* what it has waited for lately: see docs/reference/json.md; "": not known */
};
bool orchestrator_run_progress(const struct runs *runs, int64_t pipeline,
                               struct run_progress *ret_progress);
/* The same of one run. */
bool orchestrator_run_progress_of(const struct runs *runs, int64_t number,
                                  struct run_progress *ret_progress);

/* Messages of trainers: answers run_request, run_beat, run_done, and, at once or later, run_next. */
void orchestrator_run_assign(struct runs *runs, struct weir_request *request);
void orchestrator_run_beats(struct runs *runs, struct weir_request *request);
void orchestrator_run_finished(struct runs *runs, struct weir_request *request);
void orchestrator_run_next(struct runs *runs, struct weir_request *request);

#endif
