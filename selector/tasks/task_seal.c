/* SEAL: the set that was written becomes a row, and the answer. */
#include "selector/tasks/task_steps.h"

#include "core/base/fault.h"
#include "core/base/log.h"
#include "selector/tasks/task_endings.h"
#include "selector/tasks/task_score.h"

#include <inttypes.h>

static enum weir_status put(struct selector_task *task, const struct selector_sealed *sealed,
                            struct weir_error *err)
{
    struct weir_db *db = task->queue->db;
    if (!selector_task_is_recorded(task))
        return WEIR_OK;
    if (task->kind == SELECTOR_INTERVAL)
        return selector_sealed_put_interval(db, &task->asked.interval, sealed, err);
    const struct selector_boundary boundary = {
        .positions = task->positions.at,
        .position_count = task->positions.count,
        .until_time = task->asked.select.until_time,
        .until_id = task->asked.select.until_id,
    };
    return selector_sealed_put_trigger(db, task->pipeline_name, task->asked.select.trigger,
                                       &boundary, sealed, err);
}

void selector_step_seal(struct selector_task *task)
{
    struct selector_sealed *sealed = &task->sealed;
    struct weir_error err;
    if (task->model_request.unscored.count > 0) {
        selector_task_request_model(task);
        return;
    }
    sealed->components = task->candidates.components;
    sealed->component_count = task->candidates.component_count;
    enum weir_status status = put(task, sealed, &err);
    if (status == WEIR_OK && weir_fault("selector.answer"))
        status = weir_fail(&err, WEIR_UNAVAILABLE, "fault selector.answer");
    if (status != WEIR_OK) {
        selector_task_fail(task, &err);
        return;
    }
    weir_log(WEIR_LOG_INFO, "set sealed",
             "pipeline=%s policy=%s samples=%" PRIu64 " of=%" PRIu64 " digest=%s reason=\"%s\"",
             task->pipeline_name, sealed->policy, sealed->samples, sealed->candidates,
             sealed->digest, sealed->reason);
    selector_task_answer(task, sealed);
}
