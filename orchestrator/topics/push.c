/* push: where `weir push` sends its samples. They go to storage itself, as raw frames: nothing of them passes here. */
#include "orchestrator/topics/topic.h"

void topic_push(struct topic_call *call)
{
    topic_answer(call,
                 json_pack("{ss}", "endpoint", weir_rpc_peer_endpoint(call->context->storage)));
}
