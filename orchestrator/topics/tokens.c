/* tokens_list, tokens_add, tokens_revoke: tokens of browsers that look at the live page from elsewhere. */
#include "orchestrator/topics/topic.h"
#include "orchestrator/values/json_object.h"

void orchestrator_topic_tokens_list(struct topic_call *call)
{
    struct weir_error err;
    WEIR_AUTO(weir_rows) rows = NULL;
    if (DB_RUN(call->context->db, Q_tokens_in_force, &rows, &err) != WEIR_OK) {
        orchestrator_topic_refuse(call, &err);
        return;
    }
    json_t *list = json_array();
    for (size_t i = 0; i < weir_rows_count(rows); i++)
        json_array_append_new(list,
                              JSON_FIELDS(JSON_TEXT("name", weir_rows_text(rows, i, "name")),
                                          JSON_TEXT("tenant", weir_rows_text(rows, i, "tenant")),
                                          JSON_TIME("made", weir_rows_i64(rows, i, "made_us"))));
    orchestrator_topic_answer(
        call, JSON_FIELDS(JSON_TEXT_OR_NULL("page", call->all->page), JSON_NEW("tokens", list)));
}

static void finish(struct topic_call *call, enum weir_status status, const struct weir_error *err)
{
    if (status != WEIR_OK)
        orchestrator_topic_refuse(call, err);
    else
        orchestrator_topic_answer(
            call,
            JSON_FIELDS(JSON_TEXT("name", orchestrator_topic_text(call, "name", "")),
                        JSON_TEXT_IF_ANY("tenant", orchestrator_topic_text(call, "tenant", NULL)),
                        JSON_TEXT_OR_NULL("page", call->all->page)));
}

void orchestrator_topic_tokens_add(struct topic_call *call)
{
    struct weir_error err;
    const struct token_order order = {.name = orchestrator_topic_text(call, "name", ""),
                                      .tenant = orchestrator_topic_text(call, "tenant", ""),
                                      .hash = orchestrator_topic_text(call, "hash", "")};
    finish(call, orchestrator_tokens_add(call->all->tokens, &order, &err), &err);
}

void orchestrator_topic_tokens_revoke(struct topic_call *call)
{
    struct weir_error err;
    enum weir_status status = orchestrator_tokens_revoke(
        call->all->tokens, orchestrator_topic_text(call, "name", ""), &err);
    finish(call, status, &err);
}
