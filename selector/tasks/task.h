/* Tasks of the selector: each is one request, or one reading of the feeds. A task reads the change
 * feed as far as it needs, gathers candidates (asking storage for columns it lacks), chooses, seals,
 * and answers. It keeps nothing that matters: killed anywhere, the same request leads to the same
 * answer.
 *
 * Tasks are stepped one after the other, in the order they came. One that chooses leaves the loop
 * to the others until its thread is through; only the same kind of request for the same
 * pipeline waits for it. A choice is of the candidates as they were gathered. An erasure while it
 * is made makes it begin again once the scores of the erased samples are to be forgotten: see
 * task_purge.c. */
#ifndef SELECTOR_TASKS_TASK_H
#define SELECTOR_TASKS_TASK_H

#include "core/loop/work.h"
#include "core/rpc/rpc.h"
#include "selector/choices/candidates.h"
#include "selector/choices/preview.h"
#include "selector/pipelines/pipeline.h"
#include "selector/sets/sealed.h"

#include <sys/queue.h>

enum {
    SELECTOR_TASKS_MAX = 1024,
    /* choices that are made at the same time: a short one passes a long one */
    SELECTOR_THREADS = 2,
};

/* Maximum number of times that an erasure makes a choice begin again; after that it is finished first. */
enum { SELECTOR_RESTARTS_MAX = 3 };

/* A thread that makes choices. */
struct selector_thread {
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
    TAILQ_HEAD(, selector_task) tasks; /* in the order they came */
    size_t count;
    void (*step)(struct selector_task *task); /* selector_task_step(): steps lie above the queue */
    struct selector_task *stepping; /* it alone may change pipelines and columns; NULL: none */
    bool is_wiping;                 /* columns are forgotten once nobody is stepped */
    uint64_t next_timer;            /* when the next one is looked for; 0: not soon */
    struct selector_thread threads[SELECTOR_THREADS];
};

enum selector_task_kind {
    SELECTOR_OPEN,
    SELECTOR_FOLLOW,
    SELECTOR_SELECT,
    SELECTOR_INTERVAL,
    SELECTOR_FORGET,  /* scores of samples that are gone */
    SELECTOR_PREVIEW, /* a selection of the next trigger, which is not kept */
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

/* Samples that a model has to score before a choice by scores is possible; or, before that, has to learn from. */
struct selector_model_request {
    const char *mode;
    const char *model; /* of the holdout, which scores; NULL: the one that the trigger keeps to */
    struct selector_set unscored;
    uint64_t candidates; /* with those that have a score */
    bool trains;   /* a model of the holdout is to be trained on `unscored`, not to score them */
    uint32_t half; /* then: number of the model, of two */
    struct selector_sealed sealed;
};

struct selector_task {
    TAILQ_ENTRY(selector_task) link;
    struct selector_queue *queue;
    enum selector_task_kind kind;
    enum selector_phase phase;
    struct weir_route route; /* reply route; unused by SELECTOR_FOLLOW */

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
    /* borrowed while the task is stepped, held while it chooses */
    struct selector_pipeline *pipeline;
    size_t dataset; /* place in the pipeline, or in its ascending order */
    size_t block;
    uint64_t *heads; /* end of reading of each feed; UINT64_MAX: not known yet */
    uint64_t *after; /* candidates were added after this, per dataset */
    struct selector_window window;
    struct selector_candidates candidates;
    uint64_t mask[SELECTOR_MASK_WORDS];

    /* The choice. While there is work, all of this and the candidates are its thread's; the loop may only read
     * the set of candidates. */
    struct selector_thread *thread; /* from the start on; NULL: it needs none */
    struct weir_work *work;         /* the loop's */
    bool is_overtaken;              /* the loop's: begin again when the thread has given up */
    uint32_t restarts;
    /* the pipeline, with a history and, where it is needed, a pool of its own */
    struct selector_pipeline frozen;
    struct selector_columns columns;
    struct selector_ends ends; /* of the earlier triggers, when they are needed */
    struct selector_sources sources;
    struct selector_model_request model_request;
    struct selector_sealed sealed;
    struct selector_preview preview;
    enum weir_status status;
    struct weir_error err;
};

/* True when a row keeps the answer. A holdout's set follows from the request alone. */
static inline bool selector_task_is_recorded(const struct selector_task *task)
{
    return task->kind == SELECTOR_SELECT ||
           (task->kind == SELECTOR_INTERVAL && !task->asked.interval.holdout);
}

#endif
