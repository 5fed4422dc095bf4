/* Reading the configuration that a task comes with. */
#include "trainer_client/run_order.h"

#include "core/base/memory.h"

enum weir_status trainer_run_order_take(struct weir_client_task *task, struct run_order *ret_order,
                                        struct weir_error *err)
{
    struct run_order order = {.task = task};
    struct weir_bytes config = weir_bytes(task->config, task->config_size);
    enum weir_status status = weir_yaml_parse(task->file, config, &order.document, err);

    if (status == WEIR_OK)
        status = trainer_training_read(weir_yaml_root(order.document), &order.training, err);
    if (status != WEIR_OK) {
        trainer_run_order_fini(&order);
        return status;
    }
    *ret_order = order;
    return WEIR_OK;
}

void trainer_run_order_fini(struct run_order *order)
{
    weir_yaml_free(order->document);
    weir_client_task_free(order->task);
    *order = (struct run_order){0};
}

char *trainer_run_order_path(const struct run_order *order, const char *name)
{
    return weir_format("%s/%s", order->task->directory, name);
}
