/* models, model, lineage: what is stored, what it came from, and who has seen what. */
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "orchestrator/context/events.h"
#include "orchestrator/models/lineage.h"
#include "orchestrator/models/store.h"
#include "orchestrator/pipeline/pipeline.h"
#include "orchestrator/topics/topic.h"

#include <stdlib.h>

enum { IDS_MAX = 100000, ANCESTORS_MAX = 100000 };

static json_t *evaluations_json(const struct weir_rows *rows)
{
    json_t *array = json_array();
    for (size_t i = 0; i < weir_rows_count(rows); i++) {
        json_t *value = weir_rows_is_null(rows, i, 4) ? json_string("undefined")
                                                      : json_real(weir_rows_f64(rows, i, 4));
        json_array_append_new(
            array, json_pack("{ss,s{so,so},ss,so,sI}", "name", weir_rows_text(rows, i, 0),
                             "interval", "from", orchestrator_json_time(weir_rows_i64(rows, i, 1)),
                             "to", orchestrator_json_time(weir_rows_i64(rows, i, 2)), "metric",
                             weir_rows_text(rows, i, 3), "value", value, "samples",
                             (json_int_t)weir_rows_i64(rows, i, 5)));
    }
    return array;
}

static enum weir_status model_json(struct topics *topics, const struct stored_model *model,
                                   json_t **ret_json, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) evaluations = NULL;
    WEIR_AUTO(weir_rows) active = NULL;
    enum weir_status status = DB_RUN(topics->context->db, Q_evaluation_of_model, &evaluations, err,
                                     DB_I64(model->pipeline), DB_TEXT(model->id));
    if (status == WEIR_OK)
        status = DB_RUN(topics->context->db, Q_model_active, &active, err, DB_I64(model->pipeline));
    if (status != WEIR_OK)
        return status;
    bool is_active = weir_str_equal(weir_rows_text(active, 0, 0), model->id);
    const struct pipeline *pipeline =
        orchestrator_pipeline_by_id(topics->pipelines, model->pipeline);
    *ret_json = json_pack(
        "{ss,ss,sI,sI,ss?,ss,sb,ss,sI,ss,ss,so,so,ss?,sI,so,so,ss,ss,ss,sI}", "model", model->id,
        "pipeline", pipeline == NULL ? "" : orchestrator_pipeline_config(pipeline)->name, "trigger",
        (json_int_t)model->trigger, "run", (json_int_t)model->run, "parent", model->parent, "state",
        model->state, "active", is_active, "checksum", model->checksum, "bytes",
        (json_int_t)model->bytes, "file", model->file, "set_digest", model->set_digest, "until",
        orchestrator_json_time(model->until_time), "created",
        orchestrator_json_time(model->created_us), "replaced_by", model->replaced_by, "erasure",
        (json_int_t)model->erasure, "cost", orchestrator_json_of(model->cost), "evaluations",
        evaluations_json(evaluations), "scored_by", model->scored_by, "held_out_by",
        model->held_out_by, "base", model->base, "stored_bytes", (json_int_t)model->stored_bytes);
    return WEIR_OK;
}

void topic_models(struct topic_call *call)
{
    struct topics *topics = call->all;
    struct weir_error err;
    int64_t pipeline = 0;
    if (topic_text(call, "pipeline", NULL) != NULL) {
        const struct pipeline *named = topic_pipeline(call);
        if (named == NULL)
            return;
        pipeline = orchestrator_pipeline_id(named);
    }
    WEIR_AUTO(weir_rows) rows = NULL;
    json_t *models = json_array();
    enum weir_status status = orchestrator_model_all(topics->context, pipeline, &rows, &err);
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        struct stored_model model;
        json_t *one = NULL;
        orchestrator_model_row(rows, i, &model);
        status = model_json(topics, &model, &one, &err);
        if (status == WEIR_OK)
            json_array_append_new(models, one);
    }
    if (status != WEIR_OK) {
        json_decref(models);
        topic_refuse(call, &err);
        return;
    }
    topic_answer(call, json_pack("{so}", "models", models));
}

void topic_model(struct topic_call *call)
{
    struct weir_error err;
    struct stored_model model = {0};
    json_t *json = NULL;
    enum weir_status status =
        orchestrator_model_get(call->context, topic_text(call, "model", ""), &model, &err);
    if (status == WEIR_OK)
        status = model_json(call->all, &model, &json, &err);
    orchestrator_model_fini(&model);
    if (status != WEIR_OK)
        topic_refuse(call, &err);
    else
        topic_answer(call, json);
}

/* ---- lineage ---- */

static const char *how_seen(const struct lineage_seen *seen)
{
    if (seen->through != NULL)
        return "influenced";
    return seen->count > 0 ? "its set" : "an ancestor's set";
}

static json_t *seen_json(const struct lineage_answer *answer)
{
    json_t *models = json_array();
    for (size_t i = 0; i < answer->count; i++) {
        const struct lineage_seen *seen = &answer->at[i];
        json_array_append_new(models, json_pack("{ss,sI,sb,sI,ss,ss*}", "model", seen->model,
                                                "trigger", (json_int_t)seen->trigger, "live",
                                                seen->live, "samples", (json_int_t)seen->count,
                                                "how", how_seen(seen), "through", seen->through));
    }
    return models;
}

/* From `ids` (numbers) of the arguments, or from the erasure they name. */
static enum weir_status asked_ids(const struct topic_call *call, struct id_blocks *ids,
                                  struct weir_error *err)
{
    const json_t *list = json_object_get(call->arguments, "ids");
    int64_t erasure = topic_number(call, "erasure", 0);
    if (erasure != 0)
        return orchestrator_lineage_of_erasure(call->context, erasure, ids, err);
    if (json_array_size(list) == 0 || json_array_size(list) > IDS_MAX) {
        return weir_fail(err, WEIR_INVALID, "lineage: expected 1 to %d sample ids, found %zu",
                         IDS_MAX, json_array_size(list));
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        uint64_t id = (uint64_t)json_integer_value(json_array_get(list, i));
        id_blocks_add(ids, &id, 1);
    }
    return WEIR_OK;
}

enum weir_status topic_ancestors_json(const struct topic_call *call, const char *model,
                                      json_t *ancestors, struct weir_error *err)
{
    WEIR_AUTO_FREE char *id = weir_strdup(model);
    enum weir_status status = WEIR_OK;
    while (id != NULL && status == WEIR_OK && json_array_size(ancestors) < ANCESTORS_MAX) {
        struct stored_model one = {0};
        status = orchestrator_model_get(call->context, id, &one, err);
        if (status == WEIR_OK) {
            json_array_append_new(ancestors,
                                  json_pack("{ss,sI,ss,ss,so,ss}", "model", one.id, "trigger",
                                            (json_int_t)one.trigger, "state", one.state,
                                            "set_digest", one.set_digest, "until",
                                            orchestrator_json_time(one.until_time), "scored_by",
                                            one.scored_by));
            free(id);
            id = one.parent == NULL ? NULL : weir_strdup(one.parent);
        }
        orchestrator_model_fini(&one);
    }
    return status;
}

static void answer_ancestors(struct topic_call *call, const char *model)
{
    struct weir_error err;
    json_t *ancestors = json_array();
    if (topic_ancestors_json(call, model, ancestors, &err) != WEIR_OK) {
        json_decref(ancestors);
        topic_refuse(call, &err);
        return;
    }
    topic_answer(call, json_pack("{ss,so}", "model", model, "ancestors", ancestors));
}

enum weir_status topic_lineage_json(const struct topic_call *call, const struct id_blocks *ids,
                                    json_t **ret_json, struct weir_error *err)
{
    struct lineage_answer answer = {0};
    int64_t before_ns = weir_now_ns();
    enum weir_status status = orchestrator_lineage_ask(call->context, ids, &answer, err);
    if (status == WEIR_OK) {
        *ret_json = json_pack("{sI,so,sf}", "samples", (json_int_t)id_blocks_population(ids),
                              "models", seen_json(&answer), "milliseconds",
                              (double)(weir_now_ns() - before_ns) / 1e6);
    }
    orchestrator_lineage_answer_fini(&answer);
    return status;
}

void topic_lineage(struct topic_call *call)
{
    struct weir_error err;
    const char *model = topic_text(call, "model", NULL);
    if (model != NULL) {
        answer_ancestors(call, model);
        return;
    }
    struct id_blocks ids = {0};
    json_t *json = NULL;
    enum weir_status status = asked_ids(call, &ids, &err);
    if (status == WEIR_OK)
        status = topic_lineage_json(call, &ids, &json, &err);
    id_blocks_fini(&ids);
    if (status == WEIR_OK)
        topic_answer(call, json);
    else
        topic_refuse(call, &err);
}
