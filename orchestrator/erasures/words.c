/* Words of people in rows of the orchestrator's: fitted state of runs, and texts that may quote a record. A reason for
 * which a sample failed goes with the sample; an error may quote anything, so it goes with every erasure, and so do
 * digests of batches: of one small batch, they would tell whether somebody's record was that. */
#include "core/base/memory.h"
#include "orchestrator/context/events.h"
#include "orchestrator/erasures/erasure_state.h"
#include "orchestrator/pipeline/pipeline.h"

#include <stdlib.h>

static const char DROPPED[] = "this text was dropped by an erasure: it may have quoted a record";

static void drop_reasons(json_t *failures, const struct id_blocks *ids)
{
    size_t i;
    json_t *failure;
    json_array_foreach(failures, i, failure)
    {
        uint64_t id = (uint64_t)json_integer_value(json_object_get(failure, "sample"));
        if (orchestrator_id_blocks_has(ids, id))
            json_object_set_new(failure, "reason", json_string(DROPPED));
    }
}

static void drop_digest(json_t *of)
{
    if (json_object_get(of, "digests") != NULL)
        json_object_del(of, "digest");
}

/* `text`, an audit or an event, without what it may quote; free() it. */
static char *without_words(const char *text, const struct id_blocks *ids)
{
    json_t *whole = orchestrator_json_of(text);
    drop_reasons(json_object_get(whole, "failures"), ids);
    drop_reasons(json_object_get(json_object_get(whole, "audit"), "failures"), ids);
    drop_digest(whole);
    drop_digest(json_object_get(whole, "audit"));
    if (json_is_string(json_object_get(whole, "error")))
        json_object_set_new(whole, "error", json_string(DROPPED));
    char *left = json_dumps(whole, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15));
    weir_require(left != NULL);
    json_decref(whole);
    return left;
}

static enum weir_status rewrite_texts(struct context *context, const struct weir_rows *texts,
                                      int query, const struct id_blocks *ids,
                                      struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(texts); i++) {
        const char *text = weir_rows_text(texts, i, "json");
        WEIR_AUTO_FREE char *left = without_words(text, ids);
        if (!weir_str_equal(left, text))
            status = DB_RUN(context->db, query, NULL, err,
                            DB_I64(weir_rows_i64(texts, i, "number")), DB_TEXT(left));
    }
    return status;
}

enum weir_status orchestrator_erasure_forget_words(struct erasures *erasures,
                                                   const struct id_blocks *ids,
                                                   struct weir_error *err)
{
    WEIR_AUTO(weir_rows) audits = NULL;
    WEIR_AUTO(weir_rows) events = NULL;
    enum weir_status status = DB_RUN(erasures->context->db, Q_words_of_runs, NULL, err);
    if (status == WEIR_OK)
        status = DB_RUN(erasures->context->db, Q_words_of_pipelines, NULL, err, DB_TEXT(DROPPED));
    for (struct pipeline *p = erasures->pipelines->first; status == WEIR_OK && p != NULL;
         p = orchestrator_pipeline_next(p))
        orchestrator_pipeline_forget_error(p, DROPPED);
    if (status == WEIR_OK)
        status = DB_RUN(erasures->context->db, Q_words_of_audits, &audits, err);
    if (status == WEIR_OK)
        status = rewrite_texts(erasures->context, audits, Q_words_audit_put, ids, err);
    if (status == WEIR_OK)
        status = DB_RUN(erasures->context->db, Q_words_of_events, &events, err, DB_TEXT(DROPPED));
    return status == WEIR_OK ? rewrite_texts(erasures->context, events, Q_words_event_put, ids, err)
                             : status;
}
