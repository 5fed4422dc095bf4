/* Reads on threads: see read_queue.h. */
#include "storage/reading/read_queue.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/quota.h"
#include "core/loop/work.h"
#include "storage/reading/reading.h"
#include "storage/reading/use_leases.h"

#include <stdlib.h>
#include <string.h>

struct queued_read {
    struct read_queue *queue;
    struct weir_rpc_server *server;
    struct weir_route route;
    uint64_t key; /* of whoever asks */
    struct weir_arena *arena;
    struct msg_read asked; /* in `arena` */
    int64_t begun_ns;
    struct reading reading;
    struct weir_work *work; /* NULL: it waits */
    unsigned plans;
};

struct read_queue {
    const struct serving *serving;
    struct queued_read *at[READS_WAITING_MAX]; /* in the order in which they came */
    size_t count, running;
    struct weir_quota quota; /* of READS_WAITING_MAX */
    uint64_t again_timer;    /* 0: none waits for a statement of others */
};

/* ---- who is next ---- */

/* Returns what is under way for its key, and then for its asker: one number, of which the least is next. */
static size_t running_of(const struct read_queue *queue, const struct queued_read *asked)
{
    size_t key = 0, asker = 0;

    for (size_t i = 0; i < queue->count; i++) {
        const struct queued_read *read = queue->at[i];

        key += read->work != NULL && read->key == asked->key;
        asker += read->work != NULL && weir_route_is_of_peer(&read->route, &asked->route);
    }
    return key * (READ_THREADS + 1) + asker;
}

/* Returns the oldest read of whoever has the fewest under way; NULL: none waits. */
static struct queued_read *next_of(const struct read_queue *queue)
{
    struct queued_read *next = NULL;
    size_t fewest = SIZE_MAX;

    for (size_t i = 0; i < queue->count && fewest > 0; i++) {
        struct queued_read *read = queue->at[i];
        size_t running = read->work == NULL ? running_of(queue, read) : SIZE_MAX;

        if (running < fewest) {
            fewest = running;
            next = read;
        }
    }
    return next;
}

/* ---- one read ---- */

static void run(struct weir_work *work, void *owner)
{
    struct queued_read *read = owner;

    (void)work;
    storage_reading_do(&read->reading, read->queue->serving->from->secret, read->asked.sums,
                       read->asked.compression);
}

static void end(struct queued_read *read)
{
    struct read_queue *queue = read->queue;
    size_t at = 0;

    while (queue->at[at] != read)
        at++;
    weir_quota_give(&queue->quota, read->key, 1);
    memmove(&queue->at[at], &queue->at[at + 1],
            (--queue->count - at) * sizeof(struct queued_read *));
    storage_reading_end(&read->reading);
    weir_arena_free(read->arena);
    free(read);
}

static void answer(struct queued_read *read)
{
    struct msg_read_is message;
    struct weir_frames frames = {.count = 0};

    storage_reading_tell(&read->reading, &read->asked, &message, &frames);
    message.spent_ns = weir_now_ns() - read->begun_ns;
    weir_rpc_reply(read->server, &read->route, MSG_read_is, &message, &frames);
    end(read);
}

static void start_next(struct read_queue *queue);

static void on_done(void *owner)
{
    struct queued_read *read = owner;
    struct read_queue *queue = read->queue;

    read->work = NULL;
    queue->running--;
    if (read->reading.epoch == storage_leases_epoch(queue->serving->leases))
        answer(read);
    else
        storage_reading_end(&read->reading); /* some of it may be erased: it is planned again */
    start_next(queue);
}

static enum weir_status start(struct queued_read *read, struct weir_error *err)
{
    struct read_queue *queue = read->queue;
    enum weir_status status;

    if (read->plans == READS_REPLANNED_MAX)
        return weir_fail(err, WEIR_UNAVAILABLE, "erasures came while it was read, %u times",
                         READS_REPLANNED_MAX);
    status = storage_reading_plan(queue->serving, &read->asked, read->arena, &read->reading, err);
    if (status == WEIR_OK)
        status = weir_work_start(queue->serving->store->loop, run, on_done, read, &read->work, err);
    if (status != WEIR_OK)
        return status;
    read->plans++;
    queue->running++;
    weir_work_hear_meanwhile(read->work);
    return WEIR_OK;
}

static void on_again(void *owner)
{
    struct read_queue *queue = owner;

    queue->again_timer = 0;
    start_next(queue);
}

/* Has reads started again once the statement that is waited for is over. Returns false when `status`, that of a read,
 * has another cause. */
static bool start_later(struct read_queue *queue, enum weir_status status)
{
    struct store *store = queue->serving->store;

    if (status != WEIR_UNAVAILABLE || !weir_db_is_waiting(store->db))
        return false;
    if (queue->again_timer == 0)
        queue->again_timer = weir_loop_timer(store->loop, 0, 0, on_again, queue);
    return true;
}

static void start_next(struct read_queue *queue)
{
    struct queued_read *next;
    struct weir_error err;

    while (queue->running < READ_THREADS && (next = next_of(queue)) != NULL) {
        enum weir_status status = start(next, &err);

        if (status == WEIR_OK)
            continue;
        if (start_later(queue, status))
            return;
        weir_rpc_refuse(next->server, &next->route, &err);
        end(next);
    }
}

/* ---- all ---- */

static bool is_waiting(const struct read_queue *queue, const struct weir_route *route)
{
    for (size_t i = 0; i < queue->count; i++) {
        if (weir_route_is_of_request(&queue->at[i]->route, route))
            return true;
    }
    return false;
}

/* A request that waits is copied: its length is checked before. */
static enum weir_status check(const struct read_queue *queue, const struct weir_request *request,
                              struct weir_error *err)
{
    uint64_t key = weir_rpc_quota_key(request);
    enum weir_status status = storage_reading_check(request->message, err);

    if (status != WEIR_OK || weir_quota_allows(&queue->quota, key, 1, READS_WAITING_MAX))
        return status;
    return weir_fail(err, WEIR_UNAVAILABLE,
                     "%zu reads of this key and %zu in all wait, of at most %d: one key leaves as "
                     "many to others as it has; asking again may succeed",
                     storage_read_queue_has(queue, key), queue->count, READS_WAITING_MAX);
}

void storage_read_queue_add(struct read_queue *queue, const struct weir_request *request)
{
    const struct msg_read *asked = request->message;
    uint64_t key = weir_rpc_quota_key(request);
    struct queued_read *read;
    struct weir_error err;

    if (is_waiting(queue, &request->route))
        return;
    if (check(queue, request, &err) != WEIR_OK) {
        weir_rpc_refuse(request->server, &request->route, &err);
        return;
    }
    weir_quota_take(&queue->quota, key, 1);
    read = weir_calloc(1, sizeof(*read));
    *read = (struct queued_read){.queue = queue,
                                 .server = request->server,
                                 .route = request->route,
                                 .key = key,
                                 .arena = weir_arena_new(),
                                 .asked = *asked,
                                 .begun_ns = weir_now_ns()};
    read->asked.ids.at =
        weir_arena_copy(read->arena, asked->ids.at, asked->ids.count * sizeof(uint64_t));
    read->asked.loan = weir_bytes(NULL, 0);
    queue->at[queue->count++] = read;
    start_next(queue);
}

size_t storage_read_queue_has(const struct read_queue *queue, uint64_t key)
{
    return weir_quota_has(&queue->quota, key);
}

struct read_queue *storage_read_queue_new(const struct serving *serving)
{
    struct read_queue *queue = weir_calloc(1, sizeof(*queue));

    queue->serving = serving;
    return queue;
}

void storage_read_queue_free(struct read_queue *queue)
{
    if (queue == NULL)
        return;
    weir_loop_cancel(queue->serving->store->loop, queue->again_timer);
    while (queue->count > 0) {
        weir_work_stop(queue->at[queue->count - 1]->work);
        end(queue->at[queue->count - 1]);
    }
    weir_quota_fini(&queue->quota);
    free(queue);
}
