/* webhooks: how far each has come, and why one does not. */
#include "orchestrator/webhooks/webhooks.h"

#include "orchestrator/topics/topic.h"

void orchestrator_topic_webhooks(struct topic_call *call)
{
    struct weir_error err;
    json_t *answer = NULL;
    if (orchestrator_webhooks_json(call->all->webhooks, &answer, &err) != WEIR_OK)
        orchestrator_topic_refuse(call, &err);
    else
        orchestrator_topic_answer(call, answer);
}
