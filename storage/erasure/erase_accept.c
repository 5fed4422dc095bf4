/* Requests for erasures on their way to disk: those that arrive in one round of the loop share a transaction, and are
 * answered once it is durable. */
#include "storage/erasure/erasing.h"

#include "core/base/log.h"
#include "core/base/memory.h"

#include <stdlib.h>

enum { GROUP_MAX = 1024 };

struct waiting_accept {
    struct waiting_accept *next;
    struct weir_rpc_server *server;
    struct weir_route route;
    struct weir_arena *arena; /* of `asked` */
    struct msg_erase_accept asked;
    struct msg_erase_accepted answer;
    struct weir_error err;
    enum weir_status status;
};

struct accepts {
    struct storage *storage;
    struct waiting_accept *first, *last;
    uint64_t timer;
};

struct accepts *storage_accepts_new(struct storage *storage)
{
    struct accepts *accepts = weir_calloc(1, sizeof *accepts);

    accepts->storage = storage;
    return accepts;
}

static struct waiting_accept *take_first(struct accepts *accepts)
{
    struct waiting_accept *waiting = accepts->first;

    accepts->first = waiting->next;
    if (!accepts->first)
        accepts->last = NULL;
    return waiting;
}

static void free_waiting(struct waiting_accept *waiting)
{
    weir_arena_free(waiting->arena);
    free(waiting);
}

void storage_accepts_free(struct accepts *accepts)
{
    if (!accepts)
        return;
    while (accepts->first)
        free_waiting(take_first(accepts));
    weir_loop_cancel(accepts->storage->loop, accepts->timer);
    free(accepts);
}

/* ---- a group ---- */

static void answer(struct waiting_accept *waiting)
{
    if (waiting->status == WEIR_OK)
        weir_rpc_reply(waiting->server, &waiting->route, MSG_erase_accepted, &waiting->answer,
                       NULL);
    else
        weir_rpc_refuse(waiting->server, &waiting->route, &waiting->err);
    free_waiting(waiting);
}

/* What a request gets wrong is refused alone; what Postgres refuses ends the transaction of all. */
static enum weir_status accept_all(struct storage *storage, struct waiting_accept *group,
                                   struct weir_error *err)
{
    enum weir_status status = weir_db_begin(storage->db, err);

    for (struct waiting_accept *at = group; status == WEIR_OK && at; at = at->next) {
        at->status = storage_erase_accept(storage, &at->asked, at->arena, &at->answer, &at->err);
        if (at->status == WEIR_UNAVAILABLE || at->status == WEIR_INTERNAL || storage->is_stale) {
            *err = at->err;
            status = at->status;
        }
    }
    if (status == WEIR_OK)
        status = weir_db_commit(storage->db, err);
    if (status != WEIR_OK) {
        weir_db_rollback(storage->db);
        storage_doubt(storage); /* what was taken up may not be there */
    }
    return status;
}

static void on_round(void *owner)
{
    struct accepts *accepts = owner;
    struct storage *storage = accepts->storage;
    struct waiting_accept *group = accepts->first, *next;
    struct weir_error err;
    size_t count = 0;
    enum weir_status status = storage_ready(storage, &err);

    accepts->timer = 0;
    for (struct waiting_accept *at = group; at && count < GROUP_MAX; at = next) {
        next = at->next;
        if (++count == GROUP_MAX)
            at->next = NULL;
        accepts->first = next;
    }
    if (!accepts->first)
        accepts->last = NULL;
    else
        accepts->timer = weir_loop_timer(storage->loop, 0, 0, on_round, accepts);
    if (status == WEIR_OK)
        status = accept_all(storage, group, &err);
    if (status != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "erasures are not accepted", "requests=%zu error=\"%s\"", count,
                 err.text);
    for (; group; group = next) {
        next = group->next;
        if (status != WEIR_OK) {
            group->status = status;
            group->err = err;
        }
        answer(group);
    }
}

/* ---- a request ---- */

static struct weir_strs copy_texts(const struct weir_strs *texts, struct weir_arena *arena)
{
    const char **at = weir_arena_alloc(arena, (texts->count + 1) * sizeof *at);

    for (size_t i = 0; i < texts->count; i++)
        at[i] = weir_arena_format(arena, "%s", texts->at[i]);
    return (struct weir_strs){at, texts->count};
}

static void copy_request(const struct msg_erase_accept *from, struct waiting_accept *to)
{
    uint64_t *ids = weir_arena_alloc(to->arena, (from->ids.count + 1) * sizeof *ids);

    for (size_t i = 0; i < from->ids.count; i++)
        ids[i] = from->ids.at[i];
    to->asked = (struct msg_erase_accept){
        .uuid = weir_arena_format(to->arena, "%s", from->uuid),
        .dataset = weir_arena_format(to->arena, "%s", from->dataset),
        .reference = weir_arena_format(to->arena, "%s", from->reference),
        .subjects = copy_texts(&from->subjects, to->arena),
        .keys = copy_texts(&from->keys, to->arena),
        .ids = {ids, from->ids.count},
        .expects_match = from->expects_match,
        .drop_refused = from->drop_refused,
    };
}

void storage_accept(struct storage *storage, struct weir_request *request)
{
    struct accepts *accepts = storage->accepts;
    struct waiting_accept *waiting = weir_calloc(1, sizeof *waiting);

    waiting->server = request->server;
    waiting->route = request->route;
    waiting->arena = weir_arena_new();
    copy_request(request->message, waiting);
    if (accepts->last)
        accepts->last->next = waiting;
    else
        accepts->first = waiting;
    accepts->last = waiting;
    if (accepts->timer == 0)
        accepts->timer = weir_loop_timer(storage->loop, 0, 0, on_round, accepts);
}
