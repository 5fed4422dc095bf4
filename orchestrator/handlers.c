/* The table of messages that the orchestrator answers. */
#include "core/base/clock.h"
#include "orchestrator/orchestrator.h"

static void on_health(void *owner, struct weir_request *request)
{
    const struct orchestrator *orch = owner;
    struct msg_health_is answer = {
        .name = "orchestrator",
        .session = orch->session,
        .up_ms = weir_now_ms() - orch->topics.started_ms,
        .cpu_ns = weir_cpu_ns(),
        .longest_turn_ns = weir_loop_longest_turn_ns(orch->context.loop),
        .turned_away = weir_rpc_turned_away(request->server),
        .strangers = weir_rpc_strangers(request->server),
    };
    weir_rpc_reply(request->server, &request->route, MSG_health_is, &answer, NULL);
}

static void on_run_request(void *owner, struct weir_request *request)
{
    struct orchestrator *orch = owner;
    orchestrator_run_assign(&orch->runs, request);
}

static void on_run_beat(void *owner, struct weir_request *request)
{
    struct orchestrator *orch = owner;
    orchestrator_run_beats(&orch->runs, request);
}

static void on_run_done(void *owner, struct weir_request *request)
{
    struct orchestrator *orch = owner;
    orchestrator_run_finished(&orch->runs, request);
}

static void on_run_next(void *owner, struct weir_request *request)
{
    struct orchestrator *orch = owner;
    orchestrator_run_next(&orch->runs, request);
}

static void on_command(void *owner, struct weir_request *request)
{
    struct orchestrator *orch = owner;
    orchestrator_topics_answer(&orch->topics, request);
}

const struct weir_rpc_handler ORCHESTRATOR_HANDLERS[] = {
    WEIR_ON(health, on_health),
    WEIR_ON(run_request, on_run_request),
    WEIR_ON(run_beat, on_run_beat),
    WEIR_ON(run_done, on_run_done),
    WEIR_ON(run_next, on_run_next),
    WEIR_ON(command, on_command),
    {MSG_none, NULL},
};
