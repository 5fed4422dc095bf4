/* models, model, lineage: what is stored, what it came from, and who has seen what. */
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "orchestrator/context/events.h"
#include "orchestrator/exports/holders.h"
#include "orchestrator/models/lineage.h"
#include "orchestrator/models/store.h"
#include "orchestrator/pipeline/pipeline.h"
#include "orchestrator/topics/classes.h"

#include <stdlib.h>
#include <string.h>

enum {
    IDS_MAX = 100000,
    ANCESTORS_MAX = 50000, /* what a message holds */
    PAGE_SEEN = 10000,
    PAGE_MODELS = 500,
    PAGE_MEASURES = TOPIC_MEASURES_MAX
};

static json_t *evaluations_json(const struct weir_rows *rows, const struct topic_measures *measures)
{
    json_t *array = json_array();
    for (size_t i = measures->first; i < measures->end; i++) {
        json_t *value = weir_rows_is_null(rows, i, "value")
                            ? json_string("undefined")
                            : json_real(weir_rows_f64(rows, i, "value"));
        json_array_append_new(
            array,
            JSON_FIELDS(JSON_TEXT("name", weir_rows_text(rows, i, "name")),
                        JSON_NEW("interval",
                                 JSON_FIELDS(JSON_TIME("from", weir_rows_i64(rows, i, "from_time")),
                                             JSON_TIME("to", weir_rows_i64(rows, i, "to_time")))),
                        JSON_TEXT("metric", weir_rows_text(rows, i, "metric")),
                        JSON_NEW("value", value),
                        JSON_NUMBER("samples", weir_rows_i64(rows, i, "samples"))));
    }
    return array;
}

/* With its measures after the first `from`. */
static json_t *model_json(const struct topics *topics, const struct stored_model *model,
                          const struct weir_rows *measures, size_t from)
{
    const struct pipeline *pipeline =
        orchestrator_pipeline_by_id(topics->pipelines, model->pipeline);
    const struct topic_measures told = orchestrator_topic_measures_of(measures, model->id, from);
    json_t *json = JSON_FIELDS(
        JSON_TEXT("model", model->id),
        JSON_TEXT("pipeline", pipeline == NULL ? "" : orchestrator_pipeline_config(pipeline)->name),
        JSON_NUMBER("trigger", model->trigger), JSON_NUMBER("run", model->run),
        JSON_TEXT_OR_NULL("parent", model->parent), JSON_TEXT("state", model->state),
        JSON_FLAG("active", model->is_active), JSON_TEXT("checksum", model->checksum),
        JSON_NUMBER("bytes", model->bytes), JSON_TEXT("file", model->file),
        JSON_TEXT("set_digest", model->set_digest), JSON_TIME("until", model->until_time),
        JSON_TIME("created", model->created_us),
        JSON_TEXT_OR_NULL("replaced_by", model->replaced_by),
        JSON_NUMBER("erasure", model->erasure), JSON_NEW("cost", orchestrator_json_of(model->cost)),
        JSON_NEW("evaluations", evaluations_json(measures, &told)),
        JSON_TEXT("scored_by", model->scored_by), JSON_TEXT("held_out_by", model->held_out_by),
        JSON_TEXT("base", model->base), JSON_NUMBER("stored_bytes", model->stored_bytes));
    if (told.left_out > 0)
        json_object_set_new(json, "evaluations_left_out", json_integer((json_int_t)told.left_out));
    return json;
}

/* Answers about models of the pipeline of that number; 0: of any. Consumes `json` and the call. */
static void answer_models(struct topic_call *call, int64_t number, json_t *json)
{
    const struct pipeline *pipeline = orchestrator_pipeline_by_id(call->all->pipelines, number);
    if (pipeline == NULL)
        orchestrator_topic_answer(call, json);
    else
        orchestrator_topic_answer_naming_classes(
            call, orchestrator_pipeline_config(pipeline)->datasets[0], json);
}

/* ---- pages: a message is bounded, and meanwhile nobody else is heard ---- */

/* The models of one answer: the first `count` of `rows`, which are newest first. */
struct page {
    struct weir_rows *rows;
    size_t count;
    bool has_older;
};

static enum weir_status find_page(const struct topic_call *call, int64_t pipeline,
                                  struct page *page, struct weir_error *err)
{
    const char *before = orchestrator_topic_text(call, "before", "");
    int64_t newest = orchestrator_topic_number(call, "newest", PAGE_MODELS + 1), measures = 0;
    if (newest < 0 || newest > PAGE_MODELS)
        newest = PAGE_MODELS + 1; /* one more tells that there are older ones */
    enum weir_status status =
        DB_RUN(call->context->db, Q_model_page, &page->rows, err, DB_I64(pipeline), DB_TEXT(before),
               DB_I64(newest), DB_TEXT(call->sender.tenant));
    size_t found = status == WEIR_OK ? weir_rows_count(page->rows) : 0;
    while (page->count < found && page->count < PAGE_MODELS) {
        measures += weir_rows_i64(page->rows, page->count, "measures");
        if (page->count > 0 && measures > PAGE_MEASURES)
            break;
        page->count++;
    }
    page->has_older = page->count < found;
    return status;
}

/* Those of the page, oldest first, with what all of them were measured as. */
static enum weir_status models_json(const struct topic_call *call, const struct page *page,
                                    json_t *models, struct weir_error *err)
{
    struct stored_model model;
    WEIR_AUTO_BUF ids = {0};
    WEIR_AUTO(weir_rows) measures = NULL;
    for (size_t i = 0; i < page->count; i++)
        weir_buf_printf(&ids, "%s%s", i == 0 ? "" : "\n", weir_rows_text(page->rows, i, "id"));
    enum weir_status status = DB_RUN(call->context->db, Q_evaluation_of_models, &measures, err,
                                     DB_TEXT(weir_buf_text(&ids)));
    for (size_t i = page->count; status == WEIR_OK && i-- > 0;) {
        orchestrator_model_row(page->rows, i, &model);
        json_array_append_new(models, model_json(call->all, &model, measures, 0));
    }
    return status;
}

void orchestrator_topic_models(struct topic_call *call)
{
    struct weir_error err;
    struct page page = {0};
    int64_t pipeline = 0;
    if (orchestrator_topic_text(call, "pipeline", NULL) != NULL) {
        const struct pipeline *named = orchestrator_topic_pipeline(call);
        if (named == NULL)
            return;
        pipeline = orchestrator_pipeline_id(named);
    }
    json_t *models = json_array();
    enum weir_status status = find_page(call, pipeline, &page, &err);
    if (status == WEIR_OK)
        status = models_json(call, &page, models, &err);
    json_t *answer = JSON_FIELDS(JSON_NEW("models", models));
    if (status == WEIR_OK && page.has_older)
        json_object_set_new(answer, "before",
                            json_string(weir_rows_text(page.rows, page.count - 1, "id")));
    if (status == WEIR_OK) {
        answer_models(call, pipeline, answer);
    } else {
        json_decref(answer);
        orchestrator_topic_refuse(call, &err);
    }
    weir_rows_free(page.rows);
}

void orchestrator_topic_model(struct topic_call *call)
{
    struct weir_error err;
    struct stored_model model = {0};
    WEIR_AUTO(weir_rows) measures = NULL;
    int64_t from = orchestrator_topic_number(call, "measures_from", 0);
    enum weir_status status = orchestrator_model_get(
        call->context, orchestrator_topic_text(call, "model", ""), &model, &err);
    if (status == WEIR_OK)
        status =
            DB_RUN(call->context->db, Q_evaluation_of_models, &measures, &err, DB_TEXT(model.id));
    if (status != WEIR_OK)
        orchestrator_topic_refuse(call, &err);
    else
        answer_models(call, model.pipeline,
                      model_json(call->all, &model, measures, from > 0 ? (size_t)from : 0));
    orchestrator_model_fini(&model);
}

/* ---- lineage ---- */

static const char *how_seen(const struct lineage_seen *seen)
{
    if (seen->through != NULL)
        return "influenced";
    return seen->count > 0 ? "its set" : "an ancestor's set";
}

/* The last of the models, of those before the one at `before` of the arguments; `*ret_first` is that of the first. */
static json_t *seen_json(const struct topic_call *call, const struct lineage_answer *answer,
                         size_t *ret_first)
{
    json_t *models = json_array();
    int64_t before = orchestrator_topic_number(call, "before", 0);
    size_t end = before > 0 && (size_t)before < answer->count ? (size_t)before : answer->count;
    *ret_first = end > PAGE_SEEN ? end - PAGE_SEEN : 0;
    for (size_t i = *ret_first; i < end; i++) {
        const struct lineage_seen *seen = &answer->at[i];
        json_array_append_new(models, JSON_FIELDS(JSON_TEXT("model", seen->model),
                                                  JSON_NUMBER("trigger", seen->trigger),
                                                  JSON_FLAG("live", seen->live),
                                                  JSON_NUMBER("samples", seen->count),
                                                  JSON_TEXT("how", how_seen(seen)),
                                                  JSON_TEXT_IF_ANY("through", seen->through)));
    }
    return models;
}

/* From `ids` (numbers) of the arguments, or from the erasure they name. */
static enum weir_status requested_ids(const struct topic_call *call, struct id_blocks *ids,
                                      struct weir_error *err)
{
    const json_t *list = json_object_get(call->arguments, "ids");
    int64_t erasure = orchestrator_topic_number(call, "erasure", 0);
    if (erasure != 0)
        return orchestrator_lineage_of_erasure(call->context, erasure, ids, err);
    if (json_array_size(list) == 0 || json_array_size(list) > IDS_MAX) {
        return weir_fail(err, WEIR_INVALID, "lineage: expected 1 to %d sample ids, found %zu",
                         IDS_MAX, json_array_size(list));
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        uint64_t id = (uint64_t)json_integer_value(json_array_get(list, i));
        orchestrator_id_blocks_add(ids, &id, 1);
    }
    return WEIR_OK;
}

enum weir_status orchestrator_topic_ancestors_json(const struct topic_call *call, const char *model,
                                                   json_t *ancestors, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(call->context->db, Q_model_ancestors, &rows, err,
                                     DB_TEXT(model), DB_I64(ANCESTORS_MAX));
    if (status == WEIR_OK && weir_rows_count(rows) == 0) {
        struct stored_model one = {0};
        status = orchestrator_model_get(call->context, model, &one, err); /* says what is wrong */
        orchestrator_model_fini(&one);
    }
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        json_array_append_new(
            ancestors, JSON_FIELDS(JSON_TEXT("model", weir_rows_text(rows, i, "id")),
                                   JSON_NUMBER("trigger", weir_rows_i64(rows, i, "trigger")),
                                   JSON_TEXT("state", weir_rows_text(rows, i, "state")),
                                   JSON_TEXT("set_digest", weir_rows_text(rows, i, "set_digest")),
                                   JSON_TIME("until", weir_rows_i64(rows, i, "until_time")),
                                   JSON_TEXT("scored_by", weir_rows_text(rows, i, "scored_by"))));
    return status;
}

static void answer_ancestors(struct topic_call *call, const char *model)
{
    struct weir_error err;
    json_t *ancestors = json_array();
    if (orchestrator_topic_ancestors_json(call, model, ancestors, &err) != WEIR_OK) {
        json_decref(ancestors);
        orchestrator_topic_refuse(call, &err);
        return;
    }
    orchestrator_topic_answer(
        call, JSON_FIELDS(JSON_TEXT("model", model), JSON_NEW("ancestors", ancestors)));
}

enum weir_status orchestrator_topic_lineage_json(const struct topic_call *call,
                                                 const struct id_blocks *ids, json_t **ret_json,
                                                 struct weir_error *err)
{
    struct lineage_answer answer = {0};
    json_t *exports = NULL;
    size_t first = 0;
    int64_t before_ns = weir_now_ns();
    enum weir_status status = orchestrator_lineage_query(call->context, ids, &answer, err);
    int64_t took_ns = weir_now_ns() - before_ns;
    if (status == WEIR_OK)
        status = orchestrator_export_holders_of(
            call->context, orchestrator_topic_number(call, "erasure", 0), ids, &exports, err);
    if (status == WEIR_OK)
        *ret_json = JSON_FIELDS(JSON_NUMBER("samples", orchestrator_id_blocks_population(ids)),
                                JSON_NEW("models", seen_json(call, &answer, &first)),
                                JSON_NEW("exports", exports),
                                JSON_DOUBLE("milliseconds", (double)took_ns / 1e6));
    if (first > 0)
        json_object_set_new(*ret_json, "before", json_integer((json_int_t)first));
    orchestrator_lineage_answer_fini(&answer);
    return status;
}

void orchestrator_topic_lineage(struct topic_call *call)
{
    struct weir_error err;
    const char *model = orchestrator_topic_text(call, "model", NULL);
    if (model != NULL) {
        answer_ancestors(call, model);
        return;
    }
    struct id_blocks ids = {0};
    json_t *json = NULL;
    enum weir_status status = requested_ids(call, &ids, &err);
    if (status == WEIR_OK)
        status = orchestrator_topic_lineage_json(call, &ids, &json, &err);
    orchestrator_id_blocks_fini(&ids);
    if (status == WEIR_OK)
        orchestrator_topic_answer(call, json);
    else
        orchestrator_topic_refuse(call, &err);
}
