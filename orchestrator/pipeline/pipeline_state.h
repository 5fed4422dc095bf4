/* The inside of a pipeline, shared by the files of this folder: one file per state does that state's work. */
#ifndef ORCHESTRATOR_PIPELINE_PIPELINE_STATE_H
#define ORCHESTRATOR_PIPELINE_PIPELINE_STATE_H

#include "orchestrator/judging/promotion.h"
#include "orchestrator/pipeline/pipeline.h"
#include "orchestrator/triggers/trigger.h"

struct reader;

/* Order that waits, in the pipeline's row; while it is REMOVING, what follows. */
// clang-format off
#define PENDING_ORDER_LIST(X)                                 \
    X(NONE,   "")                                             \
    X(PAUSE,  "pause")  /* once no trigger is under way */    \
    X(APPLY,  "apply")  /* the same */                        \
    X(REMOVE, "remove") /* once no erasure works on models */ \
    X(RERUN,  "rerun")  /* the same, and taken in again */
// clang-format on

enum pending_order {
#define X(name, text) PENDING_ORDER_##name,
    PENDING_ORDER_LIST(X)
#undef X
};

/* Rows that the states begin with. They come with the commit of each edge. */
enum pipeline_row {
    ROW_PIPELINE,
    ROW_DATASETS,
    ROW_TRIGGER,  /* the one under way; where none is, the newest */
    ROW_ROUND,    /* of its training */
    ROW_SCORER,   /* the model that it began to choose with, while that is there */
    ROW_HOLDOUTS, /* models that have learnt for it from what is held out */
    ROW_MODEL,    /* the newest that is stored */
    ROW_RUN,      /* the newest run that trains for it, in the order of enum run_row */
    ROW_RUN_BASE,
    ROW_RUN_BEFORE,
    ROW_NEXT, /* the trigger behind it, if that has fired already */
    ROWS
};

struct pipeline_rows {
    struct weir_rows *of[ROWS];
    uint64_t changes; /* of the database when they were read; 0: they were not */
};

/* A round of a trigger's training, from 0. */
struct trigger_round {
    int64_t number;
    int64_t attempt;        /* from 1: an erasure may have taken an earlier one away */
    uint64_t epochs;        /* 0: the training has no rounds, or this one has no set yet */
    uint64_t epochs_before; /* of the rounds before it */
    bool is_last;
    const char *model; /* of the round before; "": this is the first */
};

/* A trigger, as its row has it. Texts are borrowed from there. */
struct trigger_row {
    int64_t number; /* 0: none yet */
    const char *state;
    const char *reason;
    int64_t samples_new;
    int64_t until_time, until_id;
    struct weir_bytes positions;
    const char *set_digest, *set_path;
    int64_t samples;
    struct trigger_round round; /* of the one under way */
};

struct pipeline {
    struct pipelines *all;
    struct context *context;
    struct pipeline *next;
    int64_t id;
    int64_t generation; /* of those that were taken in under its name: 1, 2, … */
    char *owner;        /* tenant; "": none */
    char *file;
    struct weir_buf text;
    struct pipeline_edition *editions; /* files that it had; newest first; NULL: none */
    char *next_file;                   /* file to be applied, or to be rerun with; NULL: none */
    struct weir_buf next_text;
    struct orchestrator_config *config;
    enum pipeline_state state;
    char *error;
    bool attached; /* declared to storage and selector since this process began */
    bool begun;    /* it works, or has worked, in this process */
    bool parked;   /* waits for an erasure */
    enum pending_order pending_order;
    struct msg_selection_forgotten forgotten; /* REMOVING: what the selector gave back */
    size_t readers_left;                      /* and whose end storage has not confirmed */
    int64_t successor;                        /* row that goes on under its name; 0: none */
    bool caught_up; /* what was to be measured before this process began has been planned */
    /* itself: of evaluations that run beside the pipeline's states */
    struct pipeline *evaluation_owner;
    uint64_t timer;
    uint64_t erased; /* samples erased and not yet reported to the trigger policy */
    uint64_t datasets[ORCHESTRATOR_DATASETS_MAX];
    uint64_t positions[ORCHESTRATOR_DATASETS_MAX];
    size_t dataset_count;
    int64_t scores_run;           /* run whose outputs the selector is taking over */
    size_t asking;                /* index of the dataset that a request is open for */
    bool has_samples;             /* SCANNING: a dataset before that one has had some */
    int64_t after_time, after_id; /* samples up to here belong to a trigger */
    int64_t end_time;
    /* Samples passed since the newest trigger, and the newest of them: live, or up to a check. */
    uint64_t pending;
    int64_t pending_time, pending_id;
    int64_t pending_us; /* live: when the first of them became visible; 0: none has */
    int64_t checks;     /* of the trigger policy, made so far */
    struct weir_buf trigger_saved;
    struct trigger_row newest;
    struct pipeline_rows rows;      /* as they were loaded last; what is above is taken from them */
    struct pipeline_rows committed; /* as they were after the last edge */
    struct promotion_wait judging;
    struct reader *reader;
};

typedef enum weir_status pipeline_effect_fn(struct pipeline *pipeline, const void *what,
                                            struct weir_error *err);

/* The only writer of the state: commits the edge with its effect, then begins the new state's work. Trouble that may
 * pass begins the old state's work again, other trouble fails the pipeline; false in both cases. */
bool orchestrator_pipeline_advance(struct pipeline *pipeline, enum pipeline_event event,
                                   pipeline_effect_fn *effect, const void *what);
/* A step's reaction to an error. */
void orchestrator_pipeline_trouble(struct pipeline *pipeline, enum weir_status status,
                                   const struct weir_error *err);
/* The same of what a service answers, or this process has written itself: a disk that is full or away comes back, or
 * somebody sees to it. It is told, and tried again until it can. */
void orchestrator_pipeline_hindered(struct pipeline *pipeline, enum weir_status status,
                                    const struct weir_error *err);
/* Begins the state's work (again) after a pause. */
void orchestrator_pipeline_begin_after(struct pipeline *pipeline, int64_t delay_ms);
/* Drops every open request of this pipeline, and what is measured beside its states, which is planned again when the
 * pipeline goes on. */
void orchestrator_pipeline_break_off(struct pipeline *pipeline);
/* Storage need keep no changes for its readers; if that is lost, they expire. `done` (NULL: nobody
 * waits) is called with the pipeline for each of them. */
enum { PIPELINE_READERS = 2 };
void orchestrator_pipeline_end_feed(struct pipeline *pipeline, weir_rpc_done_fn *done);
/* Takes the edge that a pending order asks for, where that is allowed now. True: it was taken, or has to wait. */
bool orchestrator_pipeline_grant_order(struct pipeline *pipeline);
/* The same of an order to apply another file (applying.c). */
bool orchestrator_pipeline_take_file(struct pipeline *pipeline);
/* Reads the files that the pipeline had. */
enum weir_status orchestrator_pipeline_load_editions(struct pipeline *pipeline,
                                                     struct weir_error *err) WEIR_MUST_USE;
void orchestrator_pipeline_free_editions(struct pipeline *pipeline);
/* Closes the jobs of runs that are not done, and removes their files. */
enum weir_status orchestrator_pipeline_drop_runs(const struct pipeline *pipeline,
                                                 struct weir_error *err) WEIR_MUST_USE;
/* True when no trigger of its is under way, as `newest` has been loaded. */
bool orchestrator_pipeline_is_through(const struct pipeline *pipeline);
/* True while an erasure works on models, so that no trigger begins and no model is dropped. */
bool orchestrator_pipeline_erasure_claims(const struct pipeline *pipeline);
enum pending_order orchestrator_pipeline_order_from_name(const char *name);
/* In memory from now on; takes `config` over. */
struct pipeline *orchestrator_pipeline_keep(struct pipelines *pipelines, int64_t id,
                                            const char *file, struct weir_bytes text,
                                            struct orchestrator_config *config);
/* Remembers the file of an order. */
void orchestrator_pipeline_keep_next(struct pipeline *pipeline, const char *file,
                                     struct weir_bytes text);

/* Tells storage and selector about the pipeline, then begins the state's work. */
void orchestrator_pipeline_attach(struct pipeline *pipeline);

/* The work of each state, one file each. Every one may be begun again from its front. */
void orchestrator_pipeline_declare(struct pipeline *pipeline);
void orchestrator_pipeline_scan(struct pipeline *pipeline);
void orchestrator_pipeline_read(struct pipeline *pipeline);
void orchestrator_pipeline_measure(struct pipeline *pipeline);
void orchestrator_pipeline_select(struct pipeline *pipeline);
void orchestrator_pipeline_score(struct pipeline *pipeline);
void orchestrator_pipeline_hold_out(struct pipeline *pipeline);
void orchestrator_pipeline_train(struct pipeline *pipeline);
void orchestrator_pipeline_renew(struct pipeline *pipeline);
void orchestrator_pipeline_store(struct pipeline *pipeline);
void orchestrator_pipeline_evaluate(struct pipeline *pipeline);
void orchestrator_pipeline_finish(struct pipeline *pipeline);
void orchestrator_pipeline_clear(struct pipeline *pipeline);

/* reading.c hands over when the policy fires (or at the end of the data); live pipelines read with following.c. */
void orchestrator_pipeline_read_replay(struct pipeline *pipeline);
void orchestrator_pipeline_read_live(struct pipeline *pipeline);
void orchestrator_pipeline_reader_free(struct reader *reader);

/* Fills the row in, of `rows`, which it borrows. */
void orchestrator_pipeline_take_trigger(const struct weir_rows *rows,
                                        struct trigger_row *ret_trigger);
/* Inside a transaction: of the trigger under way, models of rounds go, but for `kept` ("": all do). Their files go with
 * orchestrator_models_end_dropping(). */
enum weir_status orchestrator_pipeline_drop_rounds(const struct pipeline *pipeline,
                                                   const char *kept,
                                                   struct weir_error *err) WEIR_MUST_USE;
/* "WHAT/TRIGGER", or "WHAT/TRIGGER/ROUND/ATTEMPT" of any but the first: names what happens to the trigger under way. */
char *orchestrator_pipeline_round_key(const struct pipeline *pipeline,
                                      const char *what) WEIR_MUST_USE;
/* {round: from 1, epochs} of a round with so many, {} with 0: the training has none. */
json_t *orchestrator_pipeline_round_json(const struct pipeline *pipeline, uint64_t epochs);
/* Statements asked together with the commit of an edge; their answers are kept until the next state begins. */
void orchestrator_pipeline_ask_rows(const struct pipeline *pipeline, struct weir_asked asked[ROWS]);
void orchestrator_pipeline_keep_rows(struct pipeline *pipeline,
                                     const struct weir_asked asked[ROWS]);
void orchestrator_pipeline_rows_fini(struct pipeline_rows *rows);
/* Takes what the rows of the pipeline say, read again unless nothing has changed since. */
enum weir_status orchestrator_pipeline_load(struct pipeline *pipeline,
                                            struct weir_error *err) WEIR_MUST_USE;
/* Name of the newest model that is stored, as it was loaded; NULL: there is none. Borrowed. */
const char *orchestrator_pipeline_newest_model(const struct pipeline *pipeline);
/* The policy as it stood after the newest trigger. */
enum weir_status orchestrator_pipeline_open_trigger(const struct pipeline *pipeline,
                                                    struct trigger **ret_trigger,
                                                    struct weir_error *err) WEIR_MUST_USE;

/* A trigger that has just fired. */
struct fired {
    const struct trigger *policy; /* fired() has been called */
    const char *reason;
    uint64_t samples_new;
    int64_t until_time, until_id;
    int64_t arrived_us; /* live: when the first of the new samples became visible; 0: replay */
    const uint64_t *positions;
    json_t *decision; /* of the check that it fired at; NULL: it was none */
};
/* Effect of TRIGGERED. */
enum weir_status orchestrator_pipeline_effect_fired(struct pipeline *pipeline, const void *what,
                                                    struct weir_error *err);

/* ---- ahead.c ---- */

/* TRAINING: reads on past the trigger under way, if the policy can tell without it. */
void orchestrator_pipeline_look_ahead(struct pipeline *pipeline);
/* True when pipeline->reader, if there is one, reads ahead. */
bool orchestrator_pipeline_is_ahead(const struct pipeline *pipeline);
void orchestrator_pipeline_look_no_further(struct pipeline *pipeline);
/* True when the trigger after the one under way, as its rows were loaded, has fired already, and neither an order nor
 * an erasure comes between. */
bool orchestrator_pipeline_goes_on(const struct pipeline *pipeline);
/* Commits the trigger after the one under way. False: it could not, or may not, and looks no further. */
bool orchestrator_pipeline_fire_ahead(struct pipeline *pipeline, const struct fired *fired);
/* Has that trigger's set chosen. */
void orchestrator_pipeline_prepare_ahead(struct pipeline *pipeline);
void orchestrator_pipeline_select_ahead(struct pipeline *pipeline, const struct trigger_row *next);
/* A reading step's reaction to an error: ahead, READING will try again. */
void orchestrator_pipeline_reading_trouble(struct pipeline *pipeline, enum weir_status status,
                                           const struct weir_error *err);

#endif
