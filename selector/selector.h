/* The selector service: its pipelines in memory, its connection to storage, and the queue of tasks.
 * One thread owns all of it and steps one task at a time; choosing, which may take minutes, is done on a thread of its
 * own, with what it needs held still. */
#ifndef SELECTOR_SELECTOR_H
#define SELECTOR_SELECTOR_H

#include "core/db/lived.h"
#include "core/rpc/rpc.h"
#include "core/service/service.h"
#include "selector/columns.h"
#include "selector/pipeline.h"
#include "selector/serving.h"

struct selector_task;
struct selector_labelling;
struct selector_examination;

enum {
    SELECTOR_LANES = 2
}; /* choices that are made at the same time: a short one passes a long one */

/* Where a choice is made. */
struct selector_lane {
    struct weir_db *db; /* its thread's own connection */
    bool is_taken;
};

struct selector {
    struct weir_loop *loop;
    struct weir_rpc_server *server;
    struct weir_rpc_peer *storage;
    struct weir_db *db;
    struct weir_lived lived; /* what is kept for days is kept by it */
    char *data_dir;
    struct selector_pipeline **pipelines; /* loaded on demand */
    size_t pipeline_count;
    struct selector_columns columns;
    struct selector_serving serving;
    struct selector_labelling *labellings; /* parts that wait for their labels */
    struct selector_task *tasks;           /* in the order they came */
    size_t task_count;
    struct selector_task *stepping; /* it alone may change pipelines and columns; NULL: nobody */
    uint64_t next_timer;            /* when the next one is looked for; 0: not soon */
    struct selector_lane lanes[SELECTOR_LANES];
    struct selector_examination *examination; /* the newest; NULL: none yet */
    uint64_t follow_timer;
    uint64_t sweep_timer;
};

extern const struct weir_rpc_handler SELECTOR_HANDLERS[];

enum weir_status selector_open(const struct weir_service_options *options, struct weir_loop *loop,
                               struct weir_rpc_server *server, void **ret_state,
                               struct weir_error *err) WEIR_MUST_USE;
void selector_close(void *state);
/* Connects again: nothing else of it ever held more than ids, labels and scores. */
void selector_wipe(void *state, const struct weir_request *request, struct msg_wiped *answer);

/* How long sets of no trigger stay: the longest that a pipeline says; 0: none has said it. */
int64_t selector_keep_us(const struct selector *selector);

/* The pipeline from memory or Postgres; borrowed, until it is forgotten. NOT_FOUND when unknown. */
enum weir_status selector_find_pipeline(struct selector *selector, const char *name,
                                        struct selector_pipeline **ret_pipeline,
                                        struct weir_error *err) WEIR_MUST_USE;
/* Drops what memory knows: the next use loads it anew. */
void selector_forget_pipeline(struct selector *selector, const char *name);

#endif
