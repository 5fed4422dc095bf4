/* The use lease: samples are sent only while storage allows it, and after everything erased up to
 * the newest epoch known was dropped (docs/contracts.md). */
#include "preprocess/worker/hold.h"

#include "core/base/log.h"
#include "preprocess/worker/tasks.h"

static void on_held(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct worker *worker = owner;
    worker->hold_open = false;
    if (reply == NULL) {
        weir_log(WEIR_LOG_DEBUG, "no use lease, asking again", "reason=\"%s\"", err->text);
        return;
    }
    uint64_t before = worker->flow.erasure_epoch;
    preprocess_flow_held(&worker->flow, reply->message, worker->hold_ms);
    preprocess_worker_free_discarded(worker);
    if (worker->flow.erasure_epoch > before) { /* acknowledge at once */
        preprocess_window_drop_erased(&worker->window, &worker->flow);
        weir_published_pool_clear(&worker->published);
        preprocess_worker_tasks_drop_fetched(worker);
        preprocess_layouts_clear(worker->layouts);
        preprocess_record_sums_fini(&worker->sums);
        preprocess_kept_on_erasure(worker->kept);
        worker->hold_ms = 0;
        preprocess_batch_maker_forget_files(
            worker->batch_maker); /* a scrubbed file must be opened and checked again */
        preprocess_worker_hold(worker);
    }
    preprocess_worker_pump_soon(worker);
}

void preprocess_worker_hold(struct worker *worker)
{
    int64_t now_ms = weir_loop_now_ms(worker->loop);
    int64_t pause_ms = worker->flow.hold_pause_ms;
    if (pause_ms < WORKER_HOLD_MS)
        pause_ms = WORKER_HOLD_MS;
    bool is_due = worker->hold_ms == 0 || now_ms - worker->hold_ms >= pause_ms ||
                  preprocess_flow_is_behind(&worker->flow);
    if (worker->hold_open || !is_due)
        return;
    worker->hold_open = true;
    worker->hold_ms = now_ms;
    weir_rpc_call(worker->storage, MSG_hold,
                  &(struct msg_hold){.holder = worker->name,
                                     .session = worker->flow.session,
                                     .epoch = worker->flow.erasure_epoch},
                  WORKER_REQUEST_MS, on_held, worker);
}

void preprocess_worker_on_erased(void *state, struct weir_request *request)
{
    struct worker *worker = state;
    preprocess_flow_hint(&worker->flow, ((const struct msg_erased *)request->message)->epoch);
    preprocess_worker_hold(worker);
}
