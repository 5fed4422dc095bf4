/* One function per message that storage answers; the table is at the end. */
#include "core/base/clock.h"
#include "storage/erasure/erasing.h"
#include "storage/feed/feed.h"
#include "storage/storage.h"

/* The answer, or why there is none. A failed statement leaves no doubt about what was committed: only
 * commits do, and whoever commits says so. */
static void answer(struct weir_request *request, enum weir_message type, const void *message,
                   enum weir_status status, const struct weir_error *err)
{
    if (status == WEIR_OK)
        weir_rpc_reply(request->server, &request->route, type, message, NULL);
    else
        weir_rpc_refuse(request->server, &request->route, err);
}

static struct store *store_of(void *owner)
{
    return &((struct storage *)owner)->store;
}

static const struct serving *serving_of(const void *owner)
{
    return &((const struct storage *)owner)->serving;
}

static struct eraser *eraser_of(void *owner)
{
    return &((struct storage *)owner)->eraser;
}

static void on_dataset_declare(void *owner, struct weir_request *request)
{
    struct msg_dataset_declared message = {0};
    struct weir_error err;
    enum weir_status status =
        storage_declare(owner, request->message, request->arena, &message, &err);

    answer(request, MSG_dataset_declared, &message, status, &err);
}

static void on_dataset_ask(void *owner, struct weir_request *request)
{
    struct msg_dataset_is message = {0};
    struct weir_error err;
    enum weir_status status =
        storage_describe(owner, request->message, request->arena, &message, &err);

    answer(request, MSG_dataset_is, &message, status, &err);
}

static void on_feed_read(void *owner, struct weir_request *request)
{
    struct msg_feed_is message = {0};
    struct weir_error err;
    enum weir_status status =
        storage_feed_read(store_of(owner), request->message, request->arena, &message, &err);

    answer(request, MSG_feed_is, &message, status, &err);
}

static void on_feed_end(void *owner, struct weir_request *request)
{
    struct msg_feed_ended message = {0};
    struct weir_error err;
    enum weir_status status = storage_feed_end(store_of(owner), request->message, &message, &err);

    answer(request, MSG_feed_ended, &message, status, &err);
}

static void on_feed_ask(void *owner, struct weir_request *request)
{
    struct msg_feed_readers message = {0};
    struct weir_error err;
    enum weir_status status =
        storage_feed_ask(store_of(owner), request->message, request->arena, &message, &err);

    answer(request, MSG_feed_readers, &message, status, &err);
}

static void on_doctor_ask(void *owner, struct weir_request *request)
{
    struct storage *storage = owner;
    const struct examined examined = {
        .store = &storage->store, .sums = storage->sums, .leases = storage->leases};
    struct msg_doctor_is message = {.doing = ""};
    struct weir_error err;
    enum weir_status status = storage_doctor_ask(&storage->doctor, &examined, request->message,
                                                 request->arena, &message, &err);

    answer(request, MSG_doctor_is, &message, status, &err);
}

static void on_columns_read(void *owner, struct weir_request *request)
{
    struct msg_columns_is message = {0};
    struct weir_error err;
    enum weir_status status =
        storage_columns_read(store_of(owner), request->message, request->arena, &message, &err);

    answer(request, MSG_columns_is, &message, status, &err);
}

static void on_replay_read(void *owner, struct weir_request *request)
{
    struct msg_replay_is message = {0};
    struct weir_error err;
    enum weir_status status = storage_replay_read(((struct storage *)owner)->replays,
                                                  request->message, request->arena, &message, &err);

    answer(request, MSG_replay_is, &message, status, &err);
}

static void on_locate(void *owner, struct weir_request *request)
{
    struct msg_located message = {0};
    struct weir_error err;
    enum weir_status status =
        storage_locate(serving_of(owner), request->message, request->arena, &message, &err);

    answer(request, MSG_located, &message, status, &err);
}

static void on_locate_chunks(void *owner, struct weir_request *request)
{
    struct msg_located_chunks message = {0};
    struct weir_frames frames = {.count = 0};
    struct weir_error err;
    enum weir_status status = storage_locate_chunks(serving_of(owner), request->message,
                                                    request->arena, &message, &frames, &err);

    if (status == WEIR_OK)
        weir_rpc_reply(request->server, &request->route, MSG_located_chunks, &message, &frames);
    else
        weir_rpc_refuse(request->server, &request->route, &err);
}

static void on_read(void *owner, struct weir_request *request)
{
    struct storage *storage = owner;
    struct msg_read_is message = {0};
    struct weir_frames frames = {.count = 0};
    struct weir_error err;
    enum weir_status status;

    if (storage_read_later(storage->late_reads, request))
        return;
    status =
        storage_read(&storage->serving, request->message, request->arena, &message, &frames, &err);
    if (status == WEIR_OK)
        weir_rpc_reply(request->server, &request->route, MSG_read_is, &message, &frames);
    else
        weir_rpc_refuse(request->server, &request->route, &err);
}

static void on_list(void *owner, struct weir_request *request)
{
    struct msg_list_is message = {0};
    struct weir_frames frames = {.count = 0};
    struct weir_error err;
    enum weir_status status =
        storage_list(store_of(owner), request->message, request->arena, &message, &frames, &err);

    if (status == WEIR_OK)
        weir_rpc_reply(request->server, &request->route, MSG_list_is, &message, &frames);
    else
        weir_rpc_refuse(request->server, &request->route, &err);
}

static void on_hold(void *owner, struct weir_request *request)
{
    storage_hold(eraser_of(owner), request);
}

static void on_hold_end(void *owner, struct weir_request *request)
{
    struct storage *storage = owner;
    const struct msg_hold_end *asked = request->message;

    storage_leases_hold_end(storage->leases, asked->session, weir_now_ms());
    storage_pump(&storage->store);
}

/* Answered when it is durable. */
static void on_erase_accept(void *owner, struct weir_request *request)
{
    storage_accept(eraser_of(owner), request);
}

static void on_erase_ask(void *owner, struct weir_request *request)
{
    struct msg_erase_is message = {0};
    struct weir_error err;
    enum weir_status status =
        storage_erase_ask(eraser_of(owner), request->message, request->arena, &message, &err);

    answer(request, MSG_erase_is, &message, status, &err);
}

static void on_erase_progress_ask(void *owner, struct weir_request *request)
{
    struct msg_erase_progress message = {0};
    struct weir_error err;
    enum weir_status status =
        storage_erase_progress(store_of(owner), request->message, request->arena, &message, &err);

    answer(request, MSG_erase_progress, &message, status, &err);
}

static void on_erase_samples_ask(void *owner, struct weir_request *request)
{
    struct msg_erase_samples message = {0};
    struct weir_error err;
    enum weir_status status =
        storage_erase_samples(store_of(owner), request->message, request->arena, &message, &err);

    answer(request, MSG_erase_samples, &message, status, &err);
}

static void on_erase_reports_ask(void *owner, struct weir_request *request)
{
    struct msg_erase_reports message = {0};
    struct weir_error err;
    enum weir_status status =
        storage_erase_reports(store_of(owner), request->message, request->arena, &message, &err);

    answer(request, MSG_erase_reports, &message, status, &err);
}

static void on_erase_check(void *owner, struct weir_request *request)
{
    struct msg_erase_checked message = {0};
    struct weir_error err;
    enum weir_status status =
        storage_erase_check(eraser_of(owner), request->message, &message, &err);

    answer(request, MSG_erase_checked, &message, status, &err);
}

static void on_erase_scrubbed_ask(void *owner, struct weir_request *request)
{
    struct msg_erase_scrubbed message = {0};

    storage_erase_scrubbed(eraser_of(owner), request->arena, &message);
    answer(request, MSG_erase_scrubbed, &message, WEIR_OK, NULL);
}

static void on_erase_search(void *owner, struct weir_request *request)
{
    storage_erase_search(eraser_of(owner), request->message);
    answer(request, MSG_erase_search_noted, NULL, WEIR_OK, NULL);
}

static void on_erase_troubles_ask(void *owner, struct weir_request *request)
{
    struct msg_erase_troubles message = {0};
    struct weir_error err;
    enum weir_status status =
        storage_erasing_troubles(eraser_of(owner), request->arena, &message, &err);

    answer(request, MSG_erase_troubles, &message, status, &err);
}

/* Answered when its samples are on disk. */
static void on_push(void *owner, struct weir_request *request)
{
    storage_push(((struct storage *)owner)->pushes, request);
}

static void on_find(void *owner, struct weir_request *request)
{
    struct msg_found message = {0};
    struct weir_error err;
    enum weir_status status =
        storage_erase_find(store_of(owner), request->message, request->arena, &message, &err);

    answer(request, MSG_found, &message, status, &err);
}

const struct weir_rpc_handler STORAGE_HANDLERS[] = {
    WEIR_ON(dataset_declare, on_dataset_declare),
    WEIR_ON(dataset_ask, on_dataset_ask),
    WEIR_ON(feed_read, on_feed_read),
    WEIR_ON(feed_end, on_feed_end),
    WEIR_ON(feed_ask, on_feed_ask),
    WEIR_ON(doctor_ask, on_doctor_ask),
    WEIR_ON(columns_read, on_columns_read),
    WEIR_ON(replay_read, on_replay_read),
    WEIR_ON(locate, on_locate),
    WEIR_ON(locate_chunks, on_locate_chunks),
    WEIR_ON(read, on_read),
    WEIR_ON(list, on_list),
    WEIR_ON(hold, on_hold),
    WEIR_ON(hold_end, on_hold_end),
    WEIR_ON(erase_accept, on_erase_accept),
    WEIR_ON(erase_ask, on_erase_ask),
    WEIR_ON(erase_progress_ask, on_erase_progress_ask),
    WEIR_ON(erase_samples_ask, on_erase_samples_ask),
    WEIR_ON(erase_reports_ask, on_erase_reports_ask),
    WEIR_ON(erase_check, on_erase_check),
    WEIR_ON(erase_troubles_ask, on_erase_troubles_ask),
    WEIR_ON(erase_scrubbed_ask, on_erase_scrubbed_ask),
    WEIR_ON(erase_search, on_erase_search),
    WEIR_ON(push, on_push),
    WEIR_ON(find, on_find),
    {MSG_none, NULL},
};
