/* Handlers of the messages that storage answers; the table is at the end. A failed statement leaves no doubt about what
 * was committed: only commits do, and whoever commits says so. */
#include "storage/erasure/erasure_steps.h"
#include "storage/feed/feed.h"
#include "storage/reading/grants.h"
#include "storage/reading/tenancy.h"
#include "storage/storage.h"

/* ---- answers that are computed ---- */

static enum weir_status examine(struct storage *storage, const struct msg_doctor_request *asked,
                                struct weir_arena *arena, struct msg_doctor_is *answer,
                                struct weir_error *err)
{
    const struct examined examined = {
        .store = &storage->store, .sums = storage->sums, .leases = storage->leases};

    return storage_doctor_report(&storage->doctor, &examined, asked, arena, answer, err);
}

static enum weir_status locate(struct storage *storage, const struct weir_request *request,
                               struct msg_located *answer, struct weir_error *err)
{
    const struct msg_locate *asked = request->message;
    struct weir_arena *arena = request->arena;
    enum weir_status status =
        storage_tenancy_check(storage->store.catalog, weir_rpc_sender(request), &asked->ids, err);

    if (status != WEIR_OK)
        return status;
    if (storage_rows_are_lent(&asked->ids))
        return storage_lent_locate(storage->lent, asked, arena, answer, err);
    return storage_locate(&storage->serving, asked, arena, answer, err);
}

static enum weir_status locate_chunks(struct storage *storage, const struct weir_request *request,
                                      struct msg_located_chunks *answer, struct weir_frames *frames,
                                      struct weir_error *err)
{
    const struct msg_locate_chunks *asked = request->message;
    const struct weir_sender *sender = weir_rpc_sender(request);
    const struct catalog *catalog = storage->store.catalog;
    enum weir_status status = storage_tenancy_check(catalog, sender, &asked->ids, err);

    if (status == WEIR_OK)
        status = storage_tenancy_check_datasets(catalog, sender, &asked->datasets, err);
    return status == WEIR_OK ? storage_locate_chunks(&storage->serving, asked, request->arena,
                                                     answer, frames, err)
                             : status;
}

static enum weir_status grant(struct storage *storage, const struct weir_request *request,
                              struct msg_granted *answer, struct weir_error *err)
{
    const struct msg_grant *asked = request->message;
    enum weir_status status =
        storage_tenancy_check(storage->store.catalog, weir_rpc_sender(request), &asked->ids, err);

    return status == WEIR_OK ? storage_grant(&storage->serving, asked, request->arena, answer, err)
                             : status;
}

static enum weir_status lend(struct storage *storage, struct weir_request *request,
                             struct msg_rows_lent *answer, struct weir_error *err)
{
    const struct msg_rows_lend *asked = request->message;
    enum weir_status status = storage_tenancy_check_named(
        storage->store.catalog, weir_rpc_sender(request), asked->dataset, err);

    return status == WEIR_OK ? storage_rows_lend(storage->lent, request, answer, err) : status;
}

#define ANSWERED(request, answer, ...) WEIR_ANSWERED(struct storage, request, answer, __VA_ARGS__)
#define STORE                          (&owner->store)
#define ERASER                         (&owner->eraser)

// clang-format off
ANSWERED(dataset_declare, dataset_declared, storage_declare(owner, asked, arena, answer, err))
ANSWERED(dataset_request, dataset_is, storage_describe(owner, asked, arena, answer, err))

ANSWERED(feed_read, feed_is, storage_feed_read(STORE, asked, arena, answer, err))
ANSWERED(feed_end, feed_ended, storage_feed_end(STORE, asked, answer, err))
ANSWERED(feed_request, feed_readers, storage_feed_describe(STORE, asked, arena, answer, err))
ANSWERED(replay_read, replay_is, storage_replay_read(owner->replays, asked, arena, answer, err))

ANSWERED(columns_read, columns_is, storage_columns_read(STORE, asked, arena, answer, err))
ANSWERED(list, list_is, storage_list(STORE, asked, arena, answer, frames, err))
ANSWERED(locate, located, locate(owner, weir_request, answer, err))
ANSWERED(locate_chunks, located_chunks, locate_chunks(owner, weir_request, answer, frames, err))
ANSWERED(grant, granted, grant(owner, weir_request, answer, err))
ANSWERED(authority, authority_is, storage_authority(&owner->serving, asked, answer, err))

ANSWERED(erase_request, erase_is, storage_erase_describe(ERASER, asked, arena, answer, err))
ANSWERED(erase_progress_request, erase_progress,
         storage_erase_progress(STORE, asked, arena, answer, err))
ANSWERED(erase_samples_request, erase_samples, storage_erase_samples(STORE, asked, arena, answer, err))
ANSWERED(erase_reports_request, erase_reports, storage_erase_reports(STORE, asked, arena, answer, err))
ANSWERED(erase_check, erase_checked, storage_erase_check(ERASER, asked, answer, err))
ANSWERED(erase_troubles_request, erase_troubles, storage_erasure_troubles(ERASER, arena, answer, err))
ANSWERED(erase_scrubbed_request, erase_scrubbed,
         (storage_erase_scrubbed(ERASER, arena, answer), WEIR_OK))
ANSWERED(find, found, storage_erase_find(STORE, asked, arena, answer, err))

ANSWERED(rows_lend, rows_lent, lend(owner, weir_request, answer, err))

ANSWERED(doctor_request, doctor_is, examine(owner, asked, arena, answer, err))
// clang-format on

/* ---- others ---- */

/* Memory that is lent is this host's: what somebody elsewhere names would be another's. */
static void drop_loan(struct weir_request *request)
{
    struct msg_read *asked = weir_arena_copy(request->arena, request->message, sizeof(*asked));

    asked->loan = weir_bytes(NULL, 0);
    request->message = asked;
}

/* Answers from threads, unless it is quick: for rows that are lent, readers that lend memory, and bytes that have come
 * from a bucket. */
static enum weir_status read_now(struct storage *storage, struct weir_request *request,
                                 bool *ret_is_queued, struct msg_read_is *answer,
                                 struct weir_frames *frames, struct weir_error *err)
{
    const struct msg_read *asked = request->message;

    *ret_is_queued = false;
    if (storage_rows_are_lent(&asked->ids))
        return storage_lent_read(storage->lent, asked, request->arena, answer, frames, err);
    *ret_is_queued = asked->loan.size == 0 && !storage_reads_objects(&storage->store, &asked->ids);
    if (!*ret_is_queued)
        return storage_read(&storage->serving, asked, request->arena, answer, frames, err);
    storage_read_queue_add(storage->read_queue, request);
    return WEIR_OK;
}

static bool may_read(struct storage *storage, struct weir_request *request)
{
    const struct msg_read *asked = request->message;
    struct weir_error err;

    if (weir_rpc_quota_key(request) != 0)
        drop_loan(request);
    if (storage_tenancy_check(storage->store.catalog, weir_rpc_sender(request), &asked->ids,
                              &err) == WEIR_OK)
        return true;
    weir_rpc_refuse(request->server, &request->route, &err);
    return false;
}

/* Answers a read in a bucket when its bytes have come. */
static void on_read(void *owner, struct weir_request *request)
{
    struct storage *storage = owner;
    struct msg_read_is message = {0};
    struct weir_frames frames = {.count = 0};
    struct weir_error err;
    const struct msg_read *asked = request->message;
    bool is_queued;
    enum weir_status status;

    if (!may_read(storage, request) ||
        (!storage_rows_are_lent(&asked->ids) && storage_read_later(storage->late_reads, request)))
        return;
    status = read_now(storage, request, &is_queued, &message, &frames, &err);
    if (!is_queued)
        weir_rpc_answer(request, status, MSG_read_is, &message, &frames, &err);
}

static void on_dataset_remove(void *owner, struct weir_request *request)
{
    struct weir_error err;
    enum weir_status status = storage_dataset_remove(owner, request->message, &err);

    weir_rpc_answer(request, status, MSG_dataset_removed, NULL, NULL, &err);
}

static void on_hold(void *owner, struct weir_request *request)
{
    struct storage *storage = owner;

    storage_hold(&storage->eraser, request);
}

static void on_hold_end(void *owner, struct weir_request *request)
{
    struct storage *storage = owner;

    storage_hold_end(&storage->eraser, request);
}

/* Answered when it is durable. */
static void on_erase_accept(void *owner, struct weir_request *request)
{
    struct storage *storage = owner;

    storage_accept(&storage->eraser, request);
}

static void on_erase_search(void *owner, struct weir_request *request)
{
    struct storage *storage = owner;

    storage_erase_search(&storage->eraser, request->message);
    weir_rpc_reply(request->server, &request->route, MSG_erase_search_noted, NULL, NULL);
}

/* Answered when its samples are on disk. */
static void on_push(void *owner, struct weir_request *request)
{
    struct storage *storage = owner;
    const struct msg_push *asked = request->message;
    struct weir_error err;

    if (storage_tenancy_check_named(storage->store.catalog, weir_rpc_sender(request),
                                    asked->dataset, &err) == WEIR_OK)
        storage_push(storage->pushes, request);
    else
        weir_rpc_refuse(request->server, &request->route, &err);
}

static void on_rows_return(void *owner, struct weir_request *request)
{
    struct storage *storage = owner;

    storage_rows_return(storage->lent, request);
    weir_rpc_reply(request->server, &request->route, MSG_rows_returned, NULL, NULL);
}

static void on_rows_claim(void *owner, struct weir_request *request)
{
    struct storage *storage = owner;
    struct weir_error err;
    enum weir_status status = storage_rows_claim(storage->lent, request->message, &err);

    weir_rpc_answer(request, status, MSG_rows_claimed, NULL, NULL, &err);
}

/* ---- while a statement is waited for ---- */

/* False for an answer that needs a statement itself, which is UNAVAILABLE. */
static bool answer_if_known(struct weir_request *request, enum weir_status status,
                            enum weir_message type, const void *message, struct weir_frames *frames,
                            const struct weir_error *err)
{
    if (status != WEIR_UNAVAILABLE)
        weir_rpc_answer(request, status, type, message, frames, err);
    else if (frames != NULL)
        weir_frames_clear(frames);
    return status != WEIR_UNAVAILABLE;
}

static bool locate_meanwhile(struct storage *storage, struct weir_request *request)
{
    struct msg_located answer = {0};
    struct weir_error err;
    enum weir_status status = locate(storage, request, &answer, &err);

    return answer_if_known(request, status, MSG_located, &answer, NULL, &err);
}

static bool locate_chunks_meanwhile(struct storage *storage, struct weir_request *request)
{
    struct msg_located_chunks answer = {0};
    struct weir_frames frames = {.count = 0};
    struct weir_error err;
    enum weir_status status = locate_chunks(storage, request, &answer, &frames, &err);

    return answer_if_known(request, status, MSG_located_chunks, &answer, &frames, &err);
}

/* Reads of files alone: the bytes of buckets come by what may be waiting. */
static bool read_meanwhile(struct storage *storage, struct weir_request *request)
{
    struct msg_read_is message = {0};
    struct weir_frames frames = {.count = 0};
    struct weir_error err;
    const struct msg_read *asked = request->message;
    bool is_queued;
    enum weir_status status;

    if (storage_reads_objects(&storage->store, &asked->ids))
        return false;
    if (!may_read(storage, request))
        return true;
    status = read_now(storage, request, &is_queued, &message, &frames, &err);
    return is_queued || answer_if_known(request, status, MSG_read_is, &message, &frames, &err);
}

bool storage_meanwhile(void *state, struct weir_request *request)
{
    switch (request->type) {
    case MSG_hold:
        on_hold(state, request);
        return true;
    case MSG_hold_end:
        on_hold_end(state, request);
        return true;
    case MSG_locate:
        return locate_meanwhile(state, request);
    case MSG_locate_chunks:
        return locate_chunks_meanwhile(state, request);
    case MSG_read:
        return read_meanwhile(state, request);
    default:
        return false;
    }
}

const struct weir_rpc_handler STORAGE_HANDLERS[] = {
    WEIR_ON(dataset_declare, on_dataset_declare),
    WEIR_ON(dataset_remove, on_dataset_remove),
    WEIR_ON(dataset_request, on_dataset_request),
    WEIR_ON(feed_read, on_feed_read),
    WEIR_ON(feed_end, on_feed_end),
    WEIR_ON(feed_request, on_feed_request),
    WEIR_ON(doctor_request, on_doctor_request),
    WEIR_ON(columns_read, on_columns_read),
    WEIR_ON(replay_read, on_replay_read),
    WEIR_ON(locate, on_locate),
    WEIR_ON(locate_chunks, on_locate_chunks),
    WEIR_ON(read, on_read),
    WEIR_ON(grant, on_grant),
    WEIR_ON(authority, on_authority),
    WEIR_ON(list, on_list),
    WEIR_ON(hold, on_hold),
    WEIR_ON(hold_end, on_hold_end),
    WEIR_ON(erase_accept, on_erase_accept),
    WEIR_ON(erase_request, on_erase_request),
    WEIR_ON(erase_progress_request, on_erase_progress_request),
    WEIR_ON(erase_samples_request, on_erase_samples_request),
    WEIR_ON(erase_reports_request, on_erase_reports_request),
    WEIR_ON(erase_check, on_erase_check),
    WEIR_ON(erase_troubles_request, on_erase_troubles_request),
    WEIR_ON(erase_scrubbed_request, on_erase_scrubbed_request),
    WEIR_ON(erase_search, on_erase_search),
    WEIR_ON(push, on_push),
    WEIR_ON(find, on_find),
    WEIR_ON(rows_lend, on_rows_lend),
    WEIR_ON(rows_return, on_rows_return),
    WEIR_ON(rows_claim, on_rows_claim),
    {MSG_none, NULL},
};
