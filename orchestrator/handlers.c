/* The table of messages that the orchestrator answers. */
#include "core/base/clock.h"
#include "orchestrator/orchestrator.h"
#include "orchestrator/runs/run.h"
#include "orchestrator/topics/topic.h"

static void on_health(void *owner, struct weir_request *request)
{
    const struct orchestrator *orch = owner;
    struct msg_health_is answer = {
        .name = "orchestrator",
        .session = orch->session,
        .up_ms = weir_now_ms() - orch->started_ms,
        .cpu_ns = weir_cpu_ns(),
    };
    weir_rpc_reply(request->server, &request->route, MSG_health_is, &answer, NULL);
}

const struct weir_rpc_handler ORCHESTRATOR_HANDLERS[] = {
    WEIR_ON(health, on_health),
    WEIR_ON(run_ask, orchestrator_on_run_ask),
    WEIR_ON(run_beat, orchestrator_on_run_beat),
    WEIR_ON(run_done, orchestrator_on_run_done),
    WEIR_ON(ask, orchestrator_on_ask),
    {MSG_none, NULL},
};
