/* Hashing, then a PUT: see s3_write.h. */
#include "storage/objects/s3_write.h"

#include "core/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HASH_STEP_BYTES = 512 << 10, ANSWER_BYTES_MAX = 64 << 10, NOT_IMPLEMENTED = 501 };

struct s3_write {
    struct weir_loop *loop;
    struct s3_call *call;
    struct s3_write_job job;
    s3_done_fn *done;
    void *owner;

    struct s3_upload upload; /* fd -1: nothing is under way */
    uint64_t hashed;
    crypto_hash_sha256_state hash;
    char sha256[2 * crypto_hash_sha256_BYTES + 1];
    bool is_conditional;
    uint64_t timer;
};

static void rest(struct s3_write *write)
{
    if (write->upload.fd >= 0)
        close(write->upload.fd);
    write->upload.fd = -1;
}

static void give_up(struct s3_write *write, const struct weir_error *err)
{
    rest(write);
    write->done(write->owner, NULL, err);
}

/* ---- sending ---- */

static void on_answer(void *owner, const struct s3_answer *answer, const struct weir_error *err);

static void send(struct s3_write *write)
{
    const struct s3_writing writing = {.key = write->job.key,
                                       .etag = write->is_conditional ? write->job.etag : NULL,
                                       .sha256 = write->sha256,
                                       .also = write->job.also};
    struct s3_sending sending = {.method = "PUT",
                                 .bytes_max = ANSWER_BYTES_MAX,
                                 .tries = S3_ERASE_TRIES,
                                 .upload = &write->upload};

    storage_s3_request_write(write->job.remote, &writing, &sending.request);
    storage_s3_call_send(write->call, &sending, on_answer, write);
}

static void on_answer(void *owner, const struct s3_answer *answer, const struct weir_error *err)
{
    struct s3_write *write = owner;

    if (answer != NULL && answer->code == NOT_IMPLEMENTED && write->is_conditional) {
        write->is_conditional = false;
        send(write);
        return;
    }
    rest(write);
    write->done(write->owner, answer, err);
}

/* ---- hashing ---- */

static enum weir_status hash_piece(struct s3_write *write, struct weir_error *err)
{
    WEIR_AUTO_FREE uint8_t *piece = weir_calloc(1, HASH_STEP_BYTES);
    ssize_t got = pread(write->upload.fd, piece, HASH_STEP_BYTES, (off_t)write->hashed);

    if (got < 0)
        return weir_fail(err, WEIR_IO, "the mirrored file cannot be read: %s", strerror(errno));
    if (got == 0)
        return weir_fail(err, WEIR_IO,
                         "the mirrored file was cut while it was read: found at most %" PRIu64
                         " bytes, expected %" PRIu64,
                         write->hashed, write->upload.size);
    crypto_hash_sha256_update(&write->hash, piece, (size_t)got);
    write->hashed += (uint64_t)got;
    return WEIR_OK;
}

static void hash_on(void *owner)
{
    struct s3_write *write = owner;
    uint8_t hash[crypto_hash_sha256_BYTES];
    struct weir_error err;

    write->timer = 0;
    if (write->hashed < write->upload.size && hash_piece(write, &err) != WEIR_OK) {
        give_up(write, &err);
        return;
    }
    if (write->hashed < write->upload.size) {
        write->timer = weir_loop_timer(write->loop, 0, 0, hash_on, write);
        return;
    }
    crypto_hash_sha256_final(&write->hash, hash);
    weir_hex(hash, sizeof(hash), write->sha256);
    send(write);
}

static void open_file(void *owner)
{
    struct s3_write *write = owner;
    struct weir_error err;
    struct stat found;

    write->timer = 0;
    write->upload.fd = open(write->job.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (write->upload.fd < 0 || fstat(write->upload.fd, &found) < 0) {
        weir_fail(&err, WEIR_IO, "the mirrored file cannot be opened: %s", strerror(errno));
        give_up(write, &err);
        return;
    }
    write->upload.size = (uint64_t)found.st_size;
    if (write->upload.size > S3_WRITE_BYTES_MAX) {
        weir_fail(&err, WEIR_LIMIT,
                  "it has %" PRIu64 " bytes, and only up to %" PRIu64
                  " can be rewritten at once: rewrite it there as smaller objects, or delete it",
                  write->upload.size, S3_WRITE_BYTES_MAX);
        give_up(write, &err);
        return;
    }
    hash_on(write);
}

void storage_s3_write_begin(struct s3_write *write, const struct s3_write_job *job,
                            s3_done_fn *done, void *owner)
{
    weir_require(write->upload.fd < 0);
    write->job = *job;
    write->done = done;
    write->owner = owner;
    write->is_conditional = true;
    write->hashed = 0;
    crypto_hash_sha256_init(&write->hash);
    write->timer = weir_loop_timer(write->loop, 0, 0, open_file, write);
}

/* ---- life ---- */

struct s3_write *storage_s3_write_new(struct s3_transport *transport)
{
    struct s3_write *write = weir_calloc(1, sizeof(*write));

    write->loop = storage_s3_transport_loop(transport);
    write->call = storage_s3_call_new(transport);
    write->upload.fd = -1;
    return write;
}

void storage_s3_write_free(struct s3_write *write)
{
    if (write == NULL)
        return;
    weir_loop_cancel(write->loop, write->timer);
    storage_s3_call_free(write->call);
    rest(write);
    free(write);
}
