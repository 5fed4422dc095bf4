/* erase_verify: does what the receipts say still hold? The chain of receipts is followed, lineage
 * is asked again, and storage looks for the samples where they were, the selector for their scores.
 * Of one erasure, or of all, a page at a time; what is not finished is named with when it is due. Changes nothing. */
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "orchestrator/erasures/erasure.h"
#include "orchestrator/erasures/receipt_keys.h"
#include "orchestrator/pipeline/pipeline.h"
#include "orchestrator/topics/finding.h"
#include "orchestrator/topics/topic.h"
#include "orchestrator/values/json_object.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void add(struct topic_call *call, int64_t erasure, const struct finding *finding)
{
    orchestrator_finding_add(json_object_get(call->collected, "findings"), "erasure",
                             json_integer((json_int_t)erasure), finding);
}

enum { VERIFIED_AT_ONCE = 100 }; /* erasures in one answer */

/* ---- receipts ---- */

char *orchestrator_topic_receipt_path(const struct topics *topics, int64_t erasure)
{
    return weir_format("%s/receipts/%" PRId64 ".json", topics->context->data_dir, erasure);
}

enum weir_status orchestrator_topic_receipt_load(const struct topics *topics, int64_t erasure,
                                                 struct receipt_claims *ret_claims,
                                                 struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = orchestrator_topic_receipt_path(topics, erasure);
    WEIR_AUTO_BUF text = {0};
    enum weir_status status = weir_file_read(path, RECEIPT_BYTES_MAX, &text, err);
    if (status != WEIR_OK)
        return status;
    status = orchestrator_receipt_read(weir_buf_view(&text), ret_claims, err);
    return status == WEIR_OK ? WEIR_OK : weir_error_wrap(err, status, "%s", path);
}

/* True once its signature was compared with the key that it names. */
static void check_signature(struct topic_call *call, int64_t number,
                            const struct receipt_claims *claims)
{
    struct weir_error err;
    json_t *keys = NULL;
    struct finding finding = {.check = "signature", .verdict = "fine", .found = claims->key};
    if (orchestrator_receipt_keys(call->context, &keys, &err) != WEIR_OK) {
        finding.verdict = "wrong";
        finding.found = err.text;
    } else if (*claims->key == '\0') {
        finding.verdict = "note";
        finding.found = "unsigned: an older Weir made it; its hash is that of the database";
    } else if (!orchestrator_receipt_keys_have(keys, claims->key)) {
        finding.verdict = "wrong";
        finding.expected = json_string_value(json_array_get(keys, 0));
        finding.advice =
            "it was signed with another key than this platform has: compare with a backup";
    }
    add(call, number, &finding);
    json_decref(keys);
}

static void check_receipt(struct topic_call *call, int64_t number, const struct weir_rows *chain)
{
    struct receipt_claims claims;
    struct weir_error err;
    struct finding finding = {.check = "receipt",
                              .verdict = "wrong",
                              .expected = weir_rows_text(chain, 0, "receipt_hash")};
    if (orchestrator_topic_receipt_load(call->all, number, &claims, &err) != WEIR_OK) {
        finding.found = err.text;
        finding.advice =
            "put back a copy of the receipt, from a backup or from whom it was given to";
        add(call, number, &finding);
        return;
    }
    finding.found = claims.hash;
    if (claims.erasure == number && claims.samples == weir_rows_i64(chain, 0, "samples") &&
        strcmp(claims.hash, finding.expected) == 0)
        finding.verdict = "fine";
    else
        finding.advice = "the file or the database was changed: compare both with a backup";
    add(call, number, &finding);
    check_signature(call, number, &claims);
    finding = (struct finding){.check = "chain",
                               .verdict = "fine",
                               .found = claims.previous,
                               .expected = weir_rows_text(chain, 0, "previous")};
    if (strcmp(claims.previous, finding.expected) != 0 || !weir_rows_bool(chain, 0, "follows")) {
        finding.verdict = "wrong";
        finding.advice = "a receipt before it was changed or taken away: compare with a backup";
    }
    add(call, number, &finding);
}

/* ---- lineage ---- */

static enum weir_status check_models(struct topic_call *call, int64_t number,
                                     struct weir_error *err)
{
    WEIR_AUTO_FREE char *model = NULL;
    enum weir_status status = orchestrator_erasure_seen_by(call->context, number, &model, err);
    if (status != WEIR_OK)
        return status;
    add(call, number,
        model == NULL
            ? &(struct finding){.check = "models",
                                .verdict = "fine",
                                .found = "no model that is still there has seen its samples, but "
                                         "those that are kept on purpose"}
            : &(struct finding){.check = "models",
                                .verdict = "wrong",
                                .found = model,
                                .expected = "no model that has seen its samples",
                                .advice = "submit the erasure again by its ids"});
    return WEIR_OK;
}

/* ---- sums over answers ---- */

static int64_t sum(const struct topic_call *call, const char *key, uint64_t more)
{
    int64_t before = json_integer_value(json_object_get(call->collected, key));
    int64_t total = before + (int64_t)more;
    json_object_set_new(call->collected, key, json_integer((json_int_t)total));
    return total;
}

static void forget_sums(const struct topic_call *call)
{
    static const char *const SUMS[] = {"readable", "present", "unseen", "returned", "scores"};
    for (size_t i = 0; i < WEIR_COUNT(SUMS); i++)
        json_object_del(call->collected, SUMS[i]);
}

static void request_next(struct topic_call *call);

static int64_t current_erasure(const struct topic_call *call)
{
    return json_integer_value(json_array_get(json_object_get(call->collected, "pending"), 0));
}

/* The whole erasure is looked at: to the next one. */
static void go_on(struct topic_call *call)
{
    forget_sums(call);
    json_array_remove(json_object_get(call->collected, "pending"), 0);
    call->number = 0;
    request_next(call);
}

/* ---- scores ---- */

static void request_scores(struct topic_call *call);

static void tell_scores(struct topic_call *call, int64_t number)
{
    int64_t left = sum(call, "scores", 0);
    WEIR_AUTO_FREE char *found = weir_format("%" PRId64 " scores of its samples are kept", left);
    add(call, number,
        &(struct finding){.check = "scores",
                          .verdict = left == 0 ? "fine" : "wrong",
                          .found = found,
                          .expected = left == 0 ? "" : "none",
                          .advice = left == 0 ? "" : "submit the erasure again by its ids"});
}

static void on_counted(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct topic_call *call = owner;
    if (reply == NULL) {
        orchestrator_topic_refuse(call, err);
        return;
    }
    const struct msg_scores_noted *noted = reply->message;
    (void)sum(call, "scores", noted->samples);
    if (call->number == 0)
        call->pipeline = orchestrator_pipeline_next(call->pipeline);
    request_scores(call);
}

static void request_scores(struct topic_call *call)
{
    struct weir_error err;
    struct erasure_scores_place place = {call->pipeline, (size_t)call->number};
    if (call->pipeline == NULL) {
        tell_scores(call, current_erasure(call));
        go_on(call);
        return;
    }
    if (orchestrator_erasure_request_scores(call->context, current_erasure(call), &place,
                                            on_counted, call, &err) != WEIR_OK)
        orchestrator_topic_refuse(call, &err);
    else
        call->number = (int64_t)place.block;
}

/* ---- storage ---- */

static void tell_samples(struct topic_call *call, int64_t number,
                         const struct msg_erase_checked *answer)
{
    int64_t readable = sum(call, "readable", 0), present = sum(call, "present", 0);
    int64_t unseen = sum(call, "unseen", 0), returned = sum(call, "returned", 0);
    WEIR_AUTO_FREE char *found =
        weir_format("%" PRIu64 " samples: %" PRId64 " can be read, the bytes of %" PRId64
                    " stand where they stood, the files of %" PRId64 " cannot be opened",
                    answer->samples, readable, present, unseen);
    bool holds = readable == 0 && present == 0;
    add(call, number,
        &(struct finding){.check = "samples",
                          .verdict = !holds       ? "wrong"
                                     : unseen > 0 ? "note"
                                                  : "fine",
                          .found = found,
                          .expected = holds ? "" : "none readable, none in its place",
                          .advice = holds ? "" : "submit the erasure again by its ids"});
    if (returned == 0)
        return;
    WEIR_AUTO_FREE char *since =
        weir_format("%" PRId64 " samples of the same subjects or keys are there now", returned);
    add(call, number,
        &(struct finding){.check = "since",
                          .verdict = "note",
                          .found = since,
                          .advice = "they came in later: if they are meant as well, submit an "
                                    "erasure of the same subjects and keys"});
}

static void on_checked(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct topic_call *call = owner;
    if (reply == NULL) {
        orchestrator_topic_refuse(call, err);
        return;
    }
    const struct msg_erase_checked *answer = reply->message;
    (void)sum(call, "readable", answer->readable);
    (void)sum(call, "present", answer->present);
    (void)sum(call, "unseen", answer->unseen);
    (void)sum(call, "returned", answer->returned);
    call->number = (int64_t)answer->checked;
    if (answer->checked < answer->samples) {
        request_next(call);
        return;
    }
    tell_samples(call, current_erasure(call), answer);
    call->number = 0;
    call->pipeline = call->all->pipelines->first;
    request_scores(call);
}

/* Checks that need nobody else. False: it has no receipt of the chain. */
static enum weir_status check_here(struct topic_call *call, bool *ret_has_receipt,
                                   struct weir_error *err)
{
    WEIR_AUTO(weir_rows) chain = NULL;
    int64_t number = current_erasure(call);
    enum weir_status status =
        DB_RUN(call->context->db, Q_erasure_chain, &chain, err, DB_I64(number));
    *ret_has_receipt = status == WEIR_OK && weir_rows_count(chain) > 0;
    if (!*ret_has_receipt)
        return status;
    check_receipt(call, number, chain);
    return check_models(call, number, err);
}

static void answer(struct topic_call *call)
{
    json_t *findings = json_object_get(call->collected, "findings");
    orchestrator_topic_answer(
        call,
        JSON_FIELDS(JSON_NUMBER("wrong", orchestrator_findings_wrong(findings)),
                    JSON_NEW("findings", json_incref(findings)),
                    JSON_SHARED_IF_ANY("next", json_object_get(call->collected, "next")),
                    JSON_SHARED_IF_ANY("verified", json_object_get(call->collected, "verified")),
                    JSON_SHARED_IF_ANY("erasures", json_object_get(call->collected, "erasures"))));
}

static void request_next(struct topic_call *call)
{
    json_t *pending = json_object_get(call->collected, "pending");
    struct weir_error err;
    bool is_begun = call->number > 0;
    while (!is_begun && json_array_size(pending) > 0) {
        if (check_here(call, &is_begun, &err) != WEIR_OK) {
            orchestrator_topic_refuse(call, &err);
            return;
        }
        if (!is_begun)
            json_array_remove(pending, 0);
    }
    if (json_array_size(pending) == 0) {
        answer(call);
        return;
    }
    const struct msg_erase_check check = {
        .erasure = (uint64_t)current_erasure(call),
        .after = (uint64_t)call->number,
        .look = weir_random_u64(),
    };
    weir_rpc_call(call->context->storage, MSG_erase_check, &check, ORCHESTRATOR_REQUEST_MS,
                  on_checked, call);
}

/* ---- a page of them ---- */

/* Storage has tried, and something is left, or could not be looked at. */
static bool tell_unverified(struct topic_call *call, int64_t number)
{
    WEIR_AUTO_FREE char *key = weir_format("%" PRId64, number);
    const char *why =
        json_string_value(json_object_get(json_object_get(call->collected, "unverified"), key));
    if (why == NULL)
        return false;
    add(call, number,
        &(struct finding){.check = "samples",
                          .verdict = "wrong",
                          .found = why,
                          .expected = "every file that Weir owns searched, and nothing found",
                          .advice = "mend it: the erasure goes on by itself"});
    return true;
}

static void tell_open(struct topic_call *call, const struct weir_rows *rows, size_t row)
{
    if (tell_unverified(call, weir_rows_i64(rows, row, "number")))
        return;
    char due[WEIR_TIME_TEXT_MAX] = "no pipeline promises when";
    int64_t due_us =
        orchestrator_erasure_due_us(call->all->pipelines, weir_rows_i64(rows, row, "accepted_us"));
    bool is_late = orchestrator_erasure_is_overdue(call->context, due_us);
    if (due_us != 0)
        weir_time_format(due_us, due);
    WEIR_AUTO_FREE char *found =
        weir_format("not finished: %s", weir_rows_text(rows, row, "state"));
    WEIR_AUTO_FREE char *expected =
        weir_format("%s%s", due_us == 0 ? "finished some day: " : "finished by ", due);
    add(call, weir_rows_i64(rows, row, "number"),
        &(struct finding){.check = "due",
                          .verdict = is_late ? "wrong" : "note",
                          .found = found,
                          .expected = expected,
                          .advice = "weir erase status says what it waits for"});
}

static void take_page(struct topic_call *call, const struct weir_rows *page)
{
    json_t *pending = json_object_get(call->collected, "pending");
    for (size_t i = 0; i < weir_rows_count(page); i++) {
        if (weir_rows_i64(page, i, "finished_us") == 0)
            tell_open(call, page, i);
        else
            json_array_append_new(pending,
                                  json_integer((json_int_t)weir_rows_i64(page, i, "number")));
    }
}

/* Tells the total on the first page alone, for counting is work. */
static enum weir_status load_page(struct topic_call *call, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) page = NULL;
    WEIR_AUTO(weir_rows) total = NULL;
    int64_t after = orchestrator_topic_number(call, "after", 0);
    enum weir_status status = DB_RUN(call->context->db, Q_erasure_page, &page, err, DB_I64(after),
                                     DB_I64(VERIFIED_AT_ONCE));
    if (status == WEIR_OK && after == 0)
        status = DB_RUN(call->context->db, Q_erasures_total, &total, err);
    if (status != WEIR_OK)
        return status;
    size_t count = weir_rows_count(page);
    take_page(call, page);
    json_object_set_new(call->collected, "verified", json_integer((json_int_t)count));
    if (total != NULL)
        json_object_set_new(call->collected, "erasures",
                            json_integer((json_int_t)weir_rows_i64(total, 0, "count")));
    if (count == VERIFIED_AT_ONCE)
        json_object_set_new(call->collected, "next",
                            json_integer((json_int_t)weir_rows_i64(page, count - 1, "number")));
    return WEIR_OK;
}

static enum weir_status load_one(struct topic_call *call, int64_t number, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) page = NULL;
    enum weir_status status =
        DB_RUN(call->context->db, Q_erasure_page, &page, err, DB_I64(number - 1), DB_I64(1));
    if (status != WEIR_OK)
        return status;
    if (weir_rows_count(page) == 0 || weir_rows_i64(page, 0, "number") != number)
        return weir_fail(err, WEIR_NOT_FOUND,
                         "erasure %" PRId64 ": there is none; see weir erase list", number);
    take_page(call, page);
    return WEIR_OK;
}

static void on_troubles(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct topic_call *call = owner;
    if (reply == NULL) {
        orchestrator_topic_refuse(call, err);
        return;
    }
    const struct msg_erase_troubles *troubles = reply->message;
    json_t *unverified = json_object_get(call->collected, "unverified");
    for (size_t i = 0; i < troubles->unverified.count; i++) {
        WEIR_AUTO_FREE char *key = weir_format("%" PRIu64, troubles->unverified.at[i]);
        const char *why = "";
        for (size_t j = 0; j < troubles->erasures.count && j < troubles->troubles.count; j++)
            why = troubles->erasures.at[j] == troubles->unverified.at[i] ? troubles->troubles.at[j]
                                                                         : why;
        json_object_set_new(unverified, key, json_string(why));
    }
    struct weir_error problem;
    int64_t number = orchestrator_topic_number(call, "erasure", 0);
    if ((number == 0 ? load_page(call, &problem) : load_one(call, number, &problem)) == WEIR_OK)
        request_next(call);
    else
        orchestrator_topic_refuse(call, &problem);
}

void orchestrator_topic_erase_verify(struct topic_call *call)
{
    static const struct msg_erase_troubles_request REQUEST;
    call->collected =
        JSON_FIELDS(JSON_NEW("findings", json_array()), JSON_NEW("pending", json_array()),
                    JSON_NEW("unverified", json_object()));
    weir_rpc_call(call->context->storage, MSG_erase_troubles_request, &REQUEST,
                  ORCHESTRATOR_REQUEST_MS, on_troubles, call);
}
