/* `orchestrator run --explain`: the plan of a training, once that has ended, as an event. It is advice: a run that
 * nobody can explain ends all the same. */
#include "orchestrator/runs/run_state.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "orchestrator/context/events.h"
#include "orchestrator/values/plan_json.h"

#include <inttypes.h>
#include <stdlib.h>

static enum weir_status effect_explained(void *subject, const void *what, struct weir_error *err)
{
    const struct run *run = subject;
    const struct msg_plan_is *plan = what;
    WEIR_AUTO_FREE char *key = weir_format("plan/%" PRId64, run->number);
    json_t *body = orchestrator_plan_json(run->outline.config->name, run->number, plan);
    if (body == NULL)
        return weir_fail(err, WEIR_INTERNAL, "the dispatcher sent no good plan");
    return orchestrator_event_put(run->context,
                                  &(struct event_about){run->pipeline, 0, key, "plan"}, body, err);
}

static void on_plan(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct run *run = owner;
    struct weir_error problem;
    enum weir_status status = reply == NULL ? weir_fail(&problem, err->status, "%s", err->text)
                                            : orchestrator_commit(run->context, effect_explained,
                                                                  run, reply->message, &problem);
    if (status != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "run not explained", "run=%" PRId64 " because=\"%s\"", run->number,
                 problem.text);
    orchestrator_run_close(run);
}

void orchestrator_run_explain(struct run *run)
{
    weir_rpc_call(run->context->dispatcher, MSG_plan_request,
                  &(struct msg_plan_request){.job = (uint64_t)run->number}, ORCHESTRATOR_REQUEST_MS,
                  on_plan, run);
}
