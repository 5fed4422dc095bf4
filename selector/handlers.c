/* Which message is handled where. */
#include "selector/tasks/task.h"

static void on_selection_open(void *owner, struct weir_request *request)
{
    selector_task_open(owner, request);
}

static void on_select(void *owner, struct weir_request *request)
{
    selector_task_select(owner, request);
}

static void on_interval_seal(void *owner, struct weir_request *request)
{
    selector_task_interval(owner, request);
}

static void on_preview(void *owner, struct weir_request *request)
{
    selector_task_preview(owner, request);
}

const struct weir_rpc_handler SELECTOR_HANDLERS[] = {
    WEIR_ON(selection_open, on_selection_open),
    WEIR_ON(select, on_select),
    WEIR_ON(interval_seal, on_interval_seal),
    WEIR_ON(preview, on_preview),
    {MSG_none, NULL},
};
