/* The inside of a run, shared by the files of this folder. */
#ifndef ORCHESTRATOR_RUNS_RUN_STATE_H
#define ORCHESTRATOR_RUNS_RUN_STATE_H

#include "core/base/hash.h"
#include "orchestrator/runs/run.h"

/* The end of a run as rank 0 tells it. */
struct run_outcome {
    struct weir_rpc_server *server; /* server whose answer the ranks wait for */
    double loss;
    int64_t first_us; /* when it had its first batch; 0: it had none */
    char *model, *outputs, *metrics;
    struct weir_buf fitted;
};

struct run {
    struct runs *runs;
    struct context *context;
    LIST_ENTRY(run) link;
    struct weir_rows *row;    /* the texts below are borrowed from it */
    struct weir_rows *base;   /* the model's that it starts from, or uses; NULL: not read */
    struct weir_rows *before; /* the training's before it; NULL: the same */
    uint64_t changes;         /* of the database when they were read */
    int64_t number;
    char token[WEIR_DIGEST_TEXT_MAX]; /* 128 random bits, that its trainers must show */
    int64_t pipeline;
    struct pipeline_outline outline; /* the same */
    int64_t trigger;
    char *options; /* of its task, as JSON; NULL: those of the pipeline's program */
    const char *purpose, *mode, *set_digest, *set_path, *base_model;
    int64_t clean_epoch;
    uint64_t epochs, epochs_before, epochs_in_all, seed;
    char *directory;
    char *start_from;         /* file of the base model, or "" */
    struct weir_buf fitted;   /* of the base model, when it is used as it is */
    size_t described;         /* index of the dataset that storage is asked about */
    struct weir_buf tables;   /* as in job_open */
    struct weir_arena *arena; /* class names */
    const char *const *classes;
    size_t class_count;
    uint32_t label_kind, label_width;
    run_done_fn *done;
    void *owner;
    uint64_t timer;
    /* run that its trainer did before, being idle since; 0: it was started for this one */
    int64_t followed;
    bool is_unheard;        /* such a trainer has said nothing of its work on this run yet */
    int port_holder;        /* keeps the port at which its processes meet; -1: none */
    struct run_group group; /* its processes, and what they have said */
    /* as rank 0 has handed it over, while the other ranks are waited for */
    struct run_outcome outcome;
    bool is_under_way; /* it has begun: it may have files, and a job at the dispatcher */
    bool launched;     /* a trainer's process is there */
    bool trained;      /* the trainer has finished: its end is no failure */
    unsigned exits, deaths;
    struct weir_error failure; /* of its newest trainer */
    bool is_over;              /* it has failed too often */
    uint64_t batches;          /* of the job; 0: not known */
    /* as its trainers last said; number 0: they have not. Texts: see show() */
    struct run_progress progress;
    struct run_counted counted;
    bool is_counted; /* from when it was first taken up */
    char *metrics;   /* as the trainer last said, a JSON object; NULL: nothing */
};

/* The future of the samples of a training, as far as it can be foretold. */
struct run_foresight {
    double later; /* trainings after it that a sample is expected to be in, on average */
    double seen;  /* share of its set that the training before it had */
};
struct run_foresight orchestrator_run_foresee(const struct run *run);
/* Steps, each begun again from the front after trouble that may pass. */
void orchestrator_run_begin(void *owner);
void orchestrator_run_audit(struct run *run);
/* Tells its plan, then closes it. */
void orchestrator_run_explain(struct run *run);
/* Ends it with its result, and its job. */
void orchestrator_run_close(struct run *run);
/* The run is over: with its result, or with `err`; its owner is called, and it is freed. */
void orchestrator_run_end(struct run *run, const struct weir_error *err);
/* A step's reaction to an error: the run begins again, or is over. */
void orchestrator_run_trouble(struct run *run, enum weir_status status,
                              const struct weir_error *err);
void orchestrator_run_schedule(struct run *run, int64_t delay_ms, weir_loop_timer_fn *step);
struct run *orchestrator_run_find(const struct runs *runs, int64_t number);
/* Asks the arbiter. False: the run begins again when it is given a slot. INVALID: it never will be. */
enum weir_status orchestrator_run_request_slot(struct run *run, bool *ret_has,
                                               struct weir_error *err) WEIR_MUST_USE;
/* Processes that do it: of a training as many as training.ranks says. */
uint32_t orchestrator_run_ranks(const struct run *run);
/* An idle trainer, of that session and key, does it. */
void orchestrator_run_given(struct run *run, uint64_t session, uint64_t key);
/* Starts all of them. EXISTS while one of an earlier life is there. After a failure none stays. */
enum weir_status orchestrator_run_launch(struct run *run, struct weir_error *err) WEIR_MUST_USE;
/* Records the run as trained and answers the ranks that wait, once all are done. A database that is away refuses them:
 * they say it again. */
void orchestrator_run_settle(struct run *run);
/* Its processes meet no more. */
void orchestrator_run_part(struct run *run);
void orchestrator_run_outcome_clear(struct run_outcome *outcome);
/* For how long the run's trainer has held its slot since this was asked last. */
int64_t orchestrator_run_bill_ns(struct runs *runs, int64_t number);
/* The run is over, or begins again later: its slot is free, unless a process of it is there, whose end frees it. */
void orchestrator_run_release_slot(struct runs *runs, int64_t number);
/* Name of the user's program that does it; NULL: the built-in one does. Borrowed. */
const char *orchestrator_run_program(const struct run *run);
/* True of one whose samples are written to a folder. */
bool orchestrator_run_is_export(const struct run *run);
/* GPUs that its trainer needs. */
uint64_t orchestrator_run_gpus(const struct run *run);
/* Its trainer, as a process is made for it. Texts are borrowed. */
struct orchestrator_trainer orchestrator_run_trainer(const struct run *run);
/* Answers a trainer that asks what to do. */
void orchestrator_run_tell(const struct run *run, struct weir_rpc_server *server,
                           const struct weir_route *route);
void orchestrator_run_ask_rows(const struct run *run, struct weir_asked asked[RUN_ROWS]);
/* Takes what came of it; what the run points to changes. NOT_FOUND: an erasure has purged it. */
enum weir_status orchestrator_run_keep_rows(struct run *run,
                                            const struct weir_asked asked[RUN_ROWS],
                                            struct weir_error *err) WEIR_MUST_USE;
void orchestrator_run_drop_rows(struct run *run);
/* Reads the row again, unless nothing has changed since. */
enum weir_status orchestrator_run_load(struct run *run, struct weir_error *err) WEIR_MUST_USE;
/* The same behind a statement that changes it, in the same round trip. */
enum weir_status orchestrator_run_change(struct run *run, struct weir_asked change,
                                         struct weir_error *err) WEIR_MUST_USE;
/* "open", "trained", "done" or "failed". */
const char *orchestrator_run_row_state(const struct run *run);
/* The result as the row has it. */
void orchestrator_run_result_of(const struct run *run, struct run_result *ret_result);
/* Values that a model of this run predicts per sample. */
uint32_t orchestrator_run_outputs(const struct run *run);

/* Keeps the lists that its trainers have left in its folder, once; what is missing is not kept. */
void orchestrator_run_keep_digests(const struct run *run);

/* ---- warm.c ---- */

/* A process was started for the run. */
void orchestrator_warm_launched(struct warm_trainers *warm, const struct run *run);
/* The run's trainer has asked what to do, in a session. */
void orchestrator_warm_hear(struct warm_trainers *warm, const struct run *run);
/* The run's result is recorded; its files stay where its row says. */
void orchestrator_warm_finished(struct warm_trainers *warm, const struct run *run);
/* The process that is known by that run is gone. */
void orchestrator_warm_exited(struct warm_trainers *warm, int64_t run);
/* True when one of its pipeline and program has just finished, and is about to ask for the next run. */
bool orchestrator_warm_is_coming(const struct warm_trainers *warm, const struct run *run);
/* Gives the run to an idle trainer of its pipeline and program, if there is one. */
bool orchestrator_warm_give(struct warm_trainers *warm, struct run *run);
/* True when idle trainers have to end before a process is started for the run: they hold GPUs that are its own now, or
 * its name. They are told to. */
bool orchestrator_warm_must_end(struct warm_trainers *warm, const struct run *run);

#endif
