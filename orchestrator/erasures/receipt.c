/* The receipt of an erasure: what was where, what was done when, and what is outside Weir's reach, as JSON. Receipts
 * form a chain: each names the hash of the one before it, and its own hash covers that name. */
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "orchestrator/erasures/erasure_state.h"
#include "orchestrator/erasures/receipt_keys.h"
#include "orchestrator/erasures/wiping.h"
#include "orchestrator/events.h"
#include "orchestrator/models/lineage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IDS_LISTED_MAX = 1000 };

/* Columns of Q_erasure_get. */
enum {
    COL_NUMBER,
    COL_STATE,
    COL_REFERENCE,
    COL_DATASET,
    COL_EPOCH,
    COL_SAMPLES,
    COL_PURGED,
    COL_ERROR,
    COL_ACCEPTED,
    COL_IN_FORCE,
    COL_REPLACED,
    COL_SCORES = 14,
};

static json_t *models_json(const struct weir_rows *rows)
{
    json_t *models = json_array();
    for (size_t i = 0; i < weir_rows_count(rows); i++) {
        json_array_append_new(
            models, json_pack("{ss,sI,ss,ss?}", "model", weir_rows_text(rows, i, 0), "trigger",
                              (json_int_t)weir_rows_i64(rows, i, 2), "action",
                              weir_rows_text(rows, i, 3), "replacement",
                              weir_rows_is_null(rows, i, 4) ? NULL : weir_rows_text(rows, i, 4)));
    }
    return models;
}

/* Live models that have not seen the samples, but whose sets were chosen by scores of one that had. */
static enum weir_status influenced_json(const struct erasure *erasure, json_t **ret_json,
                                        struct weir_error *err)
{
    struct id_blocks ids = {0};
    struct lineage_answer answer = {0};
    enum weir_status status =
        orchestrator_lineage_of_erasure(erasure->orch, erasure->number, &ids, err);
    if (status == WEIR_OK)
        status = orchestrator_lineage_ask(erasure->orch, &ids, &answer, err);
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

static json_t *storage_json(const struct msg_erase_is *storage)
{
    json_t *remarks = json_array();
    for (size_t i = 0; i < storage->remarks.count; i++)
        json_array_append_new(remarks, json_string(storage->remarks.at[i]));
    return json_pack("{sI,sI,sI,sI,sI,sI,sI,so}", "files_scrubbed",
                     (json_int_t)storage->files_scrubbed, "bytes_scrubbed",
                     (json_int_t)storage->bytes_scrubbed, "objects_cleaned",
                     (json_int_t)storage->objects_cleaned, "bytes_searched",
                     (json_int_t)storage->bytes_searched, "found", (json_int_t)storage->found,
                     "holders_answered", (json_int_t)storage->holders_answered, "holders_expired",
                     (json_int_t)storage->holders_expired, "outside_reach", remarks);
}

static json_t *ids_json(const struct msg_erase_is *storage)
{
    json_t *ids = json_array();
    for (size_t i = 0; i < storage->ids.count && i < IDS_LISTED_MAX; i++)
        json_array_append_new(ids, json_integer((json_int_t)storage->ids.at[i]));
    return ids;
}

static json_t *timeline_json(const struct weir_rows *row, const struct msg_erase_is *storage)
{
    return json_pack("{so,so,so,so,so,so}", "accepted",
                     orchestrator_json_time(storage->accepted_us), "in_force",
                     orchestrator_json_time(storage->in_force_us), "scrubbed",
                     orchestrator_json_time(storage->scrubbed_us), "models_replaced",
                     orchestrator_json_time(weir_rows_i64(row, 0, COL_REPLACED)), "verified",
                     orchestrator_json_time(storage->verified_us), "receipt",
                     orchestrator_json_time(weir_now_wall_us()));
}

static enum weir_status finish_receipt(const struct erasure *erasure, json_t *body,
                                       struct erasure_receipt *ret_receipt, struct weir_error *err)
{
    struct receipt_key key;
    enum weir_status status = orchestrator_receipt_key(erasure->orch, &key, err);
    if (status == WEIR_OK) {
        receipt_sign(body, &key, ret_receipt->hash);
        ret_receipt->text = json_dumps(body, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
        weir_require(ret_receipt->text != NULL);
        receipt_key_fini(&key);
    }
    json_decref(body);
    return status;
}

enum weir_status erasure_receipt_make(struct erasure *erasure, const struct msg_erase_is *storage,
                                      struct erasure_receipt *ret_receipt, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) row = NULL;
    WEIR_AUTO(weir_rows) models = NULL;
    WEIR_AUTO(weir_rows) unmeasured = NULL;
    WEIR_AUTO(weir_rows) previous = NULL;
    struct weir_db *db = erasure->orch->db;
    enum weir_status status = DB_RUN(db, Q_erasure_get, &row, err, DB_I64(erasure->number));
    if (status == WEIR_OK)
        status = DB_RUN(db, Q_erasure_models, &models, err, DB_I64(erasure->number));
    if (status == WEIR_OK)
        status = DB_RUN(db, Q_erasure_measures, &unmeasured, err, DB_I64(erasure->number));
    if (status == WEIR_OK)
        status = DB_RUN(db, Q_erasure_last_receipt, &previous, err, DB_I64(erasure->number));
    json_t *influenced = NULL;
    if (status == WEIR_OK)
        status = influenced_json(erasure, &influenced, err);
    if (status != WEIR_OK)
        return status;
    bool first = weir_rows_count(previous) == 0;
    json_t *body = json_pack(
        "{si,sI,ss,ss,sI,sI,so,so,so,so,so,so,so,sI,sI,ss,ss,ss,ss}", "version", 2, "erasure",
        (json_int_t)erasure->number, "reference", weir_rows_text(row, 0, COL_REFERENCE), "dataset",
        weir_rows_text(row, 0, COL_DATASET), "epoch", (json_int_t)storage->epoch, "samples",
        (json_int_t)storage->samples, "ids", ids_json(storage), "timeline",
        timeline_json(row, storage), "storage", storage_json(storage), "memory",
        wiping_json(erasure->orch->wiping), "models", models_json(models), "influenced", influenced,
        "not_measured_again", unmeasured_json(unmeasured), "run_directories_removed",
        (json_int_t)weir_rows_i64(row, 0, COL_PURGED), "scores_removed",
        (json_int_t)weir_rows_i64(row, 0, COL_SCORES), "replacement",
        "chain: the later triggers' sets again, in order, from the newest ancestor that had not seen the samples",
        "hash_of",
        "BLAKE2b-256 of this object without `hash` and `signature`, as compact JSON with sorted keys",
        "signature_of", "the text of `hash`, by Ed25519 with `public_key`", "previous",
        first ? "" : weir_rows_text(previous, 0, 1));
    weir_require(body != NULL);
    return finish_receipt(erasure, body, ret_receipt, err);
}
