/* Pipelines in memory: loaded, taken in, driven from state to state. */
#include "orchestrator/pipeline/pipeline.h"

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "orchestrator/config/parse.h"
#include "orchestrator/context/events.h"
#include "orchestrator/judging/evaluator.h"
#include "orchestrator/pipeline/pipeline_state.h"
#include "orchestrator/runs/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void work_fn(struct pipeline *pipeline);

static work_fn *const WORK[PIPELINE_STATES] = {
    [PIPELINE_DECLARING] = orchestrator_pipeline_declare,
    [PIPELINE_SCANNING] = orchestrator_pipeline_scan,
    [PIPELINE_READING] = orchestrator_pipeline_read,
    [PIPELINE_MEASURING] = orchestrator_pipeline_measure,
    [PIPELINE_SELECTING] = orchestrator_pipeline_select,
    [PIPELINE_SCORING] = orchestrator_pipeline_score,
    [PIPELINE_HOLDING] = orchestrator_pipeline_hold_out,
    [PIPELINE_TRAINING] = orchestrator_pipeline_train,
    [PIPELINE_RENEWING] = orchestrator_pipeline_renew,
    [PIPELINE_STORING] = orchestrator_pipeline_store,
    [PIPELINE_EVALUATING] = orchestrator_pipeline_evaluate,
    [PIPELINE_CLOSING] = orchestrator_pipeline_finish,
    [PIPELINE_REMOVING] = orchestrator_pipeline_clear,
};

/* ---- driving ---- */

bool orchestrator_pipeline_erasure_claims(const struct pipeline *pipeline)
{
    const struct pipelines_precedence *precedence = &pipeline->all->precedence;
    return precedence->erasures != NULL && precedence->claims(precedence->erasures);
}

static void let_erasures_look(const struct pipelines *pipelines)
{
    const struct pipelines_precedence *precedence = &pipelines->precedence;
    if (precedence->erasures != NULL)
        precedence->look_again(precedence->erasures);
}

/* True where an erasure comes between: no trigger is under way. */
static bool must_wait(const struct pipeline *pipeline)
{
    return (pipeline->state == PIPELINE_READING || pipeline->state == PIPELINE_CLOSING ||
            (orchestrator_pipeline_wants_removal(pipeline) &&
             pipeline->state != PIPELINE_REMOVING)) &&
           orchestrator_pipeline_erasure_claims(pipeline);
}

/* Its work rests as long as the orchestrator only answers requests; what is to be removed goes all the same. */
static bool is_held(const struct pipeline *pipeline)
{
    return pipeline->all->are_held && WORK[pipeline->state] != NULL &&
           !orchestrator_pipeline_is_leaving(pipeline);
}

static void begin(void *owner)
{
    struct pipeline *pipeline = owner;
    pipeline->timer = 0;
    pipeline->parked = must_wait(pipeline);
    if (pipeline->parked) {
        let_erasures_look(pipeline->all);
        return;
    }
    if (orchestrator_pipeline_grant_order(pipeline) || is_held(pipeline))
        return;
    if (WORK[pipeline->state] == NULL) {
        if (pipeline->context->listener.rest != NULL)
            pipeline->context->listener.rest(pipeline->context->listener.owner);
        orchestrator_pipelines_look_again(pipeline->all);
        return;
    }
    if (!pipeline->attached && pipeline->state != PIPELINE_REMOVING) {
        orchestrator_pipeline_attach(pipeline);
        return;
    }
    WORK[pipeline->state](pipeline);
}

void orchestrator_pipeline_begin_after(struct pipeline *pipeline, int64_t delay_ms)
{
    weir_loop_cancel(pipeline->context->loop, pipeline->timer);
    pipeline->begun = true;
    pipeline->timer = weir_loop_timer(pipeline->context->loop, delay_ms, 0, begin, pipeline);
}

/* Drops every open request. */
static void forget_calls(struct pipeline *pipeline)
{
    struct pipelines *all = pipeline->all;
    weir_rpc_forget(all->context->storage, pipeline);
    weir_rpc_forget(all->context->selector, pipeline);
    orchestrator_evaluator_forget(all->evaluators, pipeline);
    orchestrator_run_forget(all->runs, pipeline);
    weir_loop_cancel(all->context->loop, pipeline->timer);
    pipeline->timer = 0;
    orchestrator_pipeline_reader_free(pipeline->reader);
    pipeline->reader = NULL;
}

void orchestrator_pipeline_break_off(struct pipeline *pipeline)
{
    forget_calls(pipeline);
    orchestrator_evaluator_forget(pipeline->all->evaluators, &pipeline->evaluation_owner);
    pipeline->caught_up = false;
}

struct edge {
    struct pipeline *pipeline;
    enum pipeline_state to;
    const char *error;
    pipeline_effect_fn *effect;
    const void *what;
};

static enum weir_status write_edge(void *subject, const void *what, struct weir_error *err)
{
    const struct edge *edge = what;
    struct pipeline *pipeline = subject;
    enum weir_status status =
        DB_RUN(pipeline->context->db, Q_pipeline_state, NULL, err, DB_I64(pipeline->id),
               DB_TEXT(orchestrator_pipeline_state_name(edge->to)), DB_TEXT(edge->error));
    return status == WEIR_OK && edge->effect != NULL ? edge->effect(pipeline, edge->what, err)
                                                     : status;
}

/* Tests let any edge fail or die there, or those that one event takes. */
static bool fault_at(const char *point, enum pipeline_event event)
{
    char of_event[64];
    (void)snprintf(of_event, sizeof(of_event), "%s.%s", point,
                   orchestrator_pipeline_event_name(event));
    return weir_fault(point) || weir_fault(of_event);
}

static enum weir_status take_edge(struct pipeline *pipeline, enum pipeline_event event,
                                  struct edge *edge, struct weir_error *err)
{
    if (!orchestrator_pipeline_next_state(pipeline->state, event, &edge->to)) {
        return weir_fail(err, WEIR_INTERNAL, "pipeline %s: no edge from %s on %s",
                         pipeline->config->name, orchestrator_pipeline_state_name(pipeline->state),
                         orchestrator_pipeline_event_name(event));
    }
    if (event == PIPELINE_ON_APPLIED && edge->to == pipeline->state)
        edge->error = pipeline->error; /* it rests as before */
    if (fault_at("pipeline.edge", event))
        return weir_fail(err, WEIR_UNAVAILABLE, "fault pipeline.edge");
    struct weir_asked asked[ROWS];
    orchestrator_pipeline_ask_rows(pipeline, asked);
    const struct orchestrator_change change = {write_edge, pipeline, edge};
    enum weir_status status =
        orchestrator_commit_and_ask(pipeline->context, &change, asked, ROWS, err);
    if (status == WEIR_OK) {
        orchestrator_pipeline_keep_rows(pipeline, asked);
        (void)fault_at("pipeline.edged", event); /* committed: only death can come between */
        weir_log(WEIR_LOG_INFO, "pipeline moves on", "pipeline=%s from=%s on=%s to=%s",
                 pipeline->config->name, orchestrator_pipeline_state_name(pipeline->state),
                 orchestrator_pipeline_event_name(event),
                 orchestrator_pipeline_state_name(edge->to));
        if (orchestrator_pipeline_is_ahead(pipeline))
            orchestrator_pipeline_look_no_further(pipeline);
        pipeline->state = edge->to;
        char *error = weir_strdup(edge->error);
        free(pipeline->error);
        pipeline->error = error;
        if (orchestrator_pipeline_at_rest(pipeline->state))
            orchestrator_warm_end(pipeline->all->runs->warm, pipeline->id, "its pipeline rests");
        orchestrator_pipeline_begin_after(pipeline, 0);
    }
    return status;
}

bool orchestrator_pipeline_advance(struct pipeline *pipeline, enum pipeline_event event,
                                   pipeline_effect_fn *effect, const void *what)
{
    struct edge edge = {.error = "", .effect = effect, .what = what};
    struct weir_error err;
    enum weir_status status = take_edge(pipeline, event, &edge, &err);
    if (status != WEIR_OK)
        orchestrator_pipeline_trouble(pipeline, status, &err);
    return status == WEIR_OK;
}

static enum weir_status effect_failed(struct pipeline *pipeline, const void *what,
                                      struct weir_error *err)
{
    const struct weir_error *why = what;
    WEIR_AUTO_FREE char *key = weir_format("error/%lld", (long long)weir_now_wall_us());
    return orchestrator_event_put(
        pipeline->context, &(struct event_about){pipeline->id, 0, key, "error"},
        JSON_FIELDS(JSON_TEXT("pipeline", pipeline->config->name),
                    JSON_TEXT("state", orchestrator_pipeline_state_name(pipeline->state)),
                    JSON_TEXT("error", why->text)),
        err);
}

/* Tells once what stands in the way; it is the pipeline's error until it is through. */
static enum weir_status tell_obstacle(struct pipeline *pipeline, const struct edge *edge,
                                      struct weir_error *err)
{
    if (strcmp(pipeline->error, edge->error) == 0)
        return WEIR_OK;
    enum weir_status status =
        orchestrator_commit(pipeline->context, write_edge, pipeline, edge, err);
    if (status == WEIR_OK) {
        free(pipeline->error);
        pipeline->error = weir_strdup(edge->error);
    }
    return status;
}

/* True: it has failed, and rests. A removal, which cannot be taken back half-way, has no such edge:
 * it is tried again for ever. Why, if not that, is said in `why`. */
static bool fails(struct pipeline *pipeline, struct weir_error *why)
{
    struct edge edge = {
        .to = pipeline->state, .error = why->text, .effect = effect_failed, .what = why};
    struct weir_error inner;
    enum pipeline_state failed;
    bool can_fail = orchestrator_pipeline_next_state(pipeline->state, PIPELINE_ON_FAILED, &failed);
    enum weir_status status = can_fail ? take_edge(pipeline, PIPELINE_ON_FAILED, &edge, &inner)
                                       : tell_obstacle(pipeline, &edge, &inner);
    if (status != WEIR_OK)
        *why = inner;
    return can_fail && status == WEIR_OK;
}

void orchestrator_pipeline_trouble(struct pipeline *pipeline, enum weir_status status,
                                   const struct weir_error *err)
{
    struct weir_error why = *err; /* what `err` points to may go with the calls */
    forget_calls(pipeline);
    if (!orchestrator_may_pass(status) && fails(pipeline, &why))
        return;
    weir_log(WEIR_LOG_WARN, "pipeline tries again", "pipeline=%s state=%s because=\"%s\"",
             pipeline->config->name, orchestrator_pipeline_state_name(pipeline->state), why.text);
    orchestrator_pipeline_begin_after(pipeline, ORCHESTRATOR_AGAIN_MS);
}

void orchestrator_pipeline_hindered(struct pipeline *pipeline, enum weir_status status,
                                    const struct weir_error *err)
{
    struct weir_error why = *err, inner;
    struct edge edge = {
        .to = pipeline->state, .error = why.text, .effect = effect_failed, .what = &why};
    if (status != WEIR_IO) {
        orchestrator_pipeline_trouble(pipeline, status, &why);
        return;
    }
    forget_calls(pipeline);
    if (pipeline->error[0] == '\0' && tell_obstacle(pipeline, &edge, &inner) != WEIR_OK)
        why = inner;
    weir_log(WEIR_LOG_WARN, "pipeline tries again", "pipeline=%s state=%s because=\"%s\"",
             pipeline->config->name, orchestrator_pipeline_state_name(pipeline->state), why.text);
    orchestrator_pipeline_begin_after(pipeline, 10 * ORCHESTRATOR_AGAIN_MS);
}

/* ---- in memory ---- */

static void free_pipeline(struct pipeline *pipeline)
{
    orchestrator_pipeline_rows_fini(&pipeline->rows);
    orchestrator_pipeline_rows_fini(&pipeline->committed);
    weir_buf_fini(&pipeline->trigger_saved);
    weir_buf_fini(&pipeline->text);
    weir_buf_fini(&pipeline->next_text);
    free(pipeline->next_file);
    orchestrator_config_free(pipeline->config);
    orchestrator_pipeline_free_editions(pipeline);
    orchestrator_pipeline_reader_free(pipeline->reader);
    free(pipeline->owner);
    free(pipeline->file);
    free(pipeline->error);
    free(pipeline->judging.requested_for);
    free(pipeline);
}

struct pipeline *orchestrator_pipeline_keep(struct pipelines *pipelines, int64_t id,
                                            const char *file, struct weir_bytes text,
                                            struct orchestrator_config *config)
{
    struct pipeline *pipeline = weir_calloc(1, sizeof(*pipeline));
    pipeline->all = pipelines;
    pipeline->context = pipelines->context;
    pipeline->evaluation_owner = pipeline;
    pipeline->id = id;
    pipeline->owner = weir_strdup("");
    pipeline->file = weir_strdup(file);
    pipeline->error = weir_strdup("");
    pipeline->config = config;
    weir_buf_append(&pipeline->text, text.at, text.size);
    pipeline->next = pipelines->first;
    pipelines->first = pipeline;
    return pipeline;
}

void orchestrator_pipeline_keep_next(struct pipeline *pipeline, const char *file,
                                     struct weir_bytes text)
{
    free(pipeline->next_file);
    pipeline->next_file = weir_strdup(file);
    weir_buf_clear(&pipeline->next_text);
    weir_buf_append(&pipeline->next_text, text.at, text.size);
}

static enum weir_status load_one(struct pipelines *pipelines, const struct weir_rows *rows,
                                 size_t row, struct weir_error *err)
{
    struct orchestrator_config *config = NULL;
    const char *file = weir_rows_text(rows, row, "file");
    struct weir_bytes text = weir_rows_bytes(rows, row, "config");
    enum weir_status status = orchestrator_config_parse(file, text, &config, err);
    if (status != WEIR_OK) {
        return weir_error_wrap(err, status, "recorded pipeline %s",
                               weir_rows_text(rows, row, "name"));
    }
    struct pipeline *pipeline =
        orchestrator_pipeline_keep(pipelines, weir_rows_i64(rows, row, "id"), file, text, config);
    free(pipeline->error);
    pipeline->error = weir_strdup(weir_rows_text(rows, row, "error"));
    if (!orchestrator_pipeline_state_from_name(weir_rows_text(rows, row, "state"),
                                               &pipeline->state)) {
        return weir_fail(err, WEIR_UNSUPPORTED,
                         "pipeline %s is in state %s, which this program does not know",
                         config->name, weir_rows_text(rows, row, "state"));
    }
    pipeline->pending_order =
        orchestrator_pipeline_order_from_name(weir_rows_text(rows, row, "wish"));
    if (weir_rows_text(rows, row, "next_file")[0] != '\0')
        orchestrator_pipeline_keep_next(pipeline, weir_rows_text(rows, row, "next_file"),
                                        weir_rows_bytes(rows, row, "next_config"));
    status = orchestrator_pipeline_load(pipeline, err);
    if (status == WEIR_OK)
        status = orchestrator_pipeline_load_editions(pipeline, err);
    bool is_through = orchestrator_pipeline_at_rest(pipeline->state) &&
                      pipeline->pending_order == PENDING_ORDER_NONE;
    if (status == WEIR_OK && !is_held(pipeline) && !is_through)
        orchestrator_pipeline_begin_after(pipeline, 0);
    return status;
}

enum weir_status orchestrator_pipelines_load(struct pipelines *pipelines, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(pipelines->context->db, Q_pipeline_all, &rows, err);
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        status = load_one(pipelines, rows, i, err);
    return status;
}

void orchestrator_pipelines_free(struct pipelines *pipelines)
{
    for (struct pipeline *one = pipelines->first; one != NULL; one = one->next) {
        forget_calls(one);
        orchestrator_evaluator_forget(pipelines->evaluators, &one->evaluation_owner);
    }
    weir_work_queue_free(pipelines->context->measurings); /* they read the pipelines' files */
    weir_work_queue_free(pipelines->context->decisions);
    while (pipelines->first != NULL) {
        struct pipeline *pipeline = pipelines->first;
        pipelines->first = pipeline->next;
        free_pipeline(pipeline);
    }
}

void orchestrator_pipelines_look_again(struct pipelines *pipelines)
{
    for (struct pipeline *pipeline = pipelines->first; pipeline != NULL; pipeline = pipeline->next)
        if (pipeline->parked && !must_wait(pipeline))
            orchestrator_pipeline_begin_after(pipeline, 0);
    let_erasures_look(pipelines);
}

bool orchestrator_pipelines_make_way(struct pipelines *pipelines)
{
    bool all = true;
    for (struct pipeline *pipeline = pipelines->first; pipeline != NULL;
         pipeline = pipeline->next) {
        if (!pipeline->begun || orchestrator_pipeline_at_rest(pipeline->state) || pipeline->parked)
            continue;
        all = all && orchestrator_pipeline_between_triggers(pipeline->state);
        if (must_wait(pipeline)) {
            forget_calls(pipeline);
            orchestrator_evaluator_forget(pipelines->evaluators, &pipeline->evaluation_owner);
            pipeline->parked = true;
        }
    }
    return all;
}

void orchestrator_pipeline_erased(struct pipeline *pipeline, uint64_t count)
{
    pipeline->erased += count;
}

/* ---- looking ---- */

bool orchestrator_pipeline_is_at_trigger(void *pipelines, int64_t id)
{
    const struct pipeline *pipeline = orchestrator_pipeline_by_id(pipelines, id);
    if (pipeline == NULL)
        return false;
    bool is_looking = pipeline->config->mode == MODE_REPLAY && pipeline->state == PIPELINE_READING;
    return is_looking || !orchestrator_pipeline_between_triggers(pipeline->state);
}

struct pipeline *orchestrator_pipeline_by_id(const struct pipelines *pipelines, int64_t id)
{
    struct pipeline *pipeline = pipelines->first;
    while (pipeline != NULL && pipeline->id != id)
        pipeline = pipeline->next;
    return pipeline;
}

struct pipeline *orchestrator_pipeline_by_name(const struct pipelines *pipelines, const char *name)
{
    struct pipeline *pipeline = pipelines->first;
    while (pipeline != NULL &&
           (pipeline->state == PIPELINE_REMOVED || strcmp(pipeline->config->name, name) != 0))
        pipeline = pipeline->next;
    return pipeline;
}

struct pipeline *orchestrator_pipeline_next(const struct pipeline *pipeline)
{
    return pipeline->next;
}

int64_t orchestrator_pipeline_id(const struct pipeline *pipeline)
{
    return pipeline->id;
}

const char *orchestrator_pipeline_owner(const struct pipeline *pipeline)
{
    return pipeline->owner;
}

bool orchestrator_pipeline_is_seen_by(const struct pipeline *pipeline, const char *tenant)
{
    return tenant[0] == '\0' || strcmp(pipeline->owner, tenant) == 0;
}

enum pipeline_state orchestrator_pipeline_state(const struct pipeline *pipeline)
{
    return pipeline->state;
}

const char *orchestrator_pipeline_error(const struct pipeline *pipeline)
{
    return pipeline->error;
}

void orchestrator_pipeline_forget_error(struct pipeline *pipeline, const char *text)
{
    if (*pipeline->error == '\0')
        return;
    free(pipeline->error);
    pipeline->error = weir_strdup(text);
}

const struct orchestrator_config *orchestrator_pipeline_config(const struct pipeline *pipeline)
{
    return pipeline->config;
}

struct pipeline_outline orchestrator_pipeline_outline(const struct pipeline *pipeline)
{
    return (struct pipeline_outline){
        .id = pipeline->id,
        .before = pipeline->editions,
        .config = pipeline->config,
        .tenant = pipeline->owner,
        .file = pipeline->file,
        .text = weir_buf_view(&pipeline->text),
        .positions = {.at = pipeline->positions, .count = pipeline->dataset_count},
    };
}
