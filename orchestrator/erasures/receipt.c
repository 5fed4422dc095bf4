/* The receipt of an erasure: what was where, what was done when, and what is outside Weir's reach, as JSON. Receipts
 * form a chain: each names the hash of the one before it, and its own hash covers that name. What became of models is
 * told of the batch that the erasure was in: they were replaced once for all of it. */
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "orchestrator/context/events.h"
#include "orchestrator/erasures/erasure_state.h"
#include "orchestrator/erasures/places.h"
#include "orchestrator/erasures/wiping.h"
#include "orchestrator/models/lineage.h"

#include <stdlib.h>
#include <string.h>

enum { IDS_LISTED_MAX = 1000 };

/* ---- what the receipts of a batch have in common ---- */

static json_t *models_json(const struct weir_rows *rows)
{
    json_t *models = json_array();
    for (size_t i = 0; i < weir_rows_count(rows); i++) {
        json_array_append_new(
            models,
            JSON_FIELDS(
                JSON_TEXT("model", weir_rows_text(rows, i, "model")),
                JSON_NUMBER("trigger", weir_rows_i64(rows, i, "trigger")),
                JSON_TEXT("action", weir_rows_text(rows, i, "action")),
                JSON_TEXT_OR_NULL("replacement", weir_rows_text_or_null(rows, i, "replacement")),
                JSON_TEXT_IF_ANY("outcome", weir_rows_text_or_null(rows, i, "outcome"))));
    }
    return models;
}

/* Live models that have not seen the samples, but whose sets were chosen by scores of one that had. */
static enum weir_status influenced_json(const struct erasure_batch *batch,
                                        const struct id_blocks *ids, json_t **ret_json,
                                        struct weir_error *err)
{
    struct lineage_answer answer = {0};
    enum weir_status status = orchestrator_lineage_query(batch->context, ids, &answer, err);
    if (status == WEIR_OK)
        *ret_json = json_array();
    for (size_t i = 0; i < answer.count; i++)
        if (answer.at[i].live && answer.at[i].through != NULL)
            json_array_append_new(*ret_json,
                                  JSON_FIELDS(JSON_TEXT("model", answer.at[i].model),
                                              JSON_TEXT("through", answer.at[i].through)));
    orchestrator_lineage_answer_fini(&answer);
    return status;
}

/* Intervals that a replaced model was measured on and its replacement could not be. */
static json_t *unmeasured_json(const struct weir_rows *rows)
{
    json_t *unmeasured = json_array();
    for (size_t i = 0; i < weir_rows_count(rows); i++)
        json_array_append_new(
            unmeasured, JSON_FIELDS(JSON_TEXT("model", weir_rows_text(rows, i, "replacement")),
                                    JSON_TEXT("evaluation", weir_rows_text(rows, i, "name")),
                                    JSON_TIME("from", weir_rows_i64(rows, i, "from_time")),
                                    JSON_TIME("to", weir_rows_i64(rows, i, "to_time"))));
    return unmeasured;
}

/* Models and folders that have to do with the samples. */
static enum weir_status load_concerned(const struct erasure_batch *batch, json_t **ret_influenced,
                                       struct export_holders *ret_exports, struct weir_error *err)
{
    struct id_blocks ids = {0};
    enum weir_status status =
        orchestrator_lineage_of_batch(batch->context, batch->number, &ids, err);
    if (status == WEIR_OK)
        status = orchestrator_export_holders_load(batch->context, &ids, ret_exports, err);
    if (status == WEIR_OK)
        status = influenced_json(batch, &ids, ret_influenced, err);
    orchestrator_id_blocks_fini(&ids);
    return status;
}

enum weir_status orchestrator_erasure_context_load(const struct erasure_batch *batch,
                                                   struct erasure_context *ret_context,
                                                   struct weir_error *err)
{
    WEIR_AUTO(weir_rows) models = NULL;
    WEIR_AUTO(weir_rows) unmeasured = NULL;
    WEIR_AUTO(weir_rows) size = NULL;
    WEIR_AUTO(weir_rows) datasets = NULL;
    struct weir_db *db = batch->context->db;
    json_t *influenced = NULL;
    struct export_holders exports = {0};
    enum weir_status status = DB_RUN(db, Q_erasure_models, &models, err, DB_I64(batch->number));
    if (status == WEIR_OK)
        status = DB_RUN(db, Q_erasure_measures, &unmeasured, err, DB_I64(batch->number));
    if (status == WEIR_OK)
        status = DB_RUN(db, Q_erasure_batch_size, &size, err, DB_I64(batch->number));
    if (status == WEIR_OK)
        status = DB_RUN(db, Q_dataset_names, &datasets, err);
    if (status == WEIR_OK)
        status = load_concerned(batch, &influenced, &exports, err);
    if (status != WEIR_OK)
        orchestrator_export_holders_fini(&exports);
    else
        *ret_context =
            (struct erasure_context){.models = models_json(models),
                                     .datasets = WEIR_TAKE(datasets),
                                     .influenced = influenced,
                                     .exports = exports,
                                     .unmeasured = unmeasured_json(unmeasured),
                                     .memory = orchestrator_wiping_json(batch->all->wiping),
                                     .batch = batch->number,
                                     .size = weir_rows_i64(size, 0, "count")};
    return status;
}

void orchestrator_erasure_context_fini(struct erasure_context *context)
{
    json_decref(context->models);
    json_decref(context->influenced);
    json_decref(context->unmeasured);
    json_decref(context->memory);
    orchestrator_export_holders_fini(&context->exports);
    weir_rows_free(context->datasets);
}

/* ---- one ---- */

static json_t *lines_json(const char *text)
{
    json_t *lines = json_array();
    while (*text != '\0') {
        size_t size = strcspn(text, "\n");
        json_array_append_new(lines, json_stringn(text, size));
        text += size + (text[size] == '\n');
    }
    return lines;
}

static json_t *storage_json(const struct msg_erase_reports *reports, size_t at)
{
    return JSON_FIELDS(JSON_NUMBER("records_scrubbed", reports->records_scrubbed.at[at]),
                       JSON_NUMBER("files_scrubbed", reports->files_scrubbed.at[at]),
                       JSON_NUMBER("bytes_scrubbed", reports->bytes_scrubbed.at[at]),
                       JSON_NUMBER("objects_cleaned", reports->objects_cleaned.at[at]),
                       JSON_NUMBER("bytes_searched", reports->bytes_searched.at[at]),
                       JSON_NUMBER("found", reports->found.at[at]),
                       JSON_NUMBER("holders_answered", reports->holders_answered.at[at]),
                       JSON_NUMBER("holders_expired", reports->holders_expired.at[at]),
                       JSON_NEW("dropped", lines_json(reports->dropped.at[at])),
                       JSON_NEW("outside_reach", lines_json(reports->remarks.at[at])));
}

/* An object of what there was; empty where there was none. */
static json_t *held(const char *kind, int64_t count)
{
    return count > 0 ? JSON_FIELDS(JSON_NUMBER(kind, count)) : json_object();
}

static bool keeps_any(const json_t *models)
{
    for (size_t i = 0; i < json_array_size(models); i++) {
        const json_t *action = json_object_get(json_array_get(models, i), "action");
        if (strcmp(json_string_value(action), "keep") == 0)
            return true;
    }
    return false;
}

/* Models, runs and scores are those of the batch, as everywhere in the receipt; none where there was no sample. */
static json_t *places_json(const struct erasure_context *context, const struct weir_rows *rows,
                           size_t row, const struct msg_erase_reports *reports, size_t at)
{
    int64_t share = reports->samples.at[at] > 0;
    json_t *files = held("records", (int64_t)reports->records_scrubbed.at[at]);
    json_t *there = json_object();
    json_object_update_new(files, held("files", (int64_t)reports->files_scrubbed.at[at]));
    json_object_set_new(there, "storage", files);
    json_object_set_new(there, "postgres", held("samples", (int64_t)reports->samples.at[at]));
    json_object_set_new(there, "scores",
                        held("samples", share * weir_rows_i64(rows, row, "scores_purged")));
    json_object_set_new(there, "cache",
                        held("rows", share * weir_rows_i64(rows, row, "cache_purged")));
    json_object_set_new(there, "models",
                        held("models", share * (int64_t)json_array_size(context->models)));
    json_object_set_new(there, "runs",
                        held("directories", share * weir_rows_i64(rows, row, "purged_files")));
    json_t *places = orchestrator_places_json(reports->places.at[at], there,
                                              keeps_any(context->models) ? "models" : NULL);
    json_decref(there);
    return places;
}

/* The first ones. */
static json_t *ids_json(const struct id_blocks *blocks)
{
    json_t *ids = json_array();
    for (size_t i = 0; i < blocks->count && json_array_size(ids) < IDS_LISTED_MAX; i++) {
        const struct id_block *block = &blocks->at[i];
        for (size_t row = 0; row < block->rows.count && json_array_size(ids) < IDS_LISTED_MAX;
             row++)
            if (weir_bits_get(&block->rows, row))
                json_array_append_new(
                    ids, json_integer(block->block * WEIR_BLOCK_ROWS + (json_int_t)row));
    }
    return ids;
}

/* The name that pipelines have for a dataset; in the caller's memory. */
static char *name_of(const struct weir_rows *datasets, int64_t number)
{
    for (size_t i = 0; i < weir_rows_count(datasets); i++)
        if (weir_rows_i64(datasets, i, "dataset") == number)
            return weir_strdup(weir_rows_text(datasets, i, "name"));
    return weir_format("%lld", (long long)number);
}

static uint32_t dataset_of(const struct id_block *block)
{
    return weir_sample_dataset((uint64_t)block->block * WEIR_BLOCK_ROWS);
}

/* How many of the samples each dataset had. Blocks ascend. */
static json_t *datasets_json(const struct erasure_context *context, const struct id_blocks *blocks)
{
    json_t *datasets = json_array();
    for (size_t i = 0, samples = 0; i < blocks->count; i++) {
        uint32_t number = dataset_of(&blocks->at[i]);
        samples += weir_bits_population(&blocks->at[i].rows);
        if (i + 1 < blocks->count && dataset_of(&blocks->at[i + 1]) == number)
            continue;
        WEIR_AUTO_FREE char *name = name_of(context->datasets, number);
        json_array_append_new(
            datasets, JSON_FIELDS(JSON_TEXT("dataset", name), JSON_NUMBER("samples", samples)));
        samples = 0;
    }
    return datasets;
}

static json_t *timeline_json(const struct weir_rows *rows, size_t row,
                             const struct msg_erase_reports *reports, size_t at)
{
    return JSON_FIELDS(JSON_TIME("accepted", reports->accepted_us.at[at]),
                       JSON_TIME("in_force", reports->in_force_us.at[at]),
                       JSON_TIME("scrubbed", reports->scrubbed_us.at[at]),
                       JSON_TIME("models_replaced", weir_rows_i64(rows, row, "replaced_us")),
                       JSON_TIME("verified", reports->verified_us.at[at]),
                       JSON_TIME("receipt", weir_now_wall_us()));
}

/* An erasure of no sample concerns no model. */
static json_t *of_models(json_t *list, const struct weir_rows *rows, size_t row)
{
    return weir_rows_i64(rows, row, "samples") > 0 ? json_incref(list) : json_array();
}

json_t *orchestrator_erasure_receipt_json(const struct erasure_context *context,
                                          const struct weir_rows *rows, size_t row,
                                          const struct msg_erase_reports *reports, size_t report,
                                          const struct id_blocks *ids)
{
    json_t *body = JSON_FIELDS(
        JSON_NUMBER("version", 3), JSON_NUMBER("erasure", weir_rows_i64(rows, row, "number")),
        JSON_TEXT("reference", weir_rows_text(rows, row, "reference")),
        JSON_TEXT("dataset", weir_rows_text(rows, row, "dataset")),
        JSON_NUMBER("epoch", reports->epochs.at[report]),
        JSON_NUMBER("samples", reports->samples.at[report]), JSON_NEW("ids", ids_json(ids)),
        JSON_NEW("datasets", datasets_json(context, ids)),
        JSON_NEW("timeline", timeline_json(rows, row, reports, report)),
        JSON_NEW("storage", storage_json(reports, report)),
        JSON_NEW("places", places_json(context, rows, row, reports, report)),
        JSON_NEW("memory", json_incref(context->memory)),
        JSON_NEW("batch", JSON_FIELDS(JSON_NUMBER("first_erasure", context->batch),
                                      JSON_NUMBER("erasures", context->size))),
        JSON_NEW("models", of_models(context->models, rows, row)),
        JSON_NEW("influenced", of_models(context->influenced, rows, row)),
        JSON_NEW("exports", orchestrator_export_holders_json(&context->exports, ids,
                                                             (int64_t)reports->epochs.at[report])),
        JSON_NEW("not_measured_again", of_models(context->unmeasured, rows, row)),
        JSON_NUMBER("run_directories_removed", weir_rows_i64(rows, row, "purged_files")),
        JSON_NUMBER("scores_removed", weir_rows_i64(rows, row, "scores_purged")),
        JSON_TEXT(
            "replacement",
            "chain: the later triggers' sets again, in order, from the newest ancestor that had not seen the samples"),
        JSON_TEXT(
            "hash_of",
            "BLAKE2b-256 of this object without `hash` and `signature`, as compact JSON with sorted keys"),
        JSON_TEXT("signature_of", "the text of `hash`, by Ed25519 with `public_key`"));
    weir_require(body != NULL);
    return body;
}
