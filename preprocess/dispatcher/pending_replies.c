/* Group commit: answers wait until what they say is stored. One transaction is under way at a time; what changes
 * meanwhile, of all jobs, goes into the next one. */
#include "preprocess/dispatcher/dispatcher.h"

#include "core/base/fault.h"
#include "core/base/hash.h"
#include "core/base/memory.h"
#include "core/base/rng.h"

#include <stdlib.h>

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

/* ---- waiting ---- */

static bool is_same(const struct weir_route *a, const struct weir_route *b)
{
    return a->request != 0 && a->cookie == b->cookie && weir_route_is_of_request(a, b);
}

static uint64_t hash_of(const struct dispatcher_replies *replies, const struct weir_route *route)
{
    return weir_hash64(weir_bytes(route->identity, route->identity_size),
                       replies->requests.seed ^ weir_mix64(route->request));
}

/* True for a copy of a request whose answer waits already. */
static bool waits(const struct dispatcher_replies *replies, const struct weir_route *route)
{
    struct weir_index_search search =
        weir_index_search(&replies->requests, hash_of(replies, route));
    uint32_t at;
    while (weir_index_next(&search, &at))
        if (is_same(&replies->at[at].route, route))
            return true;
    return false;
}

static void add(struct dispatcher_replies *replies, const struct dispatcher_pending_reply *reply)
{
    weir_index_draw_seed(&replies->requests);
    weir_index_add(&replies->requests, hash_of(replies, &reply->route), (uint32_t)replies->count);
    replies->at = weir_grow(replies->at, replies->count, &replies->capacity, sizeof(*replies->at));
    replies->at[replies->count++] = *reply;
}

static void flush_soon(void *owner)
{
    struct dispatcher *dispatcher = owner;
    dispatcher->flushing = false;
    preprocess_dispatcher_flush(dispatcher);
}

static void plan_flush(struct dispatcher *dispatcher)
{
    if (!dispatcher->flushing)
        weir_loop_soon(dispatcher->loop, flush_soon, dispatcher);
    dispatcher->flushing = true;
}

static void refuse(struct dispatcher *dispatcher, const struct weir_route *route)
{
    struct weir_error err;
    weir_ignore(weir_fail(
        &err, WEIR_UNAVAILABLE,
        "Postgres is slow: as many answers wait for it as can, of %d, beside what one key "
        "leaves to others",
        DISPATCHER_REPLIES_MAX));
    weir_rpc_refuse(dispatcher->server, route, &err);
}

/* Takes `reply`. */
static void wait_for(struct dispatcher *dispatcher, struct dispatcher_replies *replies,
                     struct dispatcher_pending_reply *reply)
{
    if (waits(&dispatcher->pending, &reply->route) || waits(&dispatcher->saved, &reply->route)) {
        preprocess_asking_free(reply->asking);
        return;
    }
    if (!weir_quota_allows(&dispatcher->replies_quota, reply->key, 1, DISPATCHER_REPLIES_MAX)) {
        refuse(dispatcher, &reply->route);
        preprocess_asking_free(reply->asking);
        return;
    }
    weir_quota_take(&dispatcher->replies_quota, reply->key, 1);
    add(replies, reply);
}

/* Has it wait for the transaction that stores the newest of `what`. */
static void wait_until_stored(struct dispatcher *dispatcher, const struct dispatcher_entry *entry,
                              unsigned what, struct dispatcher_pending_reply *reply)
{
    if ((entry->job.unsaved & what) == 0) {
        wait_for(dispatcher, &dispatcher->saved, reply);
        return;
    }
    wait_for(dispatcher, &dispatcher->pending, reply);
    plan_flush(dispatcher);
}

void preprocess_dispatcher_reply(struct dispatcher *dispatcher,
                                 const struct dispatcher_entry *entry,
                                 const struct dispatcher_pending_reply *reply)
{
    struct dispatcher_pending_reply copy = *reply;
    unsigned what = reply->type == MSG_client_orders ? DISPATCHER_PLACES | DISPATCHER_HANDED : ~0U;
    if ((preprocess_entry_unsaved(entry) & what) == 0)
        answer(dispatcher, &copy);
    else
        wait_until_stored(dispatcher, entry, what, &copy);
}

bool preprocess_dispatcher_waits(struct dispatcher *dispatcher,
                                 const struct dispatcher_entry *entry,
                                 const struct weir_request *request, weir_rpc_handler_fn *handler)
{
    if (preprocess_entry_unsaved(entry) == 0)
        return false;
    struct dispatcher_pending_reply reply = {
        .route = request->route,
        .job = entry->number,
        .key = weir_rpc_quota_key(request),
        .asking = preprocess_asking_keep(dispatcher, request, handler)};
    wait_until_stored(dispatcher, entry, ~0U, &reply);
    return true;
}

void preprocess_replies_fini(struct dispatcher_replies *replies)
{
    for (size_t i = 0; i < replies->count; i++)
        preprocess_asking_free(replies->at[i].asking);
    free(replies->at);
    weir_index_fini(&replies->requests);
    *replies = (struct dispatcher_replies){.at = NULL};
}

/* ---- storing ---- */

struct saving {
    struct dispatcher *dispatcher;
    struct dispatcher_images images;
};

static enum weir_status save(void *owner, struct weir_db *db, struct weir_error *err)
{
    struct saving *saving = owner;
    (void)weir_fault("dispatcher.save");
    return preprocess_store_save(db, &saving->images, err);
}

/* NULL: the job is in use no longer. */
static const struct dispatcher_image *image_of(const struct saving *saving, uint64_t job)
{
    for (size_t i = 0; i < saving->images.count; i++) {
        if (saving->images.at[i].number == job)
            return &saving->images.at[i];
    }
    return NULL;
}

static void settle_images(struct saving *saving, const struct weir_error *err)
{
    for (size_t i = 0; i < saving->images.count; i++) {
        struct dispatcher_image *image = &saving->images.at[i];
        struct dispatcher_entry *entry =
            preprocess_dispatcher_in_memory(saving->dispatcher, image->number);
        if (err != NULL && image->status == WEIR_OK && err->status == WEIR_UNAVAILABLE)
            image->status = err->status; /* it was never run */
        if (entry == NULL)
            continue;
        entry->saving = 0;
        if (image->status != WEIR_OK)
            preprocess_image_put_back(image, entry);
    }
}

static void settle_reply(const struct saving *saving, struct dispatcher_pending_reply *reply,
                         const struct weir_error *err)
{
    struct dispatcher *dispatcher = saving->dispatcher;
    const struct dispatcher_image *image = image_of(saving, reply->job);
    struct weir_error gone;
    weir_ignore(weir_fail(&gone, WEIR_STALE, "job %lu is closed", reply->job));
    if (image != NULL && image->status != WEIR_OK)
        weir_rpc_refuse(dispatcher->server, &reply->route, err);
    else if (reply->asking != NULL)
        preprocess_asking_resume(reply->asking);
    else if (image == NULL)
        weir_rpc_refuse(dispatcher->server, &reply->route, &gone);
    else
        answer(dispatcher, reply);
}

static void on_saved(void *owner, const struct weir_error *err)
{
    struct saving *saving = owner;
    struct dispatcher *dispatcher = saving->dispatcher;
    struct dispatcher_replies replies = dispatcher->saved;
    dispatcher->saved = (struct dispatcher_replies){.at = NULL};
    dispatcher->is_saving = false;
    (void)weir_fault("dispatcher.saved");
    settle_images(saving, err);
    for (size_t i = 0; i < replies.count; i++)
        weir_quota_give(&dispatcher->replies_quota, replies.at[i].key, 1);
    for (size_t i = 0; i < replies.count; i++)
        settle_reply(saving, &replies.at[i], err);
    preprocess_replies_fini(&replies);
    if (dispatcher->pending.count > 0)
        plan_flush(dispatcher);
    if (err == NULL) /* else the timer sees to it */
        preprocess_dispatcher_settle(dispatcher);
}

static void drop_saving(void *owner)
{
    struct saving *saving = owner;
    preprocess_images_fini(&saving->images);
    free(saving);
}

void preprocess_dispatcher_flush(struct dispatcher *dispatcher)
{
    if (dispatcher->is_saving)
        return;
    struct saving *saving = weir_calloc(1, sizeof(*saving));
    saving->dispatcher = dispatcher;
    for (size_t i = 0; i < dispatcher->entry_count; i++) {
        if (dispatcher->entries[i]->job.unsaved != 0)
            preprocess_image_of_record(&saving->images, dispatcher->entries[i]);
    }
    if (saving->images.count == 0 && dispatcher->pending.count == 0) {
        drop_saving(saving);
        return;
    }
    dispatcher->is_saving = true;
    dispatcher->saved = dispatcher->pending;
    dispatcher->pending = (struct dispatcher_replies){.at = NULL};
    weir_db_thread_run(dispatcher->thread,
                       &(struct weir_db_job){save, on_saved, drop_saving, saving});
}
