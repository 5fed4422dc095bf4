/* Keeping the orchestrator's order beyond the message it came in. */
#include "trainer_client/run_order.h"

#include <string.h>

static const char *copy(struct weir_arena *arena, const char *text)
{
    return weir_arena_strndup(arena, text, strlen(text));
}

static struct weir_strs copy_names(struct weir_arena *arena, struct weir_strs names)
{
    const char **kept = weir_arena_alloc(arena, (names.count + 1) * sizeof(*kept));
    for (size_t i = 0; i < names.count; i++)
        kept[i] = copy(arena, names.at[i]);
    return (struct weir_strs){.at = kept, .count = names.count};
}

enum weir_status trainer_run_order_take(const struct msg_run_is *message,
                                        struct run_order *ret_order, struct weir_error *err)
{
    struct run_order order = {.arena = weir_arena_new()};
    order.mode = copy(order.arena, message->mode);
    order.start_from = copy(order.arena, message->start_from);
    order.directory = copy(order.arena, message->directory);
    order.classes = copy_names(order.arena, message->classes);
    order.job = message->job;
    order.seed = message->seed;
    order.label_kind = message->label_kind;
    order.outputs = message->outputs;
    enum weir_status status = weir_yaml_parse(message->file, message->config, &order.document, err);
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
    weir_arena_free(order->arena);
    *order = (struct run_order){0};
}

const char *trainer_run_order_path(const struct run_order *order, const char *name)
{
    return weir_arena_format(order->arena, "%s/%s", order->directory, name);
}
