/* Getting leases ready: what their job is, then where their samples are. */
#include "preprocess/worker/worker.h"

#include "core/base/log.h"
#include "core/base/memory.h"

static void reset(struct worker *worker, struct worker_task *task)
{
    if (task->asking)
        weir_rpc_forget(worker->storage, task);
    located_fini(&task->located);
    weir_buf_fini(&task->partial);
    *task = (struct worker_task){.worker = worker};
}

struct worker_task *worker_task_of(struct worker *worker, const struct worker_lease *lease)
{
    struct worker_task *task = &worker->tasks[lease - worker->flow.leases];
    if (task->fence != lease->fence) {
        reset(worker, task);
        task->fence = lease->fence;
    }
    return task;
}

static void ask(struct worker *worker, struct worker_task *task);

static void on_located(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct worker_task *task = owner;
    struct weir_error reason = {.text = "another answer than expected"};
    task->asking = false;
    enum weir_status status = WEIR_INVALID;
    if (reply != NULL && reply->type == MSG_located)
        status = located_take(&task->located, reply->message, &reason);
    if (status == WEIR_OK) {
        ask(task->worker, task);
        return;
    }
    task->ask_ms = weir_loop_now_ms(task->worker->loop) + WORKER_RETRY_MS;
    weir_log(WEIR_LOG_DEBUG, "samples not located, asking again", "reason=\"%s\"",
             err != NULL ? err->text : reason.text);
}

/* Asks for the next piece; when there is none, the lease begins. */
static void ask(struct worker *worker, struct worker_task *task)
{
    struct worker_lease *lease = worker_flow_lease(&worker->flow, task->fence);
    if (task->asking || lease == NULL || weir_loop_now_ms(worker->loop) < task->ask_ms)
        return;
    WEIR_AUTO_FREE uint64_t *ids = weir_calloc(LOCATE_IDS_MAX, sizeof(*ids));
    size_t count = located_wanted(&task->located, ids);
    if (count > 0) {
        task->asking = true;
        weir_rpc_call(worker->storage, MSG_locate, &(struct msg_locate){.ids = {ids, count}},
                      WORKER_ASK_MS, on_located, task);
        return;
    }
    struct worker_job *job = worker_job_for(worker, lease);
    if (job == NULL)
        return;
    worker_flow_begin(&worker->flow, lease->fence,
                      preprocess_group(&job->plan.geometry, lease->group));
    worker_pump_soon(worker);
}

static void prepare(struct worker *worker, const struct worker_lease *lease)
{
    struct worker_task *task = worker_task_of(worker, lease);
    struct worker_job *job = worker_job_for(worker, lease);
    if (job == NULL || lease->batches.count > 0)
        return;
    if (!task->begun) {
        if (lease->group >= preprocess_groups(&job->plan.geometry))
            return;
        if (lease->attempt != 0 && lease->rank >= job->plan.geometry.ranks)
            return;
        located_begin(&task->located, &job->plan, lease->group,
                      lease->attempt == 0 ? LOCATED_WHOLE : lease->rank);
        task->begun = true;
    }
    ask(worker, task);
}

void worker_prepare(struct worker *worker)
{
    for (size_t i = 0; i < WORKER_LEASES_MAX; i++) {
        const struct worker_lease *lease = &worker->flow.leases[i];
        if (lease->fence != 0)
            prepare(worker, lease);
        else if (worker->tasks[i].fence != 0)
            reset(worker, &worker->tasks[i]);
    }
}

void worker_tasks_close(struct worker *worker)
{
    for (size_t i = 0; i < WORKER_LEASES_MAX; i++) {
        located_fini(&worker->tasks[i].located);
        weir_buf_fini(&worker->tasks[i].partial);
    }
}
