/* erase_request, erase_status, erase_list, erase_receipt, erase_key. Clear subjects pass through
 * this process's memory on their way to storage, and nowhere else. */
#include "orchestrator/erasures/erasure.h"
#include "orchestrator/erasures/receipt_keys.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "orchestrator/context/events.h"
#include "orchestrator/erasures/machine.h"
#include "orchestrator/pipeline/pipeline.h"
#include "orchestrator/topics/topic.h"

#include <stdlib.h>

enum { STORAGE_ASK_MS = 2000, LISTED_MAX = 10000 };

/* ---- erase_request ---- */

static void on_noted(void *owner, const struct weir_error *err)
{
    struct topic_call *call = owner;
    if (err == NULL)
        topic_answer(call, json_incref(call->collected));
    else
        topic_refuse(call, err);
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
    return json_pack("{so,so,so}", "subjects",
                     names_at(call, "subjects", accepted->unmatched_subjects), "keys",
                     names_at(call, "keys", accepted->unmatched_keys), "ids",
                     names_at(call, "ids", accepted->unmatched_ids));
}

static void on_accepted(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct topic_call *call = owner;
    if (reply == NULL) {
        orchestrator_erasures_doubt(call->all->erasures);
        topic_refuse(call, err);
        return;
    }
    const struct msg_erase_accepted *accepted = reply->message;
    call->number = (int64_t)accepted->erasure;
    call->collected =
        json_pack("{sI,sI,ss,so}", "erasure", (json_int_t)accepted->erasure, "matched",
                  (json_int_t)accepted->matched, "state", erasure_state_name(ERASURE_ACCEPTED),
                  "unmatched", unmatched_json(call, accepted));
    const struct erasure_names names = {.number = call->number,
                                        .dataset = topic_text(call, "dataset", ""),
                                        .reference = topic_text(call, "reference", "")};
    orchestrator_erasure_note(call->all->erasures, &names, on_noted, call);
}

void topic_erase_request(struct topic_call *call)
{
    struct weir_error err;
    struct topic_names names;
    if (topic_text(call, "uuid", "")[0] == '\0') {
        topic_fail(call, WEIR_INVALID, "erase: expected a uuid");
        return;
    }
    if (topic_names_read(call->arguments, &names, &err) != WEIR_OK) {
        topic_refuse(call, &err);
        return;
    }
    const struct msg_erase_accept accept = {
        .uuid = topic_text(call, "uuid", ""),
        .dataset = topic_text(call, "dataset", ""),
        .subjects = {names.subjects, names.subject_count},
        .ids = {names.ids, names.id_count},
        .reference = topic_text(call, "reference", ""),
        .keys = {names.keys, names.key_count},
        .expects_match = !topic_flag(call, "allow_none"),
        .drop_refused = topic_flag(call, "drop_refused"),
    };
    weir_rpc_call(call->context->storage, MSG_erase_accept, &accept, ORCHESTRATOR_ASK_MS,
                  on_accepted, call);
    topic_names_fini(&names);
}

/* ---- looking ---- */

/* Columns of Q_erasure_get and Q_erasure_listed. */
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
    COL_FINISHED,
    COL_RECEIPT,
    COL_HASH,
    COL_TOTAL, /* of Q_erasure_listed */
};

static json_t *time_or_null(int64_t time_us)
{
    return time_us == 0 ? json_null() : orchestrator_json_time(time_us);
}

static void add_due(const struct topic_call *call, const struct weir_rows *rows, size_t row,
                    json_t *json)
{
    int64_t at_us =
        orchestrator_erasure_due_us(call->all->pipelines, weir_rows_i64(rows, row, COL_ACCEPTED));
    int64_t finished_us = weir_rows_i64(rows, row, COL_FINISHED);
    bool overdue = at_us != 0 && finished_us == 0 && weir_now_wall_us() > at_us;
    json_object_set_new(json, "due", time_or_null(at_us));
    json_object_set_new(json, "overdue", json_boolean(overdue));
}

static json_t *erasure_json(const struct topic_call *call, const struct weir_rows *rows, size_t row)
{
    enum erasure_state state = ERASURE_ACCEPTED;
    const char *name = weir_rows_text(rows, row, COL_STATE);
    const char *doing = erasure_state_from_name(name, &state) ? erasure_state_text(state) : "";
    json_t *json =
        json_pack("{sI,ss,ss,ss,ss,sI,sI,ss,so,so,so,so,ss}", "erasure",
                  (json_int_t)weir_rows_i64(rows, row, COL_NUMBER), "state", name, "doing", doing,
                  "reference", weir_rows_text(rows, row, COL_REFERENCE), "dataset",
                  weir_rows_text(rows, row, COL_DATASET), "epoch",
                  (json_int_t)weir_rows_i64(rows, row, COL_EPOCH), "samples",
                  (json_int_t)weir_rows_i64(rows, row, COL_SAMPLES), "error",
                  weir_rows_text(rows, row, COL_ERROR), "accepted",
                  time_or_null(weir_rows_i64(rows, row, COL_ACCEPTED)), "in_force",
                  time_or_null(weir_rows_i64(rows, row, COL_IN_FORCE)), "models_replaced",
                  time_or_null(weir_rows_i64(rows, row, COL_REPLACED)), "finished",
                  time_or_null(weir_rows_i64(rows, row, COL_FINISHED)), "receipt_hash",
                  weir_rows_text(rows, row, COL_HASH));
    weir_require(json != NULL);
    add_due(call, rows, row, json);
    return json;
}

static json_t *models_json(const struct weir_rows *rows)
{
    json_t *models = json_array();
    for (size_t i = 0; i < weir_rows_count(rows); i++) {
        json_array_append_new(
            models, json_pack("{ss,sI,ss,ss?,sb}", "model", weir_rows_text(rows, i, 0), "trigger",
                              (json_int_t)weir_rows_i64(rows, i, 2), "action",
                              weir_rows_text(rows, i, 3), "replacement",
                              weir_rows_is_null(rows, i, 4) ? NULL : weir_rows_text(rows, i, 4),
                              "done", weir_rows_bool(rows, i, 5)));
    }
    return models;
}

/* The erasure that the arguments name. */
static enum weir_status load(const struct topic_call *call, struct weir_rows **ret_rows,
                             struct weir_error *err)
{
    int64_t number = topic_number(call, "erasure", 0);
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
                        DB_I64(topic_number(call, "erasure", 0)));
    }
    if (status != WEIR_OK) {
        topic_refuse(call, &err);
        return;
    }
    json_t *json = erasure_json(call, rows, 0);
    json_object_set_new(json, "trouble", json_string(trouble));
    json_object_set_new(json, "unverified", json_boolean(unverified));
    json_object_set_new(json, "models", models_json(models));
    topic_answer(call, json);
}

static void on_asked(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    const struct msg_erase_is *storage = reply != NULL ? reply->message : NULL;
    (void)err; /* storage is away: what is known here is answered all the same */
    answer_status(owner, storage != NULL ? storage->trouble : "",
                  storage != NULL && storage->unverified);
}

void topic_erase_status(struct topic_call *call)
{
    const struct msg_erase_ask ask = {.erasure = (uint64_t)topic_number(call, "erasure", 0)};
    weir_rpc_call(call->context->storage, MSG_erase_ask, &ask, STORAGE_ASK_MS, on_asked, call);
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

static void answer_list(struct topic_call *call, const struct msg_erase_troubles *troubles)
{
    struct weir_error err;
    WEIR_AUTO(weir_rows) rows = NULL;
    if (DB_RUN(call->context->db, Q_erasure_listed, &rows, &err, DB_I64(LISTED_MAX)) != WEIR_OK) {
        topic_refuse(call, &err);
        return;
    }
    json_t *erasures = json_array();
    for (size_t i = 0; i < weir_rows_count(rows); i++) {
        json_t *json = erasure_json(call, rows, i);
        uint64_t number = (uint64_t)weir_rows_i64(rows, i, COL_NUMBER);
        json_object_set_new(json, "trouble", json_string(trouble_of(troubles, number)));
        json_object_set_new(json, "unverified", json_boolean(is_unverified(troubles, number)));
        json_array_append_new(erasures, json);
    }
    size_t listed = weir_rows_count(rows);
    json_int_t total = listed > 0 ? (json_int_t)weir_rows_i64(rows, 0, COL_TOTAL) : 0;
    topic_answer(
        call, json_pack("{so,sI}", "erasures", erasures, "left_out", total - (json_int_t)listed));
}

static void on_troubles(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    static const struct msg_erase_troubles NONE;
    (void)err; /* storage is away: what is known here is answered all the same */
    answer_list(owner, reply != NULL ? reply->message : &NONE);
}

void topic_erase_list(struct topic_call *call)
{
    static const struct msg_erase_troubles_ask ASK;
    weir_rpc_call(call->context->storage, MSG_erase_troubles_ask, &ASK, STORAGE_ASK_MS, on_troubles,
                  call);
}

/* ---- erase_receipt ---- */

void topic_erase_receipt(struct topic_call *call)
{
    struct weir_error err;
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = load(call, &rows, &err);
    if (status == WEIR_OK && weir_rows_text(rows, 0, COL_RECEIPT)[0] == '\0') {
        status = weir_fail(&err, WEIR_NOT_FOUND, "erasure %lld has no receipt yet: it is at %s",
                           (long long)topic_number(call, "erasure", 0),
                           weir_rows_text(rows, 0, COL_STATE));
    }
    if (status != WEIR_OK) {
        topic_refuse(call, &err);
        return;
    }
    topic_answer(call, orchestrator_json_of(weir_rows_text(rows, 0, COL_RECEIPT)));
}

/* ---- erase_key ---- */

void topic_erase_key(struct topic_call *call)
{
    struct weir_error err;
    json_t *keys = NULL;
    if (orchestrator_receipt_keys(call->context, &keys, &err) != WEIR_OK) {
        topic_refuse(call, &err);
        return;
    }
    json_t *newest = json_array_get(keys, 0);
    topic_answer(call, json_pack("{sO,so}", "public_key", newest, "public_keys", keys));
}
