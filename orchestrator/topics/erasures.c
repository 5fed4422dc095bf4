/* erase_request, erase_status, erase_list, erase_receipt, erase_key. Clear subjects pass through
 * this process's memory on their way to storage, and nowhere else. */
#include "orchestrator/erasures/erasure.h"
#include "orchestrator/erasures/receipt_keys.h"

#include "orchestrator/context/events.h"
#include "orchestrator/erasures/machine.h"
#include "orchestrator/pipeline/pipeline.h"
#include "orchestrator/topics/topic.h"

#include <stdlib.h>

enum { STORAGE_REQUEST_MS = 2000, LISTED_MAX = 10000 };

/* ---- erase_request ---- */

static void on_noted(void *owner, const struct weir_error *err)
{
    struct topic_call *call = owner;
    if (err == NULL)
        orchestrator_topic_answer(call, json_incref(call->collected));
    else
        orchestrator_topic_refuse(call, err);
}

/* Those of the call's names in the list `key` that stand at `places`. */
static json_t *names_at(const struct topic_call *call, const char *key, struct weir_u32s places)
{
    const json_t *list = json_object_get(call->arguments, key);
    json_t *names = json_array();
    for (size_t i = 0; i < places.count; i++) {
        json_t *name = json_array_get(list, places.at[i]);
        if (name != NULL)
            json_array_append(names, name);
    }
    return names;
}

static json_t *unmatched_json(const struct topic_call *call,
                              const struct msg_erase_accepted *accepted)
{
    return JSON_FIELDS(
        JSON_NEW("subjects", names_at(call, "subjects", accepted->unmatched_subjects)),
        JSON_NEW("keys", names_at(call, "keys", accepted->unmatched_keys)),
        JSON_NEW("ids", names_at(call, "ids", accepted->unmatched_ids)));
}

static void on_accepted(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct topic_call *call = owner;
    if (reply == NULL) {
        orchestrator_erasures_doubt(call->all->erasures);
        orchestrator_topic_refuse(call, err);
        return;
    }
    const struct msg_erase_accepted *accepted = reply->message;
    call->number = (int64_t)accepted->erasure;
    call->collected = JSON_FIELDS(
        JSON_NUMBER("erasure", accepted->erasure), JSON_NUMBER("matched", accepted->matched),
        JSON_TEXT("state", orchestrator_erasure_state_name(ERASURE_ACCEPTED)),
        JSON_NEW("unmatched", unmatched_json(call, accepted)));
    const struct erasure_names names = {.number = call->number,
                                        .dataset = orchestrator_topic_text(call, "dataset", ""),
                                        .reference =
                                            orchestrator_topic_text(call, "reference", "")};
    orchestrator_erasure_note(call->all->erasures, &names, on_noted, call);
}

void orchestrator_topic_erase_request(struct topic_call *call)
{
    struct weir_error err;
    struct topic_names names;
    if (orchestrator_topic_text(call, "uuid", "")[0] == '\0') {
        topic_fail(call, WEIR_INVALID, "erase: expected a uuid");
        return;
    }
    if (orchestrator_topic_names_read(call->arguments, &names, &err) != WEIR_OK) {
        orchestrator_topic_refuse(call, &err);
        return;
    }
    const struct msg_erase_accept accept = {
        .uuid = orchestrator_topic_text(call, "uuid", ""),
        .dataset = orchestrator_topic_text(call, "dataset", ""),
        .subjects = {names.subjects, names.subject_count},
        .ids = {names.ids, names.id_count},
        .reference = orchestrator_topic_text(call, "reference", ""),
        .keys = {names.keys, names.key_count},
        .expects_match = !orchestrator_topic_flag(call, "allow_none"),
        .drop_refused = orchestrator_topic_flag(call, "drop_refused"),
    };
    weir_rpc_call(call->context->storage, MSG_erase_accept, &accept, ORCHESTRATOR_REQUEST_MS,
                  on_accepted, call);
    orchestrator_topic_names_fini(&names);
}

/* ---- looking ---- */

static json_t *time_or_null(int64_t time_us)
{
    return time_us == 0 ? json_null() : orchestrator_json_time(time_us);
}

static void add_due(const struct topic_call *call, const struct weir_rows *rows, size_t row,
                    json_t *json)
{
    int64_t at_us =
        orchestrator_erasure_due_us(call->all->pipelines, weir_rows_i64(rows, row, "accepted_us"));
    int64_t finished_us = weir_rows_i64(rows, row, "finished_us");
    bool overdue = finished_us == 0 && orchestrator_erasure_is_overdue(call->context, at_us);
    json_object_set_new(json, "due", time_or_null(at_us));
    json_object_set_new(json, "overdue", json_boolean(overdue));
}

static json_t *erasure_json(const struct topic_call *call, const struct weir_rows *rows, size_t row)
{
    enum erasure_state state = ERASURE_ACCEPTED;
    const char *name = weir_rows_text(rows, row, "state");
    const char *doing = orchestrator_erasure_state_from_name(name, &state)
                            ? orchestrator_erasure_state_text(state)
                            : "";
    json_t *json = JSON_FIELDS(
        JSON_NUMBER("erasure", weir_rows_i64(rows, row, "number")), JSON_TEXT("state", name),
        JSON_TEXT("doing", doing), JSON_TEXT("reference", weir_rows_text(rows, row, "reference")),
        JSON_TEXT("dataset", weir_rows_text(rows, row, "dataset")),
        JSON_NUMBER("epoch", weir_rows_i64(rows, row, "epoch")),
        JSON_NUMBER("samples", weir_rows_i64(rows, row, "samples")),
        JSON_TEXT("error", weir_rows_text(rows, row, "error")),
        JSON_NEW("accepted", time_or_null(weir_rows_i64(rows, row, "accepted_us"))),
        JSON_NEW("in_force", time_or_null(weir_rows_i64(rows, row, "in_force_us"))),
        JSON_NEW("models_replaced", time_or_null(weir_rows_i64(rows, row, "replaced_us"))),
        JSON_NEW("finished", time_or_null(weir_rows_i64(rows, row, "finished_us"))),
        JSON_TEXT("receipt_hash", weir_rows_text(rows, row, "receipt_hash")));
    weir_require(json != NULL);
    add_due(call, rows, row, json);
    return json;
}

static json_t *models_json(const struct weir_rows *rows)
{
    json_t *models = json_array();
    for (size_t i = 0; i < weir_rows_count(rows); i++) {
        json_array_append_new(
            models, JSON_FIELDS(JSON_TEXT("model", weir_rows_text(rows, i, "model")),
                                JSON_NUMBER("trigger", weir_rows_i64(rows, i, "trigger")),
                                JSON_TEXT("action", weir_rows_text(rows, i, "action")),
                                JSON_TEXT_OR_NULL("replacement",
                                                  weir_rows_text_or_null(rows, i, "replacement")),
                                JSON_FLAG("done", weir_rows_bool(rows, i, "done"))));
    }
    return models;
}

/* The erasure that the arguments name. */
static enum weir_status load(const struct topic_call *call, struct weir_rows **ret_rows,
                             struct weir_error *err)
{
    int64_t number = orchestrator_topic_number(call, "erasure", 0);
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(call->context->db, Q_erasure_get, &rows, err, DB_I64(number));
    if (status == WEIR_OK && weir_rows_count(rows) == 0) {
        status = weir_fail(err, WEIR_NOT_FOUND, "erasure %lld: there is none; see weir erase list",
                           (long long)number);
    }
    if (status == WEIR_OK)
        *ret_rows = WEIR_TAKE(rows);
    return status;
}

/* `trouble`: what storage says stands in the way. It may name a file, so nobody keeps it. */
static void answer_status(struct topic_call *call, const char *trouble, bool unverified)
{
    struct weir_error err;
    WEIR_AUTO(weir_rows) rows = NULL;
    WEIR_AUTO(weir_rows) models = NULL;
    enum weir_status status = load(call, &rows, &err);
    if (status == WEIR_OK) {
        status = DB_RUN(call->context->db, Q_erasure_models_of, &models, &err,
                        DB_I64(orchestrator_topic_number(call, "erasure", 0)));
    }
    if (status != WEIR_OK) {
        orchestrator_topic_refuse(call, &err);
        return;
    }
    json_t *json = erasure_json(call, rows, 0);
    json_object_set_new(json, "trouble", json_string(trouble));
    json_object_set_new(json, "unverified", json_boolean(unverified));
    json_object_set_new(json, "models", models_json(models));
    orchestrator_topic_answer(call, json);
}

static void on_erase_is(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    const struct msg_erase_is *storage = reply != NULL ? reply->message : NULL;
    (void)err; /* storage is away: what is known here is answered all the same */
    answer_status(owner, storage != NULL ? storage->trouble : "",
                  storage != NULL && storage->unverified);
}

void orchestrator_topic_erase_status(struct topic_call *call)
{
    const struct msg_erase_request request = {
        .erasure = (uint64_t)orchestrator_topic_number(call, "erasure", 0)};
    weir_rpc_call(call->context->storage, MSG_erase_request, &request, STORAGE_REQUEST_MS,
                  on_erase_is, call);
}

/* ---- erase_list ---- */

static const char *trouble_of(const struct msg_erase_troubles *troubles, uint64_t erasure)
{
    for (size_t i = 0; i < troubles->erasures.count && i < troubles->troubles.count; i++) {
        if (troubles->erasures.at[i] == erasure)
            return troubles->troubles.at[i];
    }
    return "";
}

static bool is_unverified(const struct msg_erase_troubles *troubles, uint64_t erasure)
{
    for (size_t i = 0; i < troubles->unverified.count; i++) {
        if (troubles->unverified.at[i] == erasure)
            return true;
    }
    return false;
}

/* Names of the datasets that the sender sees, a line each; "": all. */
static void list_datasets(const struct topic_call *call, struct weir_buf *out)
{
    for (const struct pipeline *pipeline = call->all->pipelines->first;
         call->sender.tenant[0] != '\0' && pipeline != NULL;
         pipeline = orchestrator_pipeline_next(pipeline))
        if (orchestrator_pipeline_state(pipeline) != PIPELINE_REMOVED &&
            orchestrator_topic_sees(call, pipeline))
            orchestrator_config_list_datasets(orchestrator_pipeline_config(pipeline), out);
}

/* Of a tenant's viewer those in datasets of its pipelines: one in all datasets is the whole platform's. */
static void answer_list(struct topic_call *call, const struct msg_erase_troubles *troubles)
{
    struct weir_error err;
    WEIR_AUTO(weir_rows) rows = NULL;
    WEIR_AUTO_BUF datasets = {0};
    int64_t most = orchestrator_topic_number(call, "most", LISTED_MAX);
    list_datasets(call, &datasets);
    if (DB_RUN(call->context->db, Q_erasure_listed, &rows, &err,
               DB_I64(most >= 0 && most < LISTED_MAX ? most : LISTED_MAX),
               DB_BOOL(orchestrator_topic_flag(call, "open_first")),
               DB_BOOL(call->sender.tenant[0] != '\0'),
               DB_TEXT(weir_buf_text(&datasets))) != WEIR_OK) {
        orchestrator_topic_refuse(call, &err);
        return;
    }
    json_t *erasures = json_array();
    for (size_t i = 0; i < weir_rows_count(rows); i++) {
        json_t *json = erasure_json(call, rows, i);
        uint64_t number = (uint64_t)weir_rows_i64(rows, i, "number");
        json_object_set_new(json, "trouble", json_string(trouble_of(troubles, number)));
        json_object_set_new(json, "unverified", json_boolean(is_unverified(troubles, number)));
        json_array_append_new(erasures, json);
    }
    size_t listed = weir_rows_count(rows);
    json_int_t total = listed > 0 ? (json_int_t)weir_rows_i64(rows, 0, "total") : 0;
    orchestrator_topic_answer(call,
                              JSON_FIELDS(JSON_NEW("erasures", erasures),
                                          JSON_NUMBER("left_out", total - (json_int_t)listed)));
}

static void on_troubles(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    static const struct msg_erase_troubles NONE;
    (void)err; /* storage is away: what is known here is answered all the same */
    answer_list(owner, reply != NULL ? reply->message : &NONE);
}

void orchestrator_topic_erase_list(struct topic_call *call)
{
    static const struct msg_erase_troubles_request REQUEST;
    weir_rpc_call(call->context->storage, MSG_erase_troubles_request, &REQUEST, STORAGE_REQUEST_MS,
                  on_troubles, call);
}

/* ---- erase_receipt ---- */

void orchestrator_topic_erase_receipt(struct topic_call *call)
{
    struct weir_error err;
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = load(call, &rows, &err);
    if (status == WEIR_OK && weir_rows_text(rows, 0, "receipt")[0] == '\0') {
        status = weir_fail(&err, WEIR_NOT_FOUND, "erasure %lld has no receipt yet: it is at %s",
                           (long long)orchestrator_topic_number(call, "erasure", 0),
                           weir_rows_text(rows, 0, "state"));
    }
    if (status != WEIR_OK) {
        orchestrator_topic_refuse(call, &err);
        return;
    }
    orchestrator_topic_answer(call, orchestrator_json_of(weir_rows_text(rows, 0, "receipt")));
}

/* ---- erase_key ---- */

void orchestrator_topic_erase_key(struct topic_call *call)
{
    struct weir_error err;
    json_t *keys = NULL;
    if (orchestrator_receipt_keys(call->context, &keys, &err) != WEIR_OK) {
        orchestrator_topic_refuse(call, &err);
        return;
    }
    json_t *newest = json_array_get(keys, 0);
    orchestrator_topic_answer(call, JSON_FIELDS(JSON_NEW("public_key", json_incref(newest)),
                                                JSON_NEW("public_keys", keys)));
}
