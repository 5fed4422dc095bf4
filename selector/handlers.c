/* Handlers of messages. */
#include "selector/examination.h"
#include "selector/inventory.h"
#include "selector/retention.h"
#include "selector/scores/scores.h"
#include "selector/sets/tenancy.h"
#include "selector/tasks/task_queue.h"

static struct selector_queue *queue_of(void *owner)
{
    struct selector *selector = owner;
    return &selector->queue;
}

static void on_selection_open(void *owner, struct weir_request *request)
{
    selector_task_open(queue_of(owner), request);
}

static void on_select(void *owner, struct weir_request *request)
{
    selector_task_select(queue_of(owner), request);
}

static void on_interval_seal(void *owner, struct weir_request *request)
{
    selector_task_interval(queue_of(owner), request);
}

static void on_preview(void *owner, struct weir_request *request)
{
    selector_task_preview(queue_of(owner), request);
}

/* Needs neither feed nor pool: taken at once. */
WEIR_ANSWERED(const struct selector, scores_take, scores_noted,
              selector_scores_take(&(struct selector_scores_store){owner->queue.db,
                                                                   owner->queue.data_dir},
                                   asked, answer, err))

/* Files are only read, so counting waits for no task. */
static void count_scores(const struct selector *selector, const struct weir_request *request)
{
    const struct selector_scores_store store = {.db = selector->queue.db,
                                                .data_dir = selector->queue.data_dir};
    const struct msg_scores_purge *asked = request->message;
    struct msg_scores_noted noted = {0};
    struct weir_error err;
    if (selector_scores_count(&store, asked->pipeline, asked->ids.at, asked->ids.count,
                              &noted.samples, &err) != WEIR_OK)
        weir_rpc_refuse(request->server, &request->route, &err);
    else
        weir_rpc_reply(request->server, &request->route, MSG_scores_noted, &noted, NULL);
}

static void on_scores_purge(void *owner, struct weir_request *request)
{
    const struct msg_scores_purge *asked = request->message;
    if (asked->count)
        count_scores(owner, request);
    else
        selector_task_purge(queue_of(owner), request);
}

static void on_set_read(void *owner, struct weir_request *request)
{
    struct selector *selector = owner;
    const struct msg_set_read *asked = request->message;
    struct msg_set_part part;
    struct selector_serving *serving = &selector->serving;
    struct weir_error err;
    enum weir_status status = selector_serving_open(serving, selector->queue.data_dir, asked, &err);
    if (status == WEIR_OK)
        status = selector_tenancy_check(selector->queue.db, weir_rpc_sender(request), &serving->set,
                                        &err);
    if (status == WEIR_OK)
        status = selector_serving_read(serving, asked, &part, &err);
    if (status != WEIR_OK)
        weir_rpc_refuse(request->server, &request->route, &err);
    else if (asked->labels)
        selector_labelling_begin(&selector->labellings, &selector->queue, request, &part);
    else
        weir_rpc_reply(request->server, &request->route, MSG_set_part, &part, NULL);
}

/* The ids are all there is to a window: it needs neither feed nor pool, and is written here, beside the threads. */
static void on_window_seal(void *owner, struct weir_request *request)
{
    const struct selector *selector = owner;
    const struct msg_window_seal *asked = request->message;
    struct selector_sealed sealed = {.policy = "window", .candidates = asked->ids.count};
    struct weir_error err;
    if (selector_sealed_window(selector->queue.data_dir, SELECTOR_THREADS, asked, &sealed, &err) !=
        WEIR_OK) {
        weir_rpc_refuse(request->server, &request->route, &err);
        return;
    }
    WEIR_AUTO_FREE char *path = selector_sealed_path(selector->queue.data_dir, &sealed);
    const struct msg_selected selected = selector_sealed_message(&sealed, path);
    weir_rpc_reply(request->server, &request->route, MSG_selected, &selected, NULL);
}

/* Refuses while a choice for the pipeline is under way: it would be written for the next pipeline of that name. */
static void on_selection_forget(void *owner, struct weir_request *request)
{
    struct selector *selector = owner;
    const struct msg_selection_forget *asked = request->message;
    struct selector_swept swept;
    struct weir_error err;
    enum weir_status status = WEIR_OK;
    if (selector_task_is_busy_with(&selector->queue, asked->pipeline))
        status = weir_fail(&err, WEIR_UNAVAILABLE, "the selector is choosing for pipeline %s",
                           asked->pipeline);
    if (status == WEIR_OK)
        status =
            selector_retention_forget(selector->queue.db, selector->queue.data_dir, asked->pipeline,
                                      selector->queue.count == 0, &swept, &err);
    if (status != WEIR_OK) {
        weir_rpc_refuse(request->server, &request->route, &err);
        return;
    }
    selector_pipelines_forget(&selector->queue.pipelines, asked->pipeline);
    const struct msg_selection_forgotten forgotten = {.sets = swept.removed,
                                                      .bytes = swept.removed_bytes};
    weir_rpc_reply(request->server, &request->route, MSG_selection_forgotten, &forgotten, NULL);
}

/* Reads alone: answered at once, between two steps of a task. */
WEIR_ANSWERED(struct selector, sets_request, sets_are,
              selector_inventory(owner, asked->pipeline, arena, answer, err))

/* Goes on with the examination of this session; another session begins again. */
static enum weir_status examine(struct selector *selector, uint64_t session,
                                struct msg_owned_examined *ret_found, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    if (selector->examination == NULL ||
        selector_examination_session(selector->examination) != session) {
        selector_examination_free(selector->examination);
        selector->examination = NULL;
        status = selector_examination_begin(selector->queue.db, selector->queue.data_dir, session,
                                            &selector->examination, err);
    }
    return status != WEIR_OK ? status
                             : selector_examination_step(selector->examination, selector->queue.db,
                                                         ret_found, err);
}

WEIR_ANSWERED(struct selector, owned_examine, owned_examined,
              examine(owner, asked->session, answer, err))

const struct weir_rpc_handler SELECTOR_HANDLERS[] = {
    WEIR_ON(selection_open, on_selection_open),
    WEIR_ON(selection_forget, on_selection_forget),
    WEIR_ON(select, on_select),
    WEIR_ON(interval_seal, on_interval_seal),
    WEIR_ON(window_seal, on_window_seal),
    WEIR_ON(preview, on_preview),
    WEIR_ON(scores_take, on_scores_take),
    WEIR_ON(scores_purge, on_scores_purge),
    WEIR_ON(set_read, on_set_read),
    WEIR_ON(sets_request, on_sets_request),
    WEIR_ON(owned_examine, on_owned_examine),
    {MSG_none, NULL},
};
