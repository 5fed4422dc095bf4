/* A pipeline: its file, its state (machine.h), and what it is doing right now. All pipelines of the data directory are
 * in memory; those at rest do nothing.
 *
 * Owned by: struct pipelines. Survives: a crash between any two edges. */
#ifndef ORCHESTRATOR_PIPELINE_PIPELINE_H
#define ORCHESTRATOR_PIPELINE_PIPELINE_H

#include "orchestrator/config/config.h"
#include "orchestrator/config/outline.h"
#include "orchestrator/judging/evaluator.h"
#include "orchestrator/pipeline/machine.h"

struct pipeline;
struct erasures;

/* Erasures come before triggers: whether one works on models, and how it hears that a pipeline has made way. */
struct pipelines_precedence {
    struct erasures *erasures; /* NULL: none yet */
    bool (*claims)(const struct erasures *erasures);
    void (*look_again)(struct erasures *erasures);
};

/* Owned by: struct orchestrator. */
struct pipelines {
    struct context *context;
    struct runs *runs;
    struct evaluators *evaluators;
    struct pipeline *first;               /* newest first */
    const struct weir_yaml_node *budgets; /* of the system file; NULL: none */
    struct pipelines_precedence precedence;
    const char *dataset_going; /* being removed; NULL: none */
    bool are_held;             /* unfinished ones stay as they are */
};

/* Reads all pipelines from Postgres and, unless the orchestrator holds, sets the unfinished ones going. */
enum weir_status orchestrator_pipelines_load(struct pipelines *pipelines,
                                             struct weir_error *err) WEIR_MUST_USE;
void orchestrator_pipelines_free(struct pipelines *pipelines);
/* The pipelines may have come between two triggers, or an erasure may be through: whoever waits looks again. */
void orchestrator_pipelines_look_again(struct pipelines *pipelines);
/* Keeps every pipeline from beginning another trigger, as long as orchestrator_erasures_claim(). True: none is amidst
 * one. */
bool orchestrator_pipelines_make_way(struct pipelines *pipelines);

/* Fate of a file that was handed in. */
enum pipeline_submitted {
    PIPELINE_TAKEN_IN,
    PIPELINE_KNOWN,    /* with this very file */
    PIPELINE_REPLACED, /* it had no trigger yet: it goes, and the file is taken in after that */
};
/* A pipeline file as it is handed in. */
struct pipeline_file {
    const char *name; /* for messages */
    struct weir_bytes text;
    const char *owner; /* tenant whose pipeline it is, if it is a new one; "": of none */
};
/* Takes a pipeline file in, or finds the pipeline of that name as it is; a new one begins unless
 * the orchestrator holds. EXISTS when the name is taken by another file that has had triggers. */
enum weir_status orchestrator_pipeline_submit(struct pipelines *pipelines,
                                              const struct pipeline_file *file,
                                              struct pipeline **ret_pipeline,
                                              enum pipeline_submitted *ret_how,
                                              struct weir_error *err) WEIR_MUST_USE;
/* The same, and it goes on: an unfinished one too where the orchestrator holds; a paused, stopped or failed one is
 * resumed; a finished one stays. */
enum weir_status orchestrator_pipeline_run(struct pipelines *pipelines,
                                           const struct pipeline_file *file,
                                           struct pipeline **ret_pipeline,
                                           struct weir_error *err) WEIR_MUST_USE;

/* Inside a transaction: a row for the same file under the same name, of the next generation. */
enum weir_status orchestrator_pipeline_add_row(struct pipelines *pipelines,
                                               const struct pipeline_file *file,
                                               const struct orchestrator_config *config,
                                               int64_t *ret_id,
                                               struct weir_error *err) WEIR_MUST_USE;
/* In memory as that row has it, the first of them, and begun unless the orchestrator holds. Takes `config` over. */
enum weir_status orchestrator_pipeline_begin_new(struct pipelines *pipelines, int64_t id,
                                                 const struct pipeline_file *file,
                                                 struct orchestrator_config *config,
                                                 struct weir_error *err) WEIR_MUST_USE;

/* Orders of people; each may be repeated. UNSUPPORTED, with what to do instead, where the state does not allow it. */
enum weir_status orchestrator_pipeline_pause(struct pipeline *pipeline,
                                             struct weir_error *err) WEIR_MUST_USE;
/* Breaks off what is under way; storage no longer keeps changes for it. */
enum weir_status orchestrator_pipeline_stop(struct pipeline *pipeline,
                                            struct weir_error *err) WEIR_MUST_USE;
/* Goes on, or tries again; withdraws a pause that has not come about. */
enum weir_status orchestrator_pipeline_resume(struct pipeline *pipeline,
                                              struct weir_error *err) WEIR_MUST_USE;
/* Breaks off what is under way, and gives back what nobody needs. With `again` the models stay, and
 * its file is taken in again at the end. */
enum weir_status orchestrator_pipeline_remove(struct pipeline *pipeline, bool again,
                                              struct weir_error *err) WEIR_MUST_USE;
/* The same, and another file takes the place of its own. */
enum weir_status orchestrator_pipeline_rerun_with(struct pipeline *pipeline, const char *file,
                                                  struct weir_bytes text,
                                                  struct weir_error *err) WEIR_MUST_USE;
/* Another file takes the place of its own between two triggers: models, lineage and position stay, and models are
 * used with the file that they were made with. A trigger that a pipeline at rest has not finished begins again. */
enum weir_status orchestrator_pipeline_apply(struct pipeline *pipeline, const char *file,
                                             struct weir_bytes text,
                                             struct weir_error *err) WEIR_MUST_USE;
bool orchestrator_pipeline_wants_removal(const struct pipeline *pipeline);
/* True from the order to remove it, or to begin it again, on. */
bool orchestrator_pipeline_is_leaving(const struct pipeline *pipeline);
/* The order that waits: "pause", "apply", "remove", "rerun" or "". */
const char *orchestrator_pipeline_order(const struct pipeline *pipeline);
/* Writes the name of a trigger's model to the caller's memory. */
char *orchestrator_pipeline_model_name(const struct pipeline *pipeline,
                                       int64_t trigger) WEIR_MUST_USE;

/* True while a trigger of the pipeline is under way, or, in a replay, the next one is looked for. `pipelines`: struct
 * pipelines. */
bool orchestrator_pipeline_is_at_trigger(void *pipelines, int64_t id);
struct pipeline *orchestrator_pipeline_by_id(const struct pipelines *pipelines, int64_t id);
/* None that is removed. */
struct pipeline *orchestrator_pipeline_by_name(const struct pipelines *pipelines, const char *name);
struct pipeline *orchestrator_pipeline_next(const struct pipeline *pipeline); /* or NULL */

int64_t orchestrator_pipeline_id(const struct pipeline *pipeline);
/* The tenant whose it is; "": of none. */
const char *orchestrator_pipeline_owner(const struct pipeline *pipeline);
/* True for whoever is of its tenant, or of none (""). */
bool orchestrator_pipeline_is_seen_by(const struct pipeline *pipeline, const char *tenant);
enum pipeline_state orchestrator_pipeline_state(const struct pipeline *pipeline);
/* Why it failed; "" when it did not. */
const char *orchestrator_pipeline_error(const struct pipeline *pipeline);
/* An erasure has put `text` in its place, if there is one: it may have quoted a record. */
void orchestrator_pipeline_forget_error(struct pipeline *pipeline, const char *text);
const struct orchestrator_config *orchestrator_pipeline_config(const struct pipeline *pipeline);
struct pipeline_outline orchestrator_pipeline_outline(const struct pipeline *pipeline);
/* Inside a transaction. What its trigger policy keeps of these samples goes. */
struct id_blocks;
enum weir_status orchestrator_pipeline_forget(struct pipeline *pipeline,
                                              const struct id_blocks *blocks,
                                              struct weir_error *err) WEIR_MUST_USE;
/* The evaluations of its file that are to be measured, by their `when`. */
enum {
    EVALUATE_AFTER_TRAINING = 1 << WHEN_AFTER_TRAINING,
    EVALUATE_AFTER_PIPELINE = 1 << WHEN_AFTER_PIPELINE,
    EVALUATE_ON_DEMAND = 1 << WHEN_ON_DEMAND,
    EVALUATE_ALWAYS = EVALUATE_AFTER_TRAINING | EVALUATE_AFTER_PIPELINE | EVALUATE_ON_DEMAND,
};
struct evaluation_wanted {
    unsigned when;          /* of these alone */
    bool newest;            /* what the newest model has made possible; else everything */
    bool ended;             /* no further model comes */
    const char *model;      /* this one alone; NULL: all */
    const char *evaluation; /* this one alone; NULL: all */
};
struct evaluation_tasks;
/* Appends it, as far as the data are there. What is done already is among it. */
enum weir_status orchestrator_pipeline_plan(const struct pipeline *pipeline,
                                            const struct evaluation_wanted *wanted,
                                            struct evaluation_tasks *tasks,
                                            struct weir_error *err) WEIR_MUST_USE;
/* Samples that its triggers may have covered were erased. */
void orchestrator_pipeline_erased(struct pipeline *pipeline, uint64_t count);

#endif
