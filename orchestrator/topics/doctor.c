/* doctor: storage examines the data, in pieces; then models, receipts, the sets of runs and the cache are looked at
 * here, and the selector examines its sets and scores. The asker comes again, with the session it has drawn, until it
 * is done. */
#include "core/base/memory.h"
#include "orchestrator/erasures/erasure.h"
#include "orchestrator/topics/doctor_cache.h"
#include "orchestrator/topics/doctor_models.h"
#include "orchestrator/topics/finding.h"
#include "orchestrator/topics/topic.h"
#include "orchestrator/values/json_object.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static const char *const VERDICTS[] = {"fine", "note", "wrong"};

static void add(json_t *findings, const char *dataset, const struct finding *finding)
{
    orchestrator_finding_add(findings, "dataset", json_string(dataset), finding);
}

/* ---- sets of runs ---- */

/* Those of triggers and intervals are the selector's to say; what it sealed for a scoring, a window or a holdout
 * only the run knows of. */
static enum weir_status check_run_sets(struct topics *topics, json_t *findings,
                                       struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(topics->context->db, Q_run_open_sets, &rows, err);
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        WEIR_AUTO_FREE char *path =
            orchestrator_path(topics->context, ".", weir_rows_text(rows, i, "set_path"));
        if (access(path, F_OK) == 0)
            continue;
        WEIR_AUTO_FREE char *found = weir_format("%s: %s", path, strerror(errno));
        WEIR_AUTO_FREE char *expected =
            weir_format("the set of run %s, which is open", weir_rows_text(rows, i, "run"));
        add(findings, "",
            &(struct finding){"sets", "wrong", found, expected,
                              "restore the file from a backup, or stop the pipeline"});
    }
    return status;
}

/* ---- receipts ---- */

/* Deep, the file is read: its hash is in the database. */
static enum weir_status check_receipt(const struct topics *topics, int64_t number, const char *hash,
                                      bool is_deep, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = orchestrator_topic_receipt_path(topics, number);
    struct receipt_claims claims;
    if (!is_deep)
        return access(path, F_OK) == 0
                   ? WEIR_OK
                   : weir_fail(err, WEIR_NOT_FOUND, "%s: %s", path, strerror(errno));
    enum weir_status status = orchestrator_topic_receipt_load(topics, number, &claims, err);
    return status != WEIR_OK || strcmp(claims.hash, hash) == 0
               ? status
               : weir_fail(err, WEIR_CORRUPT, "%s: its hash is %s", path, claims.hash);
}

static enum weir_status check_receipts(const struct topic_call *call, json_t *findings,
                                       struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    bool is_deep = json_is_true(json_object_get(call->arguments, "deep"));
    enum weir_status status = DB_RUN(call->context->db, Q_receipts_written, &rows, err);
    size_t count = status == WEIR_OK ? weir_rows_count(rows) : 0, fine = 0;
    for (size_t i = 0; i < count; i++) {
        struct weir_error found;
        const char *hash = weir_rows_text(rows, i, "receipt_hash");
        if (check_receipt(call->all, weir_rows_i64(rows, i, "number"), hash, is_deep, &found) ==
            WEIR_OK) {
            fine++;
            continue;
        }
        add(findings, "",
            &(struct finding){
                "receipts", "wrong", found.text, hash,
                "put back a copy of the receipt, from a backup or from whom it was given to"});
    }
    if (status == WEIR_OK && fine == count) {
        WEIR_AUTO_FREE char *found = weir_format("%zu receipts are there", fine);
        add(findings, "", &(struct finding){"receipts", "fine", found, "", ""});
    }
    return status;
}

/* ---- sets and scores ---- */

static void add_fine(json_t *findings, const char *check, const char *format, uint64_t count)
{
    for (size_t i = 0; i < json_array_size(findings); i++)
        if (strcmp(json_string_value(json_object_get(json_array_get(findings, i), "check")),
                   check) == 0)
            return; /* what is wrong was said */
    WEIR_AUTO_FREE char *found = weir_format("%" PRIu64 " %s", count, format);
    add(findings, "", &(struct finding){check, "fine", found, "", ""});
}

static void add_owned(json_t *findings, const struct msg_owned_examined *answer)
{
    size_t count = answer->checks.count;
    bool is_whole = answer->found.count == count && answer->expected.count == count &&
                    answer->advice.count == count;
    for (size_t i = 0; is_whole && i < count; i++)
        add(findings, "",
            &(struct finding){answer->checks.at[i], "wrong", answer->found.at[i],
                              answer->expected.at[i], answer->advice.at[i]});
    add_fine(findings, "sets", "sealed sets have their digest", answer->sets);
    add_fine(findings, "scores", "files of scores have their checksum", answer->scores);
}

/* ---- together ---- */

static bool is_whole(const struct msg_doctor_is *answer)
{
    size_t count = answer->checks.count;
    return answer->datasets.count == count && answer->verdicts.count == count &&
           answer->found.count == count && answer->expected.count == count &&
           answer->advice.count == count;
}

static json_t *findings_of(const struct msg_doctor_is *answer)
{
    json_t *findings = json_array();
    for (size_t i = 0; is_whole(answer) && i < answer->checks.count; i++) {
        uint32_t verdict = answer->verdicts.at[i];
        add(findings, answer->datasets.at[i],
            &(struct finding){answer->checks.at[i],
                              verdict < WEIR_COUNT(VERDICTS) ? VERDICTS[verdict] : "note",
                              answer->found.at[i], answer->expected.at[i], answer->advice.at[i]});
    }
    return findings;
}

static void answer_unfinished(struct topic_call *call, const char *doing)
{
    json_t *session = json_object_get(call->arguments, "session");
    session = session == NULL ? json_null() : json_incref(session);
    orchestrator_topic_answer(call, JSON_FIELDS(JSON_FLAG("done", false), JSON_TEXT("doing", doing),
                                                JSON_NEW("session", session)));
}

static void on_owned_examined(void *owner, const struct weir_reply *reply,
                              const struct weir_error *err)
{
    struct topic_call *call = owner;
    if (reply == NULL) {
        orchestrator_topic_refuse(call, err);
        return;
    }
    const struct msg_owned_examined *answer = reply->message;
    if (!answer->done) {
        answer_unfinished(call, "sets and scores");
        return;
    }
    json_t *findings = json_object_get(call->collected, "findings");
    add_owned(findings, answer);
    json_int_t wrong = (json_int_t)orchestrator_findings_wrong(findings) + call->number +
                       (json_int_t)answer->unlisted;
    orchestrator_topic_answer(call,
                              JSON_FIELDS(JSON_FLAG("done", true), JSON_NUMBER("wrong", wrong),
                                          JSON_NEW("findings", json_incref(findings))));
}

static void on_cache_examined(struct topic_call *call, json_t *findings)
{
    const struct msg_owned_examine request = {
        .session = (uint64_t)orchestrator_topic_number(call, "session", 1)};
    json_array_extend(json_object_get(call->collected, "findings"), findings);
    json_decref(findings);
    weir_rpc_call(call->context->selector, MSG_owned_examine, &request, ORCHESTRATOR_REQUEST_MS,
                  on_owned_examined, call);
}

/* The orchestrator's other files, before the selector is asked for its. */
static void on_models_examined(struct topic_call *call)
{
    struct weir_error err;
    json_t *findings = json_object_get(call->collected, "findings");
    enum weir_status status = check_receipts(call, findings, &err);
    if (status == WEIR_OK)
        status = check_run_sets(call->all, findings, &err);
    if (status == WEIR_OK)
        status = orchestrator_doctor_cache(call, orchestrator_topic_flag(call, "deep"),
                                           on_cache_examined, &err);
    if (status != WEIR_OK)
        orchestrator_topic_refuse(call, &err);
}

static void on_examined(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct topic_call *call = owner;
    if (reply == NULL) {
        orchestrator_topic_refuse(call, err);
        return;
    }
    const struct msg_doctor_is *answer = reply->message;
    if (!answer->done) {
        answer_unfinished(call, answer->doing);
        return;
    }
    call->collected = JSON_FIELDS(JSON_NEW("findings", findings_of(answer)));
    call->number = (int64_t)answer->unlisted;
    orchestrator_doctor_models(call, on_models_examined);
}

void orchestrator_topic_doctor(struct topic_call *call)
{
    struct msg_doctor_request request = {
        .session = (uint64_t)orchestrator_topic_number(call, "session", 1),
        .deep = orchestrator_topic_flag(call, "deep"),
    };
    weir_rpc_call(call->context->storage, MSG_doctor_request, &request, ORCHESTRATOR_REQUEST_MS,
                  on_examined, call);
}
