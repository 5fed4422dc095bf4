/* See bucket.h. */
#include "storage/preview/bucket.h"

#include "storage/objects/s3_call.h"

#include <stdlib.h>

enum { TRIES = 2, STEP_MS = 1000 };

struct bucket {
    struct s3_remote remote;
    struct weir_loop *loop;
    struct s3_transport *transport;
    struct s3_call *call;
    struct weir_arena *arena; /* of the page */
    struct s3_page page;

    /* Of the request that is under way. */
    bool is_answered;
    long expected; /* HTTP status */
    struct weir_buf *body;
    struct weir_error *err;
    enum weir_status status;
};

/* ---- requests ---- */

static void on_answer(void *owner, const struct s3_answer *answer, const struct weir_error *problem)
{
    struct bucket *bucket = owner;
    char text[128];

    bucket->is_answered = true;
    if (answer == NULL) {
        bucket->status = weir_fail(bucket->err, problem->status, "%s", problem->text);
    } else if (answer->code != bucket->expected) {
        storage_s3_answer_describe(answer, bucket->expected, text);
        bucket->status = weir_fail(
            bucket->err, storage_s3_answer_is_passing(answer) ? WEIR_UNAVAILABLE : WEIR_DENIED,
            "%s", text);
    } else {
        weir_buf_clear(bucket->body);
        weir_buf_append(bucket->body, answer->body.at, answer->body.size);
        bucket->status = WEIR_OK;
    }
}

/* Waits for the answer, which comes: a connection that stands still is given up. */
static enum weir_status request(struct bucket *bucket, struct s3_sending *sending,
                                struct weir_buf *body, struct weir_error *err)
{
    sending->method = "GET";
    sending->tries = TRIES;
    bucket->is_answered = false;
    bucket->body = body;
    bucket->err = err;
    storage_s3_call_send(bucket->call, sending, on_answer, bucket);
    while (!bucket->is_answered)
        weir_loop_step(bucket->loop, STEP_MS);
    return bucket->status;
}

enum weir_status storage_bucket_list(struct bucket *bucket, const struct s3_page **ret_page,
                                     struct weir_error *err)
{
    struct s3_sending sending = {.bytes_max = S3_PAGE_BYTES_MAX};
    WEIR_AUTO_BUF xml = {0};
    enum weir_status status;

    bucket->expected = 200;
    storage_s3_request_list(&bucket->remote, NULL, &sending.request);
    status = request(bucket, &sending, &xml, err);
    if (status == WEIR_OK)
        status =
            storage_s3_page_read(weir_buf_view(&xml), bucket->arena, &bucket->page, err) == WEIR_OK
                ? WEIR_OK
                : WEIR_DENIED;
    *ret_page = &bucket->page;
    return status;
}

enum weir_status storage_bucket_read(struct bucket *bucket, const struct s3_object *object,
                                     uint64_t bytes_max, struct weir_buf *beginning,
                                     struct weir_error *err)
{
    uint64_t size = object->size < bytes_max ? object->size : bytes_max;
    const struct s3_piece piece = {.key = object->key, .etag = object->etag, .to = size - 1};
    struct s3_sending sending = {.bytes_max = size};

    weir_buf_clear(beginning);
    if (size == 0)
        return WEIR_OK;
    bucket->expected = 206;
    storage_s3_request_piece(&bucket->remote, &piece, &sending.request);
    return request(bucket, &sending, beginning, err);
}

/* ---- life ---- */

enum weir_status storage_bucket_open(const struct s3_source *source, struct bucket **ret_bucket,
                                     struct weir_error *err)
{
    struct s3_remote remote;
    struct bucket *bucket;

    if (storage_s3_remote_open(source, &remote, err) != WEIR_OK)
        return err->status;
    bucket = weir_calloc(1, sizeof(*bucket));
    bucket->remote = remote;
    bucket->loop = weir_loop_new();
    bucket->transport = storage_s3_transport_new(bucket->loop);
    bucket->call = storage_s3_call_new(bucket->transport);
    bucket->arena = weir_arena_new();
    *ret_bucket = bucket;
    return WEIR_OK;
}

void storage_bucket_close(struct bucket *bucket)
{
    if (bucket == NULL)
        return;
    storage_s3_call_free(bucket->call);
    storage_s3_transport_free(bucket->transport);
    weir_loop_free(bucket->loop);
    weir_arena_free(bucket->arena);
    storage_s3_remote_close(&bucket->remote);
    free(bucket);
}

const char *storage_bucket_name(const struct bucket *bucket)
{
    return bucket->remote.name;
}

const char *storage_bucket_path(const struct bucket *bucket, const char *key)
{
    return storage_s3_remote_name(&bucket->remote, key);
}
