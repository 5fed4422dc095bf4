/* The endings of tasks: answered, refused, or with their pipeline to be loaded again. */
#include "selector/tasks/task_endings.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "selector/tasks/task_queue.h"

void selector_task_fail(struct selector_task *task, const struct weir_error *err)
{
    if (task->kind != SELECTOR_FOLLOW)
        weir_rpc_refuse(task->queue->server, &task->route, err);
    if (err->status != WEIR_UNAVAILABLE)
        weir_log(task->kind == SELECTOR_FOLLOW ? WEIR_LOG_DEBUG : WEIR_LOG_WARN, "request failed",
                 "pipeline=%s error=\"%s\"", task->pipeline_name, err->text);
    selector_task_end(task);
}

void selector_task_answer(struct selector_task *task, const struct selector_sealed *sealed)
{
    WEIR_AUTO_FREE char *path = selector_sealed_path(task->queue->data_dir, sealed);
    const struct msg_selected selected = selector_sealed_message(sealed, path);
    weir_rpc_reply(task->queue->server, &task->route, MSG_selected, &selected, NULL);
    selector_task_end(task);
}

void selector_task_answer_preview(struct selector_task *task, const struct msg_preview_is *preview)
{
    weir_rpc_reply(task->queue->server, &task->route, MSG_preview_is, preview, NULL);
    selector_task_end(task);
}

void selector_task_forget(struct selector_task *task, const struct weir_error *err)
{
    selector_pipelines_forget(&task->queue->pipelines, task->pipeline_name);
    selector_task_fail(task, err);
}

bool selector_task_refused(struct selector_task *task, const struct weir_reply *reply,
                           const struct weir_error *err)
{
    struct weir_error own;
    if (reply != NULL)
        return false;
    own = *err;
    if (own.status == WEIR_TIMEOUT)
        weir_ignore(weir_fail(&own, WEIR_UNAVAILABLE, "storage does not answer")); /* same */
    selector_task_fail(task, &own);
    return true;
}
