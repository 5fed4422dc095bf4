/* Erasures in memory: batches, taken up and driven from state to state, and what is open at all. */
#include "orchestrator/erasures/erasure.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "orchestrator/context/events.h"
#include "orchestrator/erasures/erasure_state.h"
#include "orchestrator/erasures/sealing.h"
#include "orchestrator/erasures/wiping.h"
#include "orchestrator/judging/evaluator.h"
#include "orchestrator/pipeline/pipeline.h"
#include "orchestrator/runs/run.h"

#include <inttypes.h>
#include <stdlib.h>

typedef void work_fn(struct erasure_batch *batch);

static work_fn *const WORK[ERASURE_STATES] = {
    [ERASURE_TRACING] = orchestrator_erasure_trace,
    [ERASURE_PURGING] = orchestrator_erasure_purge,
    [ERASURE_REPLACING] = orchestrator_erasure_replace,
    [ERASURE_VERIFYING] = orchestrator_erasure_verify,
};

/* ---- driving ---- */

static void forget_calls(struct erasure_batch *batch)
{
    weir_rpc_forget(batch->context->storage, batch);
    weir_rpc_forget(batch->context->selector, batch);
    weir_rpc_forget(batch->context->dispatcher, batch);
    orchestrator_evaluator_forget(batch->all->evaluators, batch);
    orchestrator_run_forget(batch->all->runs, batch);
    weir_loop_cancel(batch->context->loop, batch->timer);
    batch->timer = 0;
    batch->due.is_requesting = false;
}

static void free_batch(struct erasure_batch *batch)
{
    forget_calls(batch);
    free(batch->replacing);
    free(batch->due.numbers);
    free(batch);
}

static void begin(void *owner)
{
    struct erasure_batch *batch = owner;
    batch->timer = 0;
    WORK[batch->state](batch);
}

void orchestrator_erasure_begin_after(struct erasure_batch *batch, int64_t delay_ms)
{
    weir_loop_cancel(batch->context->loop, batch->timer);
    batch->timer = weir_loop_timer(batch->context->loop, delay_ms, 0, begin, batch);
}

void orchestrator_erasure_batch_finish(struct erasure_batch *batch)
{
    struct erasures *all = batch->all;
    struct weir_error err;
    if (orchestrator_erasures_count(all, &err) != WEIR_OK) {
        orchestrator_erasure_trouble(batch, &err);
        return;
    }
    LIST_REMOVE(batch, link);
    free_batch(batch);
    orchestrator_pipelines_look_again(all->pipelines);
    if (all->context->listener.rest != NULL)
        all->context->listener.rest(all->context->listener.owner);
}

struct edge {
    enum erasure_state from, to;
    erasure_effect_fn *effect;
    const void *what;
};

static enum weir_status write_edge(void *subject, const void *what, struct weir_error *err)
{
    struct erasure_batch *batch = subject;
    const struct edge *edge = what;
    int query = edge->from == ERASURE_TRACING ? Q_erasure_batch_close : Q_erasure_batch_state;
    enum weir_status status = DB_RUN(batch->context->db, query, NULL, err, DB_I64(batch->number),
                                     DB_TEXT(orchestrator_erasure_state_name(edge->to)));
    return status == WEIR_OK && edge->effect != NULL ? edge->effect(batch, edge->what, err)
                                                     : status;
}

bool orchestrator_erasure_advance(struct erasure_batch *batch, enum erasure_event event,
                                  erasure_effect_fn *effect, const void *what)
{
    struct edge edge = {.from = batch->state, .effect = effect, .what = what};
    struct weir_error err;
    bool known = orchestrator_erasure_next_state(batch->state, event, &edge.to);
    weir_require(known);
    enum weir_status status = orchestrator_commit(batch->context, write_edge, batch, &edge, &err);
    if (status != WEIR_OK) {
        orchestrator_erasure_trouble(batch, &err);
        return false;
    }
    weir_log(WEIR_LOG_INFO, "erasures move on", "batch=%" PRId64 " to=%s", batch->number,
             orchestrator_erasure_state_name(edge.to));
    batch->state = edge.to;
    batch->reported_trouble = false;
    if (edge.from == ERASURE_TRACING) {
        batch->all->has_waiting = false;
        batch->all->crowd.count = 0;
    }
    if (edge.from == ERASURE_PURGING)
        batch->all->runs->are_held = false;
    orchestrator_erasure_begin_after(batch, 0);
    orchestrator_erasures_look_again(batch->all);
    return true;
}

void orchestrator_erasure_trouble(struct erasure_batch *batch, const struct weir_error *err)
{
    struct weir_error why = *err, inner;
    forget_calls(batch);
    weir_log(WEIR_LOG_WARN, "erasures try again", "batch=%" PRId64 " state=%s because=\"%s\"",
             batch->number, orchestrator_erasure_state_name(batch->state), why.text);
    if (!orchestrator_may_pass(why.status) && !batch->reported_trouble) {
        enum weir_status status = DB_RUN(batch->context->db, Q_erasure_trouble, NULL, &inner,
                                         DB_I64(batch->number), DB_TEXT(why.text));
        batch->reported_trouble = status == WEIR_OK;
    }
    orchestrator_erasure_begin_after(batch, orchestrator_may_pass(why.status)
                                                ? ORCHESTRATOR_AGAIN_MS
                                                : 10 * ORCHESTRATOR_AGAIN_MS);
}

/* ---- events ---- */

static json_t *step_json(int64_t number, const char *step, json_t *body)
{
    json_t *whole = JSON_FIELDS(JSON_NUMBER("erasure", number), JSON_TEXT("step", step));
    json_object_update(whole, body);
    json_decref(body);
    return whole;
}

enum weir_status orchestrator_erasure_tell(struct erasure_batch *batch, const char *step,
                                           const char *key, json_t *body, struct weir_error *err)
{
    WEIR_AUTO_FREE char *whole_key =
        weir_format("erasure_step/%s%s%s", step, key == NULL ? "" : "/", key == NULL ? "" : key);
    return orchestrator_event_put(
        batch->context, &(struct event_about){0, batch->number, whole_key, "erasure_step"},
        step_json(batch->number, step, body), err);
}

json_t *orchestrator_erasure_event_line(int64_t number, const char *step, json_t *body)
{
    WEIR_AUTO_FREE char *line =
        orchestrator_event_line("erasure_step", step_json(number, step, body));
    return json_string(line);
}

/* ---- what is open ---- */

enum weir_status orchestrator_erasures_count(struct erasures *erasures, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(erasures->context->db, Q_erasures_count, &rows, err);
    if (status != WEIR_OK)
        return status;
    erasures->has_open = weir_rows_bool(rows, 0, "any_moving");
    erasures->has_waiting = weir_rows_bool(rows, 0, "any_tracing");
    return WEIR_OK;
}

static struct erasure_batch *add_batch(struct erasures *erasures, int64_t number,
                                       enum erasure_state state)
{
    struct erasure_batch *batch = weir_calloc(1, sizeof(*batch));
    batch->all = erasures;
    batch->context = erasures->context;
    batch->number = number;
    batch->state = state;
    LIST_INSERT_HEAD(&erasures->batches, batch, link);
    orchestrator_erasure_begin_after(batch, 0);
    return batch;
}

/* The batch that works on models, or gathers; NULL: none. Those that verify stand in nobody's way. */
static struct erasure_batch *claiming(const struct erasures *erasures)
{
    struct erasure_batch *batch;

    LIST_FOREACH (batch, &erasures->batches, link) {
        if (orchestrator_erasure_claims_models(batch->state))
            return batch;
    }
    return NULL;
}

static enum weir_status take_up_batches(struct erasures *erasures, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(erasures->context->db, Q_erasure_batches, &rows, err);
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        enum erasure_state state = ERASURE_FINISHED;
        if (orchestrator_erasure_state_from_name(weir_rows_text(rows, i, "state"), &state))
            add_batch(erasures, weir_rows_i64(rows, i, "batch"), state);
    }
    return status;
}

static void free_batches(struct erasures *erasures)
{
    erasures->runs->are_held = false;
    while (!LIST_EMPTY(&erasures->batches)) {
        struct erasure_batch *batch = LIST_FIRST(&erasures->batches);
        LIST_REMOVE(batch, link);
        free_batch(batch);
    }
}

static void on_reload(void *owner)
{
    struct erasures *erasures = owner;
    struct weir_error err;
    erasures->reload_timer = 0;
    free_batches(erasures);
    enum weir_status status = orchestrator_erasures_count(erasures, &err);
    if (status == WEIR_OK)
        status = take_up_batches(erasures, &err);
    if (status == WEIR_OK) {
        orchestrator_pipelines_look_again(erasures->pipelines);
        return;
    }
    weir_log(WEIR_LOG_WARN, "cannot take up erasures, trying again", "because=\"%s\"", err.text);
    erasures->reload_timer =
        weir_loop_timer(erasures->context->loop, ORCHESTRATOR_AGAIN_MS, 0, on_reload, erasures);
}

void orchestrator_erasures_reload(struct erasures *erasures)
{
    if (erasures->reload_timer == 0)
        erasures->reload_timer =
            weir_loop_timer(erasures->context->loop, 0, 0, on_reload, erasures);
}

enum weir_status orchestrator_erasures_load(struct pipelines *pipelines, const char *cluster,
                                            struct erasures **ret_erasures, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) first = NULL;
    struct erasures *erasures = weir_calloc(1, sizeof(*erasures));
    erasures->context = pipelines->context;
    erasures->runs = pipelines->runs;
    erasures->evaluators = pipelines->evaluators;
    erasures->pipelines = pipelines;
    erasures->wiping = orchestrator_wiping_new(erasures->context, erasures->runs->watch);
    erasures->sealing = orchestrator_sealing_new(erasures->context, cluster);
    pipelines->precedence = (struct pipelines_precedence){erasures, orchestrator_erasures_claim,
                                                          orchestrator_erasures_look_again};
    enum weir_status status = orchestrator_erasures_count(erasures, err);
    if (status == WEIR_OK)
        status = DB_RUN(erasures->context->db, Q_erasure_first, &first, err);
    if (status == WEIR_OK)
        status = take_up_batches(erasures, err);
    if (status != WEIR_OK) {
        orchestrator_erasures_free(erasures);
        return status;
    }
    erasures->progress.first = (uint64_t)weir_rows_i64(first, 0, "number");
    orchestrator_erasures_listen(erasures);
    orchestrator_erasures_look_again(erasures);
    *ret_erasures = erasures;
    return WEIR_OK;
}

void orchestrator_erasures_free(struct erasures *erasures)
{
    if (erasures == NULL)
        return;
    erasures->pipelines->precedence = (struct pipelines_precedence){0};
    orchestrator_sealing_free(erasures->sealing);
    orchestrator_wiping_free(erasures->wiping);
    free_batches(erasures);
    weir_loop_cancel(erasures->context->loop, erasures->reload_timer);
    orchestrator_erasures_drop_accepted(erasures);
    orchestrator_erasures_stop_listening(erasures);
    free(erasures);
}

void orchestrator_erasures_look_again(struct erasures *erasures)
{
    if (!erasures->has_waiting)
        return;
    struct erasure_batch *batch = claiming(erasures);
    if (batch == NULL)
        add_batch(erasures, 0, ERASURE_TRACING);
    else if (batch->state == ERASURE_TRACING)
        orchestrator_erasure_begin_after(batch, 0);
}

bool orchestrator_erasures_claim(const struct erasures *erasures)
{
    return erasures->has_waiting || claiming(erasures) != NULL;
}

bool orchestrator_erasures_idle(const struct erasures *erasures)
{
    return !erasures->has_open && erasures->accepted.first == NULL;
}

int64_t orchestrator_erasure_due_us(const struct pipelines *pipelines, int64_t accepted_us)
{
    int64_t within_us = INT64_MAX;
    for (const struct pipeline *p = pipelines->first; p != NULL;
         p = orchestrator_pipeline_next(p)) {
        int64_t promised_us = orchestrator_pipeline_config(p)->deletion_within_us;
        within_us = promised_us < within_us ? promised_us : within_us;
    }
    return within_us > INT64_MAX - accepted_us ? 0 : accepted_us + within_us;
}

bool orchestrator_erasure_is_overdue(const struct context *context, int64_t due_us)
{
    return due_us != 0 && orchestrator_now_us(context) > due_us;
}
