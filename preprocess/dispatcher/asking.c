/* Requests that wait for Postgres: kept whole, and handled again when what they need is there. */
#include "preprocess/dispatcher/dispatcher.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

/* As it was when the request came: who is told less meanwhile is no longer connected. */
static const struct weir_sender *copy_sender(struct weir_arena *arena,
                                             const struct weir_sender *sender)
{
    struct weir_sender *copy = weir_arena_alloc(arena, sizeof(*copy));
    *copy = (struct weir_sender){
        .role = sender->role,
        .name = weir_arena_strndup(arena, sender->name, strlen(sender->name)),
        .tenant = weir_arena_strndup(arena, sender->tenant, strlen(sender->tenant)),
    };
    return copy;
}

struct dispatcher_asking *preprocess_asking_keep(struct dispatcher *dispatcher,
                                                 const struct weir_request *request,
                                                 weir_rpc_handler_fn *handler)
{
    struct dispatcher_asking *asking = weir_calloc(1, sizeof(*asking));
    *asking = (struct dispatcher_asking){.dispatcher = dispatcher,
                                         .handler = handler,
                                         .request = *request,
                                         .arena = weir_arena_new()};
    struct weir_error err;
    WEIR_AUTO_BUF packed = {0};
    void *message = weir_arena_alloc(asking->arena, weir_message_info(request->type)->size);
    weir_message_pack(request->type, request->message, &packed);
    asking->bytes = packed.size;
    const void *bytes = weir_arena_strndup(asking->arena, (const char *)packed.at, packed.size);
    weir_require(weir_message_unpack(request->type, weir_bytes(bytes, packed.size), asking->arena,
                                     message, &err) == WEIR_OK);
    asking->request.message = message;
    asking->request.arena = asking->arena;
    asking->request.frames = NULL; /* no message to the dispatcher has any */
    asking->request.sender = copy_sender(asking->arena, request->sender);
    return asking;
}

void preprocess_asking_free(struct dispatcher_asking *asking)
{
    if (asking == NULL)
        return;
    weir_arena_free(asking->arena);
    free(asking);
}

void preprocess_asking_resume(struct dispatcher_asking *asking)
{
    asking->handler(asking->dispatcher, &asking->request);
}

void preprocess_asking_refuse(const struct dispatcher_asking *asking, const struct weir_error *err)
{
    weir_rpc_refuse(asking->request.server, &asking->request.route, err);
}

/* ---- jobs that are not in memory ---- */

struct loading {
    struct dispatcher_asking *asking;
    uint64_t number;
    struct dispatcher_entry *entry;
    struct dispatcher_record record;
    struct plans_stored plan;
};

static enum weir_status load(void *owner, struct weir_db *db, struct weir_error *err)
{
    struct loading *loading = owner;
    return preprocess_store_load(db, loading->asking->dispatcher->data_dir, loading->number,
                                 &loading->entry, &loading->record, err);
}

static size_t places_of(const struct dispatcher_asking *asking)
{
    return 1 + asking->bytes / DISPATCHER_LOAD_BYTES;
}

static struct weir_quota *quota_of(const struct dispatcher_asking *asking)
{
    return weir_rpc_quota_key(&asking->request) == 0 ? &asking->dispatcher->loads_here
                                                     : &asking->dispatcher->loads_quota;
}

static void drop_loading(void *owner)
{
    struct loading *loading = owner;
    if (loading->asking != NULL)
        weir_quota_give(quota_of(loading->asking), weir_rpc_quota_key(&loading->asking->request),
                        places_of(loading->asking));
    preprocess_asking_free(loading->asking);
    preprocess_entry_free(loading->entry);
    preprocess_record_fini(&loading->record);
    free(loading);
}

/* Hands the request what was found of the job: an entry that is taken over, the reason why there is none, or neither,
 * as it is in memory. */
static void tell(struct loading *loading, struct dispatcher_entry *entry,
                 const struct weir_error *err)
{
    struct dispatcher_found *found = &loading->asking->dispatcher->found;
    *found = (struct dispatcher_found){.is_set = true, .number = loading->number, .entry = entry};
    if (err != NULL)
        found->err = *err;
    preprocess_asking_resume(loading->asking);
    preprocess_entry_free(found->entry);
    *found = (struct dispatcher_found){.is_set = false};
}

static bool is_in_memory(const struct loading *loading)
{
    return preprocess_dispatcher_in_memory(loading->asking->dispatcher, loading->number) != NULL;
}

static enum weir_status load_plan(void *owner, struct weir_db *db, struct weir_error *err)
{
    struct loading *loading = owner;
    (void)err;
    preprocess_plans_load(db, loading->entry, &loading->plan);
    return WEIR_OK;
}

/* A closed job is there for this request alone. */
static void on_plan_loaded(void *owner, const struct weir_error *err)
{
    struct loading *loading = owner;
    struct dispatcher *dispatcher = loading->asking->dispatcher;
    if (err == NULL)
        preprocess_plans_take_up(&dispatcher->plans, loading->entry, &loading->plan,
                                 weir_loop_now_ms(dispatcher->loop));
    tell(loading, is_in_memory(loading) ? NULL : WEIR_TAKE(loading->entry), NULL);
}

static void find_plan(struct loading *loading)
{
    struct loading *next = weir_calloc(1, sizeof(*next));
    next->asking = WEIR_TAKE(loading->asking);
    next->number = loading->number;
    next->entry = WEIR_TAKE(loading->entry);
    weir_db_thread_run(next->asking->dispatcher->thread,
                       &(struct weir_db_job){load_plan, on_plan_loaded, drop_loading, next});
}

/* Plans what was loaded. A job that is not closed is in use from now on. */
static enum weir_status take_up(struct loading *loading, struct weir_error *err)
{
    struct dispatcher *dispatcher = loading->asking->dispatcher;
    enum weir_status status =
        preprocess_entry_plan(loading->entry, &dispatcher->fences, &loading->record, err);
    if (status == WEIR_OK && !loading->entry->closed)
        preprocess_dispatcher_add(dispatcher, WEIR_TAKE(loading->entry));
    return status;
}

static void on_loaded(void *owner, const struct weir_error *err)
{
    struct loading *loading = owner;
    struct weir_error unplanned;
    if (err == NULL && !is_in_memory(loading) && take_up(loading, &unplanned) != WEIR_OK)
        err = &unplanned;
    if (err == NULL && !is_in_memory(loading))
        find_plan(loading);
    else
        tell(loading, NULL, err);
}

/* False: whoever asks has as many looked for as it may, and is refused. */
static bool take_places(const struct dispatcher_asking *asking)
{
    uint64_t key = weir_rpc_quota_key(&asking->request);
    size_t places = places_of(asking);
    int whole = key == 0 ? DISPATCHER_LOADS_HERE_MAX : DISPATCHER_LOADS_MAX;
    struct weir_error err;
    if (weir_quota_allows(quota_of(asking), key, places, (size_t)whole)) {
        weir_quota_take(quota_of(asking), key, places);
        return true;
    }
    weir_ignore(weir_fail(&err, WEIR_UNAVAILABLE,
                          "as many jobs are looked for as can be, of %d, beside what one key "
                          "leaves to others",
                          whole));
    preprocess_asking_refuse(asking, &err);
    return false;
}

void preprocess_dispatcher_when_found(struct dispatcher *dispatcher, struct weir_request *request,
                                      uint64_t number, weir_rpc_handler_fn *handler,
                                      weir_rpc_handler_fn *again)
{
    const struct dispatcher_found *found = &dispatcher->found;
    const struct dispatcher_entry *entry = preprocess_dispatcher_in_memory(dispatcher, number);
    bool is_found = found->is_set && found->number == number;
    if (is_found || (entry != NULL && !entry->is_ending)) {
        handler(dispatcher, request);
        return;
    }
    struct dispatcher_asking *asking = preprocess_asking_keep(dispatcher, request, again);
    if (!take_places(asking)) {
        preprocess_asking_free(asking);
        return;
    }
    struct loading *loading = weir_calloc(1, sizeof(*loading));
    loading->asking = asking;
    loading->number = number;
    weir_db_thread_run(dispatcher->thread,
                       &(struct weir_db_job){load, on_loaded, drop_loading, loading});
}
