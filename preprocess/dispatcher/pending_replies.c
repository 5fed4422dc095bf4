/* Group commit: answers wait until the round's changes of all jobs are stored in one transaction. */
#include "preprocess/dispatcher/dispatcher.h"

#include "core/base/log.h"
#include "core/base/memory.h"

static void flush(void *owner)
{
    struct dispatcher *dispatcher = owner;
    dispatcher->flushing = false;
    preprocess_dispatcher_flush(dispatcher);
}

static void answer(struct dispatcher *dispatcher, struct dispatcher_pending_reply *reply)
{
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    const void *message = &reply->committed;
    if (reply->type == MSG_client_orders) {
        reply->orders.workers = preprocess_dispatcher_endpoints(dispatcher, reply->job, arena);
        preprocess_totals_show(&reply->totals, &reply->orders);
        message = &reply->orders;
    }
    weir_rpc_reply(dispatcher->server, &reply->route, reply->type, message, NULL);
}

void preprocess_dispatcher_reply(struct dispatcher *dispatcher,
                                 const struct dispatcher_entry *entry,
                                 const struct dispatcher_pending_reply *reply)
{
    struct dispatcher_pending_reply copy = *reply;
    if (!entry->job.unsaved) {
        answer(dispatcher, &copy);
        return;
    }
    dispatcher->pending = weir_grow(dispatcher->pending, dispatcher->pending_count,
                                    &dispatcher->pending_capacity, sizeof(*reply));
    dispatcher->pending[dispatcher->pending_count++] = copy;
    if (!dispatcher->flushing)
        weir_loop_soon(dispatcher->loop, flush, dispatcher);
    dispatcher->flushing = true;
}

/* One job that cannot be stored is not to stop the others. */
static void store_each(struct dispatcher *dispatcher, struct weir_error *err)
{
    for (size_t i = 0; i < dispatcher->entry_count; i++) {
        if (preprocess_store_save(dispatcher->db, &dispatcher->entries[i], 1, err) != WEIR_OK)
            weir_log(WEIR_LOG_WARN, "job not stored, trying again", "job=%lu reason=\"%s\"",
                     dispatcher->entries[i]->number, err->text);
    }
}

static bool is_unsaved(const struct dispatcher *dispatcher, uint64_t job)
{
    const struct dispatcher_entry *entry = preprocess_dispatcher_in_memory(dispatcher, job);
    return entry != NULL && entry->job.unsaved;
}

void preprocess_dispatcher_flush(struct dispatcher *dispatcher)
{
    struct weir_error err;
    enum weir_status status =
        preprocess_store_save(dispatcher->db, dispatcher->entries, dispatcher->entry_count, &err);
    if (status != WEIR_OK && status != WEIR_UNAVAILABLE)
        store_each(dispatcher, &err);
    for (size_t i = 0; i < dispatcher->pending_count; i++) {
        struct dispatcher_pending_reply *reply = &dispatcher->pending[i];
        if (status == WEIR_OK || !is_unsaved(dispatcher, reply->job))
            answer(dispatcher, reply);
        else
            weir_rpc_refuse(dispatcher->server, &reply->route, &err);
    }
    dispatcher->pending_count = 0;
}
