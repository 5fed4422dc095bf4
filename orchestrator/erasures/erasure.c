/* Erasures in memory: taken up, driven from state to state. */
#include "orchestrator/erasures/erasure.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "orchestrator/erasures/erasure_state.h"
#include "orchestrator/erasures/wiping.h"
#include "orchestrator/evaluations/evaluator.h"
#include "orchestrator/events.h"
#include "orchestrator/pipeline/pipeline.h"
#include "orchestrator/runs/run.h"

#include <inttypes.h>
#include <stdlib.h>

typedef void work_fn(struct erasure *erasure);

static work_fn *const WORK[ERASURE_STATES] = {
    [ERASURE_ACCEPTED] = erasure_await,   [ERASURE_TRACING] = erasure_trace,
    [ERASURE_PURGING] = erasure_purge,    [ERASURE_REPLACING] = erasure_replace,
    [ERASURE_VERIFYING] = erasure_verify,
};

/* ---- driving ---- */

static void forget_calls(struct erasure *erasure)
{
    weir_rpc_forget(erasure->orch->storage, erasure);
    weir_rpc_forget(erasure->orch->selector, erasure);
    weir_rpc_forget(erasure->orch->dispatcher, erasure);
    orchestrator_evaluator_forget(erasure->orch, erasure);
    orchestrator_run_forget(erasure->orch, erasure);
    weir_loop_cancel(erasure->orch->loop, erasure->timer);
    erasure->timer = 0;
}

static void free_erasure(struct erasure *erasure)
{
    forget_calls(erasure);
    id_blocks_fini(&erasure->ids);
    free(erasure->replacing);
    free(erasure);
}

static void finished(struct erasure *erasure)
{
    struct orchestrator *orch = erasure->orch;
    struct erasure **at = &orch->erasures;
    while (*at != erasure)
        at = &(*at)->next;
    *at = erasure->next;
    free_erasure(erasure);
    orchestrator_look_again(orch);
    if (orch->listener.rest != NULL)
        orch->listener.rest(orch->listener.owner);
}

static void begin(void *owner)
{
    struct erasure *erasure = owner;
    erasure->timer = 0;
    if (erasure->state == ERASURE_FINISHED) {
        finished(erasure);
        return;
    }
    WORK[erasure->state](erasure);
}

void erasure_begin_after(struct erasure *erasure, int64_t delay_ms)
{
    weir_loop_cancel(erasure->orch->loop, erasure->timer);
    erasure->timer = weir_loop_timer(erasure->orch->loop, delay_ms, 0, begin, erasure);
}

struct edge {
    enum erasure_state to;
    erasure_effect_fn *effect;
    const void *what;
};

static enum weir_status write_edge(void *subject, const void *what, struct weir_error *err)
{
    struct erasure *erasure = subject;
    const struct edge *edge = what;
    enum weir_status status =
        DB_RUN(erasure->orch->db, Q_erasure_state, NULL, err, DB_I64(erasure->number),
               DB_TEXT(erasure_state_name(edge->to)));
    return status == WEIR_OK && edge->effect != NULL ? edge->effect(erasure, edge->what, err)
                                                     : status;
}

bool erasure_advance(struct erasure *erasure, enum erasure_event event, erasure_effect_fn *effect,
                     const void *what)
{
    struct edge edge = {.effect = effect, .what = what};
    struct weir_error err;
    bool known = erasure_next_state(erasure->state, event, &edge.to);
    weir_require(known);
    enum weir_status status = orchestrator_commit(erasure->orch, write_edge, erasure, &edge, &err);
    if (status != WEIR_OK) {
        erasure_trouble(erasure, &err);
        return false;
    }
    weir_log(WEIR_LOG_INFO, "erasure moves on", "erasure=%" PRId64 " to=%s", erasure->number,
             erasure_state_name(edge.to));
    erasure->state = edge.to;
    erasure->told_trouble = false;
    erasure_begin_after(erasure, 0);
    orchestrator_erasures_look_again(erasure->orch);
    return true;
}

void erasure_trouble(struct erasure *erasure, const struct weir_error *err)
{
    struct weir_error why = *err, inner;
    forget_calls(erasure);
    weir_log(WEIR_LOG_WARN, "erasure tries again", "erasure=%" PRId64 " state=%s because=\"%s\"",
             erasure->number, erasure_state_name(erasure->state), why.text);
    if (!orchestrator_may_pass(why.status) && !erasure->told_trouble) {
        enum weir_status status = DB_RUN(erasure->orch->db, Q_erasure_trouble, NULL, &inner,
                                         DB_I64(erasure->number), DB_TEXT(why.text));
        erasure->told_trouble = status == WEIR_OK;
    }
    erasure_begin_after(erasure, orchestrator_may_pass(why.status) ? ORCHESTRATOR_AGAIN_MS
                                                                   : 10 * ORCHESTRATOR_AGAIN_MS);
}

enum weir_status erasure_tell(struct erasure *erasure, const char *step, const char *key,
                              json_t *body, struct weir_error *err)
{
    WEIR_AUTO_FREE char *whole_key =
        weir_format("erasure_step/%s%s%s", step, key == NULL ? "" : "/", key == NULL ? "" : key);
    json_t *whole = json_pack("{sI,ss}", "erasure", (json_int_t)erasure->number, "step", step);
    json_object_update(whole, body);
    json_decref(body);
    return orchestrator_event_put(
        erasure->orch, &(struct event_about){0, erasure->number, whole_key, "erasure_step"}, whole,
        err);
}

bool erasure_is_first(const struct erasure *erasure)
{
    for (const struct erasure *other = erasure->orch->erasures; other != NULL; other = other->next)
        if (other->number < erasure->number && other->state != ERASURE_FINISHED &&
            other->state != ERASURE_ACCEPTED)
            return false;
    return true;
}

/* ---- in memory ---- */

static void keep(struct orchestrator *orch, int64_t number, enum erasure_state state)
{
    for (struct erasure *known = orch->erasures; known != NULL; known = known->next)
        if (known->number == number)
            return;
    struct erasure *erasure = weir_calloc(1, sizeof *erasure);
    erasure->orch = orch;
    erasure->number = number;
    erasure->state = state;
    erasure->next = orch->erasures;
    orch->erasures = erasure;
    erasure_begin_after(erasure, 0);
}

/* Columns of Q_erasure_get. */
enum { COL_NUMBER, COL_STATE };

static enum weir_status take_up(struct orchestrator *orch, int64_t number, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(orch->db, Q_erasure_get, &rows, err, DB_I64(number));
    if (status != WEIR_OK || weir_rows_count(rows) == 0)
        return status;
    enum erasure_state state = ERASURE_ACCEPTED;
    if (!erasure_state_from_name(weir_rows_text(rows, 0, COL_STATE), &state)) {
        return weir_fail(err, WEIR_UNSUPPORTED,
                         "erasure %" PRId64 " is in state %s, which this program does not know",
                         number, weir_rows_text(rows, 0, COL_STATE));
    }
    if (state != ERASURE_FINISHED)
        keep(orch, number, state);
    return WEIR_OK;
}

struct accepted {
    struct orchestrator *orch;
    int64_t number;
    const char *dataset, *reference;
};

static enum weir_status record(void *subject, const void *what, struct weir_error *err)
{
    struct orchestrator *orch = subject;
    const struct accepted *accepted = what;
    struct erasure view = {.orch = orch, .number = accepted->number};
    enum weir_status status =
        DB_RUN(orch->db, Q_erasure_add, NULL, err, DB_I64(accepted->number),
               DB_TEXT(erasure_state_name(ERASURE_ACCEPTED)), DB_TEXT(accepted->reference),
               DB_TEXT(accepted->dataset), DB_I64(weir_now_wall_us()));
    return status == WEIR_OK
               ? erasure_tell(&view, "accepted", NULL,
                              json_pack("{ss}", "reference", accepted->reference), err)
               : status;
}

enum weir_status orchestrator_erasure_accept(struct orchestrator *orch, int64_t number,
                                             const char *dataset, const char *reference,
                                             struct weir_error *err)
{
    struct accepted accepted = {
        .orch = orch, .number = number, .dataset = dataset, .reference = reference};
    enum weir_status status = orchestrator_commit(orch, record, orch, &accepted, err);
    return status == WEIR_OK ? take_up(orch, number, err) : status;
}

/* ---- erasures that storage accepted while nobody listened ---- */

static void probe(struct orchestrator *orch, int64_t number);

static void on_probe(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct orchestrator *orch = owner;
    struct weir_error inner;
    WEIR_AUTO(weir_rows) rows = NULL;
    (void)err; /* a refusal is the expected answer: there is no such erasure */
    if (reply == NULL || reply->type != MSG_erase_is ||
        DB_RUN(orch->db, Q_erasure_newest, &rows, &inner) != WEIR_OK)
        return;
    int64_t number = weir_rows_i64(rows, 0, 0) + 1;
    if (orchestrator_erasure_accept(orch, number, "", "", &inner) == WEIR_OK)
        probe(orch, number + 1);
}

static void probe(struct orchestrator *orch, int64_t number)
{
    struct msg_erase_ask ask = {.erasure = (uint64_t)number};
    weir_rpc_call(orch->storage, MSG_erase_ask, &ask, ORCHESTRATOR_ASK_MS, on_probe, orch);
}

enum weir_status orchestrator_erasures_load(struct orchestrator *orch, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    WEIR_AUTO(weir_rows) newest = NULL;
    orch->wiping = wiping_new(orch);
    enum weir_status status = DB_RUN(orch->db, Q_erasure_open, &rows, err);
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        status = take_up(orch, weir_rows_i64(rows, i, 0), err);
    if (status == WEIR_OK)
        status = DB_RUN(orch->db, Q_erasure_newest, &newest, err);
    if (status == WEIR_OK)
        probe(orch, weir_rows_i64(newest, 0, 0) + 1);
    return status;
}

void orchestrator_erasures_free(struct orchestrator *orch)
{
    wiping_free(orch->wiping);
    orch->wiping = NULL;
    while (orch->erasures != NULL) {
        struct erasure *erasure = orch->erasures;
        orch->erasures = erasure->next;
        free_erasure(erasure);
    }
}

void orchestrator_erasures_look_again(struct orchestrator *orch)
{
    for (struct erasure *erasure = orch->erasures; erasure != NULL; erasure = erasure->next)
        if (erasure->state == ERASURE_TRACING)
            erasure_begin_after(erasure, 0);
}

bool orchestrator_erasures_claim(const struct orchestrator *orch)
{
    for (const struct erasure *erasure = orch->erasures; erasure != NULL; erasure = erasure->next)
        if (erasure_claims_models(erasure->state))
            return true;
    return false;
}

bool orchestrator_erasures_idle(const struct orchestrator *orch)
{
    return orch->erasures == NULL;
}

int64_t orchestrator_erasure_due_us(const struct orchestrator *orch, int64_t accepted_us)
{
    int64_t within_us = INT64_MAX;
    for (const struct pipeline *p = orch->pipelines; p != NULL; p = orchestrator_pipeline_next(p)) {
        int64_t promised_us = orchestrator_pipeline_config(p)->deletion_within_us;
        within_us = promised_us < within_us ? promised_us : within_us;
    }
    return within_us > INT64_MAX - accepted_us ? 0 : accepted_us + within_us;
}
