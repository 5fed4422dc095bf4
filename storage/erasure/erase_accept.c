/* Requests for erasures on their way to disk: those that arrive in one round of the loop share a transaction, and are
 * answered once it is durable. */
#include "storage/erasure/erasure_steps.h"

#include "core/base/log.h"
#include "core/base/memory.h"

#include <stdlib.h>

enum { GROUP_MAX = 1024, GROUP_NAMES_MAX = 65536 };

struct waiting_accept {
    struct waiting_accept *next;
    struct weir_rpc_server *server;
    struct weir_route route;
    struct msg_erase_accept asked;
    struct erase_acceptance acceptance; /* its arena is that of `asked`, too */
};

struct accepts {
    struct eraser *eraser;
    struct waiting_accept *first, *last;
    size_t count, seen; /* waiting; and waiting when the last round ended */
    uint64_t timer;
};

struct accepts *storage_accepts_new(struct eraser *eraser)
{
    struct accepts *accepts = weir_calloc(1, sizeof(*accepts));

    accepts->eraser = eraser;
    return accepts;
}

static struct waiting_accept *take_first(struct accepts *accepts)
{
    struct waiting_accept *waiting = accepts->first;

    accepts->first = waiting->next;
    if (accepts->first == NULL)
        accepts->last = NULL;
    return waiting;
}

static void free_waiting(struct waiting_accept *waiting)
{
    weir_arena_free(waiting->acceptance.arena);
    free(waiting);
}

void storage_accepts_free(struct accepts *accepts)
{
    if (accepts == NULL)
        return;
    while (accepts->first != NULL)
        free_waiting(take_first(accepts));
    weir_loop_cancel(accepts->eraser->store->loop, accepts->timer);
    free(accepts);
}

bool storage_accepts_any(const struct accepts *accepts)
{
    return accepts->first != NULL;
}

/* ---- a group ---- */

static void answer(struct waiting_accept *waiting)
{
    const struct erase_acceptance *acceptance = &waiting->acceptance;

    if (acceptance->status == WEIR_OK)
        weir_rpc_reply(waiting->server, &waiting->route, MSG_erase_accepted, &acceptance->answer,
                       NULL);
    else
        weir_rpc_refuse(waiting->server, &waiting->route, &acceptance->err);
    free_waiting(waiting);
}

static enum weir_status accept_all(struct eraser *eraser, struct erase_acceptance *const *group,
                                   size_t count, struct weir_error *err)
{
    enum weir_status status = storage_ready(eraser->store, err);

    if (status == WEIR_OK)
        status = weir_db_begin(eraser->store->db, err);
    if (status != WEIR_OK)
        return status;
    status = storage_erase_accept_all(eraser, group, count, err);
    if (status == WEIR_OK)
        status = weir_db_commit(eraser->store->db, err);
    if (status != WEIR_OK) {
        weir_db_rollback(eraser->store->db);
        storage_doubt(eraser->store); /* what was taken up may not be there */
    }
    return status;
}

static size_t names_of(const struct waiting_accept *waiting)
{
    const struct msg_erase_accept *asked = &waiting->asked;

    return asked->subjects.count + asked->keys.count + asked->ids.count;
}

/* Those at the front that share a transaction. */
static size_t take_group(struct accepts *accepts, struct waiting_accept **group)
{
    size_t count = 0, names = 0;

    while (accepts->first != NULL && count < GROUP_MAX &&
           (count == 0 || names + names_of(accepts->first) <= GROUP_NAMES_MAX)) {
        names += names_of(accepts->first);
        group[count++] = take_first(accepts);
    }
    accepts->count -= count;
    accepts->seen = accepts->count;
    return count;
}

static void accept_group(struct accepts *accepts)
{
    struct waiting_accept *group[GROUP_MAX];
    struct erase_acceptance *acceptances[GROUP_MAX];
    struct weir_error err;
    size_t count = take_group(accepts, group);
    enum weir_status status;

    for (size_t i = 0; i < count; i++)
        acceptances[i] = &group[i]->acceptance;
    status = accept_all(accepts->eraser, acceptances, count, &err);
    if (status != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "erasures are not accepted", "requests=%zu error=\"%s\"", count,
                 err.text);
    for (size_t i = 0; i < count; i++) {
        if (status != WEIR_OK) {
            group[i]->acceptance.status = status;
            group[i]->acceptance.err = err;
        }
        answer(group[i]);
    }
}

/* While more come with each round, they share the transaction. */
static void on_round(void *owner)
{
    struct accepts *accepts = owner;

    accepts->timer = 0;
    if (accepts->count <= accepts->seen || accepts->count >= GROUP_MAX)
        accept_group(accepts);
    accepts->seen = accepts->count;
    if (accepts->first != NULL)
        accepts->timer = weir_loop_timer(accepts->eraser->store->loop, 0, 0, on_round, accepts);
}

/* ---- a request ---- */

static struct weir_strs copy_texts(const struct weir_strs *texts, struct weir_arena *arena)
{
    const char **at = weir_arena_alloc(arena, (texts->count + 1) * sizeof(*at));

    for (size_t i = 0; i < texts->count; i++)
        at[i] = weir_arena_format(arena, "%s", texts->at[i]);
    return (struct weir_strs){at, texts->count};
}

static void copy_request(const struct msg_erase_accept *from, struct waiting_accept *to)
{
    struct weir_arena *arena = to->acceptance.arena;
    uint64_t *ids = weir_arena_alloc(arena, (from->ids.count + 1) * sizeof(*ids));

    for (size_t i = 0; i < from->ids.count; i++)
        ids[i] = from->ids.at[i];
    to->asked = (struct msg_erase_accept){
        .uuid = weir_arena_format(arena, "%s", from->uuid),
        .dataset = weir_arena_format(arena, "%s", from->dataset),
        .reference = weir_arena_format(arena, "%s", from->reference),
        .subjects = copy_texts(&from->subjects, arena),
        .keys = copy_texts(&from->keys, arena),
        .ids = {ids, from->ids.count},
        .expects_match = from->expects_match,
        .drop_refused = from->drop_refused,
    };
}

void storage_accept(struct eraser *eraser, struct weir_request *request)
{
    struct accepts *accepts = eraser->accepts;
    struct waiting_accept *waiting = weir_calloc(1, sizeof(*waiting));

    waiting->server = request->server;
    waiting->route = request->route;
    waiting->acceptance =
        (struct erase_acceptance){.asked = &waiting->asked, .arena = weir_arena_new()};
    copy_request(request->message, waiting);
    if (accepts->last != NULL)
        accepts->last->next = waiting;
    else
        accepts->first = waiting;
    accepts->last = waiting;
    accepts->count++;
    if (accepts->timer == 0)
        accepts->timer = weir_loop_timer(eraser->store->loop, 0, 0, on_round, accepts);
}
