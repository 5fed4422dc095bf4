/* What the selector is busy with: one request, or one reading of the feeds. A task reads the change
 * feed past what it needs, gathers candidates (asking storage for columns it lacks), chooses, seals,
 * and answers. It keeps nothing that matters: killed anywhere, the same request leads to the same
 * answer.
 *
 * Tasks are stepped one after the other, in the order they came. One that chooses leaves the loop
 * to the others until its thread is through; only what is asked in the same way of the same
 * pipeline waits for it. A choice is of the candidates as they were gathered. What is erased while
 * it is made makes it begin anew once the scores of the erased are to be forgotten: see
 * task_purge.c. */
#ifndef SELECTOR_TASKS_TASK_H
#define SELECTOR_TASKS_TASK_H

#include "core/loop/work.h"
#include "core/rpc/rpc.h"
#include "selector/choices/candidates.h"
#include "selector/choices/preview.h"
#include "selector/pipelines/pipeline.h"
#include "selector/sets/sealed.h"

enum {
    SELECTOR_TASKS_MAX = 1024,
    SELECTOR_LANES = 2, /* choices that are made at the same time: a short one passes a long one */
};

/* How often an erasure makes a choice begin anew; after that it is finished first. */
enum { SELECTOR_BEGUN_ANEW_MAX = 3 };

/* Where a choice is made. */
struct selector_lane {
    struct weir_db *db; /* its thread's own connection */
    bool is_taken;
};

/* The tasks, and what they share. Owned by: struct selector. */
struct selector_queue {
    struct weir_loop *loop;
    struct weir_rpc_server *server;
    struct weir_rpc_peer *storage;
    struct weir_db *db;
    char *data_dir;
    struct selector_pipelines pipelines;
    struct selector_columns columns;
    struct selector_task *first; /* in the order they came */
    size_t count;
    struct selector_task *stepping; /* it alone may change pipelines and columns; NULL: nobody */
    uint64_t next_timer;            /* when the next one is looked for; 0: not soon */
    struct selector_lane lanes[SELECTOR_LANES];
};

/* ---- for handlers: a request that waits already is not queued twice: its answer goes to whoever
 * asked last ---- */

void selector_task_open(struct selector_queue *queue, const struct weir_request *request);
void selector_task_select(struct selector_queue *queue, const struct weir_request *request);
void selector_task_interval(struct selector_queue *queue, const struct weir_request *request);
void selector_task_preview(struct selector_queue *queue, const struct weir_request *request);
void selector_task_purge(struct selector_queue *queue, const struct weir_request *request);
/* Reads the feeds of a pipeline; nobody waits for it. */
void selector_task_follow(struct selector_queue *queue, const char *pipeline);
/* Whether anything is under way, or waits, for this pipeline. */
bool selector_task_is_busy_with(const struct selector_queue *queue, const char *pipeline);
/* Forgets all tasks without answering them. */
void selector_task_drop_all(struct selector_queue *queue);

/* ---- between the queue (task_queue.c) and the steps (task_steps.h) ---- */

enum selector_task_kind {
    SELECTOR_OPEN,
    SELECTOR_FOLLOW,
    SELECTOR_SELECT,
    SELECTOR_INTERVAL,
    SELECTOR_FORGET,  /* scores of samples that are gone */
    SELECTOR_PREVIEW, /* a selection of the trigger that comes next, of which nothing stays */
};

/* START, ADVANCE (the feeds), GATHER (candidates), CHOOSE, in this order; then SEAL, or SHOW for a preview. PURGE needs
 * no candidates. */
enum selector_phase {
    SELECTOR_START,
    SELECTOR_ADVANCE,
    SELECTOR_GATHER,
    SELECTOR_CHOOSE,
    SELECTOR_SEAL,
    SELECTOR_SHOW,
    SELECTOR_PURGE,
};

/* What a model has to score before a choice by scores is possible; or, before that, what one has to learn from. */
struct selector_wish {
    const char *mode;
    const char *model; /* of the holdout, which scores; NULL: the one that the trigger keeps to */
    struct selector_set unscored;
    uint64_t candidates; /* with those that have a score */
    bool trains;   /* a model of the holdout is to be trained on `unscored`, not to score them */
    uint32_t half; /* then: of two models which */
    struct selector_sealed sealed;
};

struct selector_task {
    struct selector_task *next;
    struct selector_queue *queue;
    enum selector_task_kind kind;
    enum selector_phase phase;
    struct weir_route route; /* of whoever waits; a following: nobody */

    /* The request; texts and arrays lie in `arena`. */
    struct weir_arena *arena;
    union {
        struct msg_selection_open open;
        struct msg_select select;
        struct msg_interval_seal interval;
    } asked;
    const char *pipeline_name;
    struct weir_u64s positions;

    /* Progress. */
    struct selector_pipeline
        *pipeline;  /* borrowed while the task is stepped, held while it chooses */
    size_t dataset; /* place in the pipeline, or in its ascending order */
    size_t block;
    uint64_t *heads; /* how far each feed is to be read; UINT64_MAX: not known yet */
    uint64_t *after; /* candidates were added behind this, per dataset */
    struct selector_window window;
    struct selector_candidates candidates;
    uint64_t mask[SELECTOR_MASK_WORDS];

    /* The choice. While there is work, all of this and the candidates are its thread's; the loop may only look at
     * who the candidates are. */
    struct selector_lane *lane; /* from the start on; NULL: it needs none */
    struct weir_work *work;     /* the loop's */
    bool is_overtaken;          /* the loop's: begin anew when the thread has given up */
    uint32_t begun_anew;
    struct selector_pipeline
        frozen; /* the pipeline, with a history and, where it is needed, a pool of its own */
    struct selector_columns columns;
    struct selector_ends ends; /* of the earlier triggers, when they are needed */
    struct selector_sources sources;
    struct selector_wish wish;
    struct selector_sealed sealed;
    struct selector_preview preview;
    enum weir_status status;
    struct weir_error err;
};

/* Lets go of candidates, choice and what was held for it; there is no work. */
void selector_task_forget_choice(struct selector_task *task);
/* Goes on until storage has to be asked, a thread has work to do, or the task is over. */
void selector_task_step(struct selector_task *task);
/* The task is stepped no more for now: others are. */
void selector_task_yield(struct selector_task *task);
/* Ends a task: with an answer, with a refusal, or with nobody to tell. */
void selector_task_end(struct selector_task *task);
void selector_task_answer_preview(struct selector_task *task, const struct msg_preview_is *preview);
void selector_task_answer(struct selector_task *task, const struct selector_sealed *sealed);
void selector_task_fail(struct selector_task *task, const struct weir_error *err);

#endif
