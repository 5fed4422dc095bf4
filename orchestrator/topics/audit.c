/* audit: records of the audit log, or whether its chain holds. */
#include "core/base/clock.h"
#include "orchestrator/topics/topic.h"
#include "orchestrator/values/json_object.h"

#include <stdlib.h>
#include <string.h>

enum { RECORDS_MAX = 1000 };

/* ---- the chain ---- */

static void forget(struct topic_call *call)
{
    weir_loop_cancel(call->context->loop, call->timer);
    if (call->chain != NULL)
        json_decref(call->chain->wrong);
    free(call->chain);
    call->chain = NULL;
}

static void answer_chain(struct topic_call *call)
{
    struct audit_chain *chain = call->chain;
    json_t *answer =
        JSON_FIELDS(JSON_NUMBER("records", chain->records), JSON_NUMBER("newest", chain->newest),
                    JSON_TEXT("hash", chain->hash), JSON_NUMBER("mistakes", chain->mistakes),
                    JSON_NEW("wrong", json_incref(chain->wrong)));
    forget(call);
    orchestrator_topic_answer(call, answer);
}

static void verify_piece(void *owner)
{
    struct topic_call *call = owner;
    struct weir_error err;
    if (orchestrator_audit_verify(call->all->audit, call->chain, &err) != WEIR_OK) {
        forget(call);
        orchestrator_topic_refuse(call, &err);
    } else if (call->chain->is_through) {
        answer_chain(call);
    } else {
        call->timer = weir_loop_timer(call->context->loop, 0, 0, verify_piece, call);
    }
}

static void verify(struct topic_call *call)
{
    call->chain = weir_calloc(1, sizeof(*call->chain));
    call->chain->wrong = json_array();
    call->forget = forget;
    verify_piece(call);
}

/* ---- the records ---- */

static enum weir_status read_since(const struct topic_call *call, int64_t *ret_since_us,
                                   struct weir_error *err)
{
    const char *text = orchestrator_topic_text(call, "since", "");
    *ret_since_us = 0;
    if (text[0] == '\0' || weir_time_parse(text, strlen(text), ret_since_us))
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID, "since: expected a time such as 2002-12-01, found '%.40s'",
                     text);
}

void orchestrator_topic_audit(struct topic_call *call)
{
    struct weir_error err;
    int64_t since_us = 0;
    json_t *records = json_array();
    if (orchestrator_topic_flag(call, "verify")) {
        json_decref(records);
        verify(call);
        return;
    }
    enum weir_status status = read_since(call, &since_us, &err);
    if (status == WEIR_OK)
        status =
            orchestrator_audit_read(call->all->audit, orchestrator_topic_number(call, "after", 0),
                                    since_us, RECORDS_MAX, records, &err);
    if (status == WEIR_OK) {
        orchestrator_topic_answer(call, JSON_FIELDS(JSON_NEW("records", records)));
        return;
    }
    json_decref(records);
    orchestrator_topic_refuse(call, &err);
}
