/* One wipe at a time: services are asked, workers by way of the dispatcher until all have obeyed, then this process
 * wipes itself. */
#include "orchestrator/erasures/wiping.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "orchestrator/processes/trainer_name.h"
#include "orchestrator/runs/run_watch.h"
#include "orchestrator/values/json_object.h"

#include <stdlib.h>

enum {
    WIPE_MS = 5000, /* a process that has not obeyed for so long is named instead */
    SERVICES = 3,
};

static const char WIPES_NOTHING[] = "this build does not wipe the memory that it releases";

struct wiping {
    struct context *context;
    const struct run_watch *watch;
    uint64_t wanted, running, done; /* numbers of wipes; running 0: none */
    uint64_t number;                /* of the running one, as announced to processes */
    int64_t until_ms;
    unsigned unanswered;
    uint64_t timer;
    json_t *wiped, *not_wiped; /* of the running one */
    json_t *newest;            /* of the newest that is done */
};

struct wiping *orchestrator_wiping_new(struct context *context, const struct run_watch *watch)
{
    struct wiping *wiping = weir_calloc(1, sizeof(*wiping));
    wiping->context = context;
    wiping->watch = watch;
    return wiping;
}

void orchestrator_wiping_free(struct wiping *wiping)
{
    if (wiping == NULL)
        return;
    weir_loop_cancel(wiping->context->loop, wiping->timer);
    json_decref(wiping->wiped);
    json_decref(wiping->not_wiped);
    json_decref(wiping->newest);
    free(wiping);
}

static void schedule(struct wiping *wiping, int64_t delay_ms, weir_loop_timer_fn *step)
{
    weir_loop_cancel(wiping->context->loop, wiping->timer);
    wiping->timer = weir_loop_timer(wiping->context->loop, delay_ms, 0, step, wiping);
}

static void note(struct wiping *wiping, const char *process, const char *why)
{
    if (why == NULL)
        json_array_append_new(wiping->wiped, json_string(process));
    else
        json_array_append_new(wiping->not_wiped,
                              JSON_FIELDS(JSON_TEXT("process", process), JSON_TEXT("why", why)));
}

/* ---- the end ---- */

static void note_trainer(void *owner, int64_t run, uint32_t rank)
{
    char name[ORCHESTRATOR_TRAINER_NAME_SIZE];
    orchestrator_trainer_name(run, rank, name);
    note(owner, name, "it is training; what it holds goes when it ends");
}

static void begin(void *owner);

/* From a timer, for the peers connect again. */
static void finish(void *owner)
{
    struct wiping *wiping = owner;
    wiping->timer = 0;
    weir_rpc_peer_renew(wiping->context->storage);
    weir_rpc_peer_renew(wiping->context->selector);
    weir_rpc_peer_renew(wiping->context->dispatcher);
    weir_db_renew(wiping->context->db);
    weir_memory_wipe_stack();
    note(wiping, "orchestrator", weir_memory_wipes() ? NULL : WIPES_NOTHING);
    orchestrator_run_watch_each(wiping->watch, note_trainer, wiping);
    note(
        wiping, "postgres",
        "its shared buffers keep pages until others take their place, or until it is started again");
    json_decref(wiping->newest);
    wiping->newest =
        JSON_FIELDS(JSON_NEW("wiped", wiping->wiped), JSON_NEW("not_wiped", wiping->not_wiped));
    wiping->wiped = wiping->not_wiped = NULL;
    wiping->done = wiping->running;
    wiping->running = 0;
    if (wiping->wanted > wiping->done)
        schedule(wiping, 0, begin);
}

/* ---- asking ---- */

static void answered(struct wiping *wiping)
{
    wiping->unanswered--;
    if (wiping->unanswered == 0)
        schedule(wiping, 0, finish);
}

static void note_answer(struct wiping *wiping, const char *name, const struct weir_reply *reply)
{
    const struct msg_wiped *answer = reply != NULL ? reply->message : NULL;
    note(wiping, name, answer == NULL ? "it did not answer" : answer->wipes ? NULL : WIPES_NOTHING);
}

static void on_storage(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    (void)err;
    note_answer(owner, "storage", reply);
    answered(owner);
}

static void on_selector(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    (void)err;
    note_answer(owner, "selector", reply);
    answered(owner);
}

static size_t workers_left(const struct wiping *wiping, const struct msg_wiped *answer)
{
    size_t left = 0;
    for (size_t i = 0; i < answer->workers.count && i < answer->worker_numbers.count; i++)
        left += answer->worker_numbers.at[i] < wiping->number;
    return left;
}

static void note_workers(struct wiping *wiping, const struct msg_wiped *answer)
{
    for (size_t i = 0; i < answer->workers.count && i < answer->worker_numbers.count; i++)
        note(wiping, answer->workers.at[i],
             answer->worker_numbers.at[i] >= wiping->number
                 ? NULL
                 : "it has not wiped its memory yet; it does when it next reports");
}

static void poll_dispatcher(void *owner);

static void on_dispatcher(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct wiping *wiping = owner;
    const struct msg_wiped *answer = reply != NULL ? reply->message : NULL;
    (void)err;
    if (answer != NULL && answer->wipes && workers_left(wiping, answer) > 0 &&
        weir_now_ms() < wiping->until_ms) {
        schedule(wiping, ORCHESTRATOR_POLL_MS, poll_dispatcher);
        return;
    }
    note_answer(wiping, "dispatcher", reply);
    if (answer != NULL)
        note_workers(wiping, answer);
    answered(wiping);
}

static void request_wipe(struct wiping *wiping, struct weir_rpc_peer *peer, weir_rpc_done_fn *done)
{
    weir_rpc_call(peer, MSG_wipe, &(struct msg_wipe){.number = wiping->number}, WIPE_MS, done,
                  wiping);
}

static void poll_dispatcher(void *owner)
{
    struct wiping *wiping = owner;
    wiping->timer = 0;
    request_wipe(wiping, wiping->context->dispatcher, on_dispatcher);
}

static void begin(void *owner)
{
    struct wiping *wiping = owner;
    wiping->running = wiping->wanted;
    wiping->number =
        (uint64_t)weir_now_ns(); /* greater than what a former process of ours asked for */
    wiping->until_ms = weir_now_ms() + WIPE_MS;
    wiping->wiped = json_array();
    wiping->not_wiped = json_array();
    wiping->unanswered = SERVICES;
    request_wipe(wiping, wiping->context->storage, on_storage);
    request_wipe(wiping, wiping->context->selector, on_selector);
    poll_dispatcher(wiping);
}

/* ---- what erasures see ---- */

uint64_t orchestrator_wiping_wanted(struct wiping *wiping)
{
    if (wiping->running == 0 && wiping->wanted == wiping->done)
        schedule(wiping, 0, begin);
    wiping->wanted = (wiping->running == 0 ? wiping->done : wiping->running) + 1;
    return wiping->wanted;
}

bool orchestrator_wiping_is_done(const struct wiping *wiping, uint64_t number)
{
    return wiping->done >= number;
}

json_t *orchestrator_wiping_json(const struct wiping *wiping)
{
    return json_deep_copy(wiping->newest);
}
