/* Deciding at a check, and the rows that decisions are kept in. */
#include "orchestrator/pipeline/decisions.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "orchestrator/context/events.h"
#include "orchestrator/models/blocks.h"
#include "orchestrator/pipeline/deciding.h"
#include "orchestrator/pipeline/training.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- kept ---- */

static enum weir_status tell(const struct pipeline *pipeline, int64_t number, json_t *decision,
                             struct weir_error *err)
{
    WEIR_AUTO_FREE char *key = weir_format("trigger_considered/%" PRId64, number);
    const struct event_about about = {pipeline->id, 0, key, "trigger_considered"};
    json_t *body = JSON_FIELDS(JSON_TEXT("pipeline", pipeline->config->name));
    json_object_update(body, decision);
    return orchestrator_event_put(pipeline->context, &about, body, err);
}

static void complete(const struct reader *reader, int64_t number, json_t *decision)
{
    json_object_set_new(decision, "check", json_integer(number));
    json_object_set_new(decision, "at", orchestrator_json_time(reader->last_time));
    json_object_set_new(decision, "samples_new", json_integer((json_int_t)reader->samples_new));
}

enum weir_status orchestrator_pipeline_decision_add(struct pipeline *pipeline, json_t *decision,
                                                    int64_t trigger, struct weir_error *err)
{
    struct weir_db *db = pipeline->context->db;
    const struct reader *reader = pipeline->reader;
    int64_t number = pipeline->checks + 1;
    complete(reader, number, decision);
    char *text = json_dumps(decision, JSON_COMPACT | JSON_REAL_PRECISION(15));
    enum weir_status status =
        DB_RUN(db, Q_decision_add, NULL, err, DB_I64(pipeline->id), DB_I64(number), DB_I64(trigger),
               DB_I64(reader->last_time), DB_I64(reader->samples_new), DB_TEXT(text));
    free(text);
    if (status == WEIR_OK)
        status = DB_RUN(db, Q_decision_count, NULL, err, DB_I64(pipeline->id), DB_I64(number));
    if (status == WEIR_OK && number > DECISIONS_KEPT) {
        status = DB_RUN(db, Q_decision_drop, NULL, err, DB_I64(pipeline->id),
                        DB_I64(number - DECISIONS_KEPT));
    }
    return status == WEIR_OK && trigger == 0 ? tell(pipeline, number, decision, err) : status;
}

static enum weir_status effect_passed(struct pipeline *pipeline, const void *what,
                                      struct weir_error *err)
{
    const struct reader *reader = pipeline->reader;
    WEIR_AUTO_BUF saved = {0};
    (void)what;
    orchestrator_trigger_save(reader->policy, &saved);
    enum weir_status status =
        DB_RUN(pipeline->context->db, Q_pipeline_pending, NULL, err, DB_I64(pipeline->id),
               DB_I64(reader->samples_new), DB_I64(reader->last_time), DB_I64(reader->last_id),
               DB_BYTES(weir_buf_view(&saved)), DB_I64(reader->arrived_us));
    if (status == WEIR_OK) {
        status = DB_RUN(pipeline->context->db, Q_dataset_fix, NULL, err, DB_I64(pipeline->id),
                        DB_I64(reader->asked), DB_I64(pipeline->positions[reader->asked]));
    }
    return status == WEIR_OK && reader->decision != NULL
               ? orchestrator_pipeline_decision_add(pipeline, reader->decision, 0, err)
               : status;
}

/* ---- made ---- */

static enum weir_status commit_passed(void *subject, const void *what, struct weir_error *err)
{
    return effect_passed(subject, what, err);
}

enum weir_status orchestrator_pipeline_commit_passed(struct pipeline *pipeline,
                                                     struct weir_error *err)
{
    return orchestrator_commit(pipeline->context, commit_passed, pipeline, NULL, err);
}

/* Nothing fires, and the state stays: the cursor moves on. */
static bool pass(struct pipeline *pipeline)
{
    struct weir_error err;
    enum weir_status status = orchestrator_pipeline_commit_passed(pipeline, &err);
    if (status != WEIR_OK) {
        orchestrator_pipeline_trouble(pipeline, status, &err);
        return false;
    }
    pipeline->checks++;
    json_decref(pipeline->reader->decision);
    pipeline->reader->decision = NULL;
    return true;
}

/* Nothing fires, and the state changes. */
static bool leave(struct pipeline *pipeline, enum pipeline_event event)
{
    bool left = orchestrator_pipeline_advance(pipeline, event, effect_passed, NULL);
    if (left)
        orchestrator_pipeline_reader_drop(pipeline);
    return left;
}

static json_t *cost_json(const struct pipeline *pipeline, const struct run_result *run)
{
    WEIR_AUTO_BUF cost = {0};
    orchestrator_cost_json(&pipeline->context->prices, &run->cost, &cost);
    return JSON_FIELDS(JSON_NUMBER("run", run->number),
                       JSON_NEW("cost", orchestrator_json_of(weir_buf_text(&cost))),
                       JSON_TEXT_IF_ANY("model", run->parent));
}

/* Takes the edge of what was decided. True: it is committed. */
static bool settle(struct pipeline *pipeline, const struct decided *decided)
{
    struct reader *reader = pipeline->reader;
    json_t *cost = reader->decision; /* of the run, to be told after what was found */
    reader->decision = json_incref(decided->decision);
    if (cost != NULL)
        json_object_update(reader->decision, cost);
    json_decref(cost);
    if (decided->fires)
        return orchestrator_pipeline_fire(pipeline);
    if (pipeline->state == PIPELINE_READING)
        return pass(pipeline);
    return leave(pipeline, orchestrator_trigger_is_due(reader->policy) ? PIPELINE_ON_ASKED
                                                                       : PIPELINE_ON_MEASURED);
}

static void on_probe_decided(struct pipeline *pipeline, const struct decided *decided,
                             const struct weir_error *err)
{
    struct weir_error problem;
    pipeline->reader->deciding = NULL;
    if (decided == NULL) {
        orchestrator_pipeline_trouble(pipeline, err->status, err);
        return;
    }
    int64_t run = json_integer_value(json_object_get(pipeline->reader->decision, "run"));
    if (settle(pipeline, decided) && /* nobody asks for them again */
        orchestrator_run_remove_files(pipeline->context, run, &problem) != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "files of a finished run stay", "%s", problem.text);
}

void orchestrator_pipeline_decide(struct pipeline *pipeline, const struct run_result *run)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", run->directory, run->outputs_file);
    bool is_hollow = run->outputs_file[0] == '\0' || orchestrator_run_is_hollow(run);
    struct reader *reader = pipeline->reader;
    const struct deciding_basis basis = {
        .policy = reader->policy, .probe = reader->probe, .outputs_path = is_hollow ? NULL : path};
    json_decref(reader->decision);
    reader->decision = cost_json(pipeline, run);
    reader->deciding = orchestrator_deciding_start(pipeline, &basis, on_probe_decided);
}

/* Tells whether it can be measured: embeddings and predictions need a model. */
static enum weir_status can_measure(const struct pipeline *pipeline, enum trigger_subject subject,
                                    bool *ret_can, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = WEIR_OK;
    *ret_can = subject == TRIGGER_FEATURES;
    if (subject == TRIGGER_EMBEDDINGS || subject == TRIGGER_PREDICTIONS) {
        status = DB_RUN(pipeline->context->db, Q_model_newest, &rows, err, DB_I64(pipeline->id));
        *ret_can = status == WEIR_OK && weir_rows_count(rows) > 0;
    }
    return status;
}

static void on_decided(struct pipeline *pipeline, const struct decided *decided,
                       const struct weir_error *err)
{
    pipeline->reader->deciding = NULL;
    if (decided == NULL) {
        orchestrator_pipeline_trouble(pipeline, err->status, err);
        return;
    }
    if (!settle(pipeline, decided) || pipeline->reader == NULL)
        return;
    pipeline_next_fn *next = pipeline->reader->next;
    if (orchestrator_trigger_is_due(pipeline->reader->policy))
        orchestrator_pipeline_check(pipeline, next);
    else
        next(pipeline);
}

void orchestrator_pipeline_check(struct pipeline *pipeline, pipeline_next_fn *next)
{
    struct weir_error err;
    struct trigger_request request;
    bool can = false;
    if (orchestrator_pipeline_is_ahead(pipeline)) { /* it waits for the model, or for its turn */
        orchestrator_pipeline_look_no_further(pipeline);
        return;
    }
    orchestrator_trigger_request(pipeline->reader->policy, &request);
    enum weir_status status = can_measure(pipeline, request.subject, &can, &err);
    if (status != WEIR_OK) {
        orchestrator_pipeline_trouble(pipeline, status, &err);
    } else if (can) {
        (void)leave(pipeline, PIPELINE_ON_ASKED);
    } else {
        const struct deciding_basis basis = {.policy = pipeline->reader->policy};
        pipeline->reader->next = next;
        pipeline->reader->deciding = orchestrator_deciding_start(pipeline, &basis, on_decided);
    }
}

/* ---- between two checks ---- */

typedef void change_fn(struct trigger *policy, const void *what);

/* The policy as it was loaded, changed. */
static enum weir_status change_policy(struct pipeline *pipeline, change_fn *change,
                                      const void *what, struct weir_error *err)
{
    WEIR_AUTO(trigger) policy = NULL;
    WEIR_AUTO_BUF saved = {0};
    if (pipeline->trigger_saved.size == 0)
        return WEIR_OK;
    enum weir_status status = orchestrator_pipeline_open_trigger(pipeline, &policy, err);
    if (status != WEIR_OK)
        return status;
    change(policy, what);
    orchestrator_trigger_save(policy, &saved);
    return DB_RUN(pipeline->context->db, Q_pipeline_policy, NULL, err, DB_I64(pipeline->id),
                  DB_BYTES(weir_buf_view(&saved)));
}

static void forget_blocks(struct trigger *policy, const void *what)
{
    const struct id_blocks *blocks = what;
    WEIR_AUTO_FREE uint64_t *ids = weir_calloc(WEIR_BLOCK_ROWS, sizeof(*ids));
    for (size_t i = 0; i < blocks->count; i++) {
        size_t count = orchestrator_id_block_ids(&blocks->at[i], ids);
        orchestrator_trigger_forget(policy, (struct weir_u64s){ids, count});
    }
}

enum weir_status orchestrator_pipeline_forget(struct pipeline *pipeline,
                                              const struct id_blocks *blocks,
                                              struct weir_error *err)
{
    enum weir_status status = orchestrator_pipeline_load(pipeline, err);
    return status == WEIR_OK ? change_policy(pipeline, forget_blocks, blocks, err) : status;
}

struct training {
    uint64_t samples;
    double seconds;
};

static void tell_training(struct trigger *policy, const void *what)
{
    const struct training *training = what;
    orchestrator_trigger_trained(policy, training->samples, training->seconds);
}

enum weir_status orchestrator_pipeline_tell_trained(struct pipeline *pipeline,
                                                    const struct run_result *run,
                                                    struct weir_error *err)
{
    const struct training training = {
        .samples = (uint64_t)pipeline->newest.samples_new,
        .seconds = (double)(run->busy_ns + run->wait_ns) / 1e9,
    };
    return change_policy(pipeline, tell_training, &training, err);
}
