/* The selector service: the queue of tasks, and the requests served beside it.
 * One thread owns all of it and steps one task at a time; choosing, which may take minutes, is done on a thread of its
 * own, on copies that do not change. */
#ifndef SELECTOR_SELECTOR_H
#define SELECTOR_SELECTOR_H

#include "core/db/lived.h"
#include "core/service/service.h"
#include "selector/labelling.h"
#include "selector/sets/serving.h"
#include "selector/tasks/task.h"

struct selector_examination;

struct selector {
    struct selector_queue queue;
    struct weir_lived lived; /* times that are kept for days go by it */
    struct selector_serving serving;
    struct selector_labellings labellings;    /* parts that wait for their labels */
    struct selector_examination *examination; /* the newest; NULL: none yet */
    uint64_t follow_timer;
    uint64_t sweep_timer;
};

extern const struct weir_rpc_handler SELECTOR_HANDLERS[];

enum weir_status selector_open(const struct weir_service_options *options, struct weir_loop *loop,
                               struct weir_rpc_server *server, void **ret_state,
                               struct weir_error *err) WEIR_MUST_USE;
void selector_close(void *state);
/* Forgets times and labels, and connects again: nothing else of it ever held more than ids and scores. */
void selector_wipe(void *state, const struct weir_request *request, struct msg_wiped *answer);

#endif
