/* Group commit: answers wait until the round's changes of all jobs are stored in one transaction. */
#include "preprocess/dispatcher/dispatcher.h"

#include "core/base/log.h"
#include "core/base/memory.h"

static void flush(void *owner)
{
    struct dispatcher *dispatcher = owner;
    dispatcher->flushing = false;
    dispatcher_flush(dispatcher);
}

static void answer(struct dispatcher *dispatcher, struct dispatcher_owed *owed)
{
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    const void *message = &owed->committed;
    if (owed->type == MSG_client_orders) {
        owed->orders.workers = dispatcher_endpoints(dispatcher, owed->job, arena);
        message = &owed->orders;
    }
    weir_rpc_reply(dispatcher->server, &owed->route, owed->type, message, NULL);
}

void dispatcher_owe(struct dispatcher *dispatcher, const struct dispatcher_entry *entry,
                    const struct dispatcher_owed *owed)
{
    struct dispatcher_owed copy = *owed;
    if (!entry->job.unsaved) {
        answer(dispatcher, &copy);
        return;
    }
    dispatcher->owed = weir_grow(dispatcher->owed, dispatcher->owed_count,
                                 &dispatcher->owed_capacity, sizeof(*owed));
    dispatcher->owed[dispatcher->owed_count++] = copy;
    if (!dispatcher->flushing)
        weir_loop_soon(dispatcher->loop, flush, dispatcher);
    dispatcher->flushing = true;
}

/* One job that cannot be stored is not to stop the others. */
static void store_each(struct dispatcher *dispatcher, struct weir_error *err)
{
    for (size_t i = 0; i < dispatcher->entry_count; i++) {
        if (dispatcher_store_save(dispatcher->db, &dispatcher->entries[i], 1, err) != WEIR_OK)
            weir_log(WEIR_LOG_WARN, "job not stored, trying again", "job=%lu reason=\"%s\"",
                     dispatcher->entries[i]->number, err->text);
    }
}

static bool is_unsaved(const struct dispatcher *dispatcher, uint64_t job)
{
    const struct dispatcher_entry *entry = dispatcher_in_memory(dispatcher, job);
    return entry != NULL && entry->job.unsaved;
}

void dispatcher_flush(struct dispatcher *dispatcher)
{
    struct weir_error err;
    enum weir_status status =
        dispatcher_store_save(dispatcher->db, dispatcher->entries, dispatcher->entry_count, &err);
    if (status != WEIR_OK && status != WEIR_UNAVAILABLE)
        store_each(dispatcher, &err);
    for (size_t i = 0; i < dispatcher->owed_count; i++) {
        struct dispatcher_owed *owed = &dispatcher->owed[i];
        if (status == WEIR_OK || !is_unsaved(dispatcher, owed->job))
            answer(dispatcher, owed);
        else
            weir_rpc_refuse(dispatcher->server, &owed->route, &err);
    }
    dispatcher->owed_count = 0;
}
