/* plan: what makes the batches of a pipeline, and why: the order of its operators, and the costs it was chosen by. */
#include "orchestrator/topics/topic.h"

#include "core/base/memory.h"
#include "orchestrator/values/plan_json.h"

static void on_plan(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct topic_call *call = owner;
    if (reply == NULL) {
        orchestrator_topic_refuse(call, err);
        return;
    }
    json_t *plan = orchestrator_plan_json(call->text, call->number, reply->message);
    if (plan == NULL)
        topic_fail(call, WEIR_INTERNAL, "the dispatcher sent no good plan");
    else
        orchestrator_topic_answer(call, plan);
}

/* The run that was asked for, or the newest training of the pipeline. */
static enum weir_status find_run(const struct topic_call *call, const struct pipeline *pipeline,
                                 int64_t *ret_run, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    *ret_run = orchestrator_topic_number(call, "run", 0);
    if (*ret_run > 0)
        return WEIR_OK;
    enum weir_status status = DB_RUN(call->context->db, Q_run_newest_training, &rows, err,
                                     DB_I64(orchestrator_pipeline_id(pipeline)));
    if (status != WEIR_OK)
        return status;
    if (weir_rows_count(rows) == 0)
        return weir_fail(err, WEIR_NOT_FOUND, "pipeline '%s' has not trained yet: it has no plan",
                         orchestrator_pipeline_config(pipeline)->name);
    *ret_run = weir_rows_i64(rows, 0, "number");
    return WEIR_OK;
}

/* The pipeline that was asked for, or whose run was; NULL: refused already. */
static struct pipeline *find_pipeline(struct topic_call *call)
{
    struct weir_error err;
    WEIR_AUTO(weir_rows) rows = NULL;
    int64_t run = orchestrator_topic_number(call, "run", 0);
    struct pipeline *pipeline = NULL;
    if (run <= 0)
        return orchestrator_topic_pipeline(call);
    if (DB_RUN(call->context->db, Q_run_get, &rows, &err, DB_I64(run)) != WEIR_OK) {
        orchestrator_topic_refuse(call, &err);
        return NULL;
    }
    if (weir_rows_count(rows) > 0)
        pipeline =
            orchestrator_pipeline_by_id(call->all->pipelines, weir_rows_i64(rows, 0, "pipeline"));
    if (pipeline == NULL)
        topic_fail(call, WEIR_NOT_FOUND, "run %lld: there is none; see weir report",
                   (long long)run);
    return pipeline;
}

void orchestrator_topic_plan(struct topic_call *call)
{
    struct weir_error err;
    struct pipeline *pipeline = find_pipeline(call);
    if (pipeline == NULL)
        return;
    if (find_run(call, pipeline, &call->number, &err) != WEIR_OK) {
        orchestrator_topic_refuse(call, &err);
        return;
    }
    call->text = weir_strdup(orchestrator_pipeline_config(pipeline)->name);
    weir_rpc_call(call->context->dispatcher, MSG_plan_request,
                  &(struct msg_plan_request){.job = (uint64_t)call->number},
                  ORCHESTRATOR_REQUEST_MS, on_plan, call);
}
