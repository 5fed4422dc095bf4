/* push: where `weir push` sends its samples. They go to storage itself, as raw frames: nothing of them passes here. */
#include "orchestrator/topics/topic.h"
#include "orchestrator/values/json_object.h"

void orchestrator_topic_push(struct topic_call *call)
{
    orchestrator_topic_answer(
        call, JSON_FIELDS(JSON_TEXT("endpoint", weir_rpc_peer_endpoint(call->context->storage))));
}
