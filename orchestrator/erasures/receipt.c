/* The receipt of an erasure: what was where, what was done when, and what is outside Weir's reach, as JSON. Receipts
 * form a chain: each names the hash of the one before it, and its own hash covers that name. What became of models is
 * told of the batch that the erasure was in: they were replaced once for all of it. */
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "orchestrator/context/events.h"
#include "orchestrator/erasures/erasure_state.h"
#include "orchestrator/erasures/wiping.h"
#include "orchestrator/models/lineage.h"

#include <stdlib.h>
#include <string.h>

enum { IDS_LISTED_MAX = 1000 };

/* Columns of Q_erasure_receipts_of. */
enum { COL_NUMBER, COL_REFERENCE, COL_DATASET, COL_SAMPLES, COL_PURGED, COL_REPLACED, COL_SCORES };

/* Columns of Q_erasure_models. */
enum { MODEL_ID, MODEL_TRIGGER = 2, MODEL_ACTION, MODEL_REPLACEMENT, MODEL_OUTCOME = 6 };

static const char *text_or_null(const struct weir_rows *rows, size_t row, int column)
{
    return weir_rows_is_null(rows, row, column) ? NULL : weir_rows_text(rows, row, column);
}

/* ---- what the receipts of a batch have in common ---- */

static json_t *models_json(const struct weir_rows *rows)
{
    json_t *models = json_array();
    for (size_t i = 0; i < weir_rows_count(rows); i++) {
        json_array_append_new(
            models, json_pack("{ss,sI,ss,ss?,ss*}", "model", weir_rows_text(rows, i, MODEL_ID),
                              "trigger", (json_int_t)weir_rows_i64(rows, i, MODEL_TRIGGER),
                              "action", weir_rows_text(rows, i, MODEL_ACTION), "replacement",
                              text_or_null(rows, i, MODEL_REPLACEMENT), "outcome",
                              text_or_null(rows, i, MODEL_OUTCOME)));
    }
    return models;
}

/* Live models that have not seen the samples, but whose sets were chosen by scores of one that had. */
static enum weir_status influenced_json(const struct erasure_batch *batch, json_t **ret_json,
                                        struct weir_error *err)
{
    struct id_blocks ids = {0};
    struct lineage_answer answer = {0};
    enum weir_status status =
        orchestrator_lineage_of_batch(batch->context, batch->number, &ids, err);
    if (status == WEIR_OK)
        status = orchestrator_lineage_ask(batch->context, &ids, &answer, err);
    if (status == WEIR_OK)
        *ret_json = json_array();
    for (size_t i = 0; i < answer.count; i++)
        if (answer.at[i].live && answer.at[i].through != NULL)
            json_array_append_new(*ret_json, json_pack("{ss,ss}", "model", answer.at[i].model,
                                                       "through", answer.at[i].through));
    id_blocks_fini(&ids);
    orchestrator_lineage_answer_fini(&answer);
    return status;
}

/* Intervals that a replaced model was measured on and its replacement could not be. */
static json_t *unmeasured_json(const struct weir_rows *rows)
{
    json_t *unmeasured = json_array();
    for (size_t i = 0; i < weir_rows_count(rows); i++)
        json_array_append_new(unmeasured,
                              json_pack("{ss,ss,so,so}", "model", weir_rows_text(rows, i, 1),
                                        "evaluation", weir_rows_text(rows, i, 2), "from",
                                        orchestrator_json_time(weir_rows_i64(rows, i, 3)), "to",
                                        orchestrator_json_time(weir_rows_i64(rows, i, 4))));
    return unmeasured;
}

enum weir_status erasure_context_load(const struct erasure_batch *batch,
                                      struct erasure_context *ret_context, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) models = NULL;
    WEIR_AUTO(weir_rows) unmeasured = NULL;
    WEIR_AUTO(weir_rows) size = NULL;
    struct weir_db *db = batch->context->db;
    json_t *influenced = NULL;
    enum weir_status status = DB_RUN(db, Q_erasure_models, &models, err, DB_I64(batch->number));
    if (status == WEIR_OK)
        status = DB_RUN(db, Q_erasure_measures, &unmeasured, err, DB_I64(batch->number));
    if (status == WEIR_OK)
        status = DB_RUN(db, Q_erasure_batch_size, &size, err, DB_I64(batch->number));
    if (status == WEIR_OK)
        status = influenced_json(batch, &influenced, err);
    if (status == WEIR_OK)
        *ret_context = (struct erasure_context){.models = models_json(models),
                                                .influenced = influenced,
                                                .unmeasured = unmeasured_json(unmeasured),
                                                .memory = wiping_json(batch->all->wiping),
                                                .batch = batch->number,
                                                .size = weir_rows_i64(size, 0, 0)};
    return status;
}

void erasure_context_fini(struct erasure_context *context)
{
    json_decref(context->models);
    json_decref(context->influenced);
    json_decref(context->unmeasured);
    json_decref(context->memory);
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
    return json_pack(
        "{sI,sI,sI,sI,sI,sI,sI,so,so}", "files_scrubbed",
        (json_int_t)reports->files_scrubbed.at[at], "bytes_scrubbed",
        (json_int_t)reports->bytes_scrubbed.at[at], "objects_cleaned",
        (json_int_t)reports->objects_cleaned.at[at], "bytes_searched",
        (json_int_t)reports->bytes_searched.at[at], "found", (json_int_t)reports->found.at[at],
        "holders_answered", (json_int_t)reports->holders_answered.at[at], "holders_expired",
        (json_int_t)reports->holders_expired.at[at], "dropped", lines_json(reports->dropped.at[at]),
        "outside_reach", lines_json(reports->remarks.at[at]));
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

static json_t *timeline_json(const struct weir_rows *rows, size_t row,
                             const struct msg_erase_reports *reports, size_t at)
{
    return json_pack("{so,so,so,so,so,so}", "accepted",
                     orchestrator_json_time(reports->accepted_us.at[at]), "in_force",
                     orchestrator_json_time(reports->in_force_us.at[at]), "scrubbed",
                     orchestrator_json_time(reports->scrubbed_us.at[at]), "models_replaced",
                     orchestrator_json_time(weir_rows_i64(rows, row, COL_REPLACED)), "verified",
                     orchestrator_json_time(reports->verified_us.at[at]), "receipt",
                     orchestrator_json_time(weir_now_wall_us()));
}

/* An erasure of no sample concerns no model. */
static json_t *of_models(json_t *list, const struct weir_rows *rows, size_t row)
{
    return weir_rows_i64(rows, row, COL_SAMPLES) > 0 ? json_incref(list) : json_array();
}

json_t *erasure_receipt_json(const struct erasure_context *context, const struct weir_rows *rows,
                             size_t row, const struct msg_erase_reports *reports, size_t report,
                             const struct id_blocks *ids)
{
    json_t *body = json_pack(
        "{si,sI,ss,ss,sI,sI,so,so,so,so,so,so,so,so,sI,sI,ss,ss,ss}", "version", 2, "erasure",
        (json_int_t)weir_rows_i64(rows, row, COL_NUMBER), "reference",
        weir_rows_text(rows, row, COL_REFERENCE), "dataset", weir_rows_text(rows, row, COL_DATASET),
        "epoch", (json_int_t)reports->epochs.at[report], "samples",
        (json_int_t)reports->samples.at[report], "ids", ids_json(ids), "timeline",
        timeline_json(rows, row, reports, report), "storage", storage_json(reports, report),
        "memory", json_incref(context->memory), "batch",
        json_pack("{sI,sI}", "first_erasure", (json_int_t)context->batch, "erasures",
                  (json_int_t)context->size),
        "models", of_models(context->models, rows, row), "influenced",
        of_models(context->influenced, rows, row), "not_measured_again",
        of_models(context->unmeasured, rows, row), "run_directories_removed",
        (json_int_t)weir_rows_i64(rows, row, COL_PURGED), "scores_removed",
        (json_int_t)weir_rows_i64(rows, row, COL_SCORES), "replacement",
        "chain: the later triggers' sets again, in order, from the newest ancestor that had not seen the samples",
        "hash_of",
        "BLAKE2b-256 of this object without `hash` and `signature`, as compact JSON with sorted keys",
        "signature_of", "the text of `hash`, by Ed25519 with `public_key`");
    weir_require(body != NULL);
    return body;
}
