/* Piece by piece: see s3_fetch.h. */
#include "storage/objects/s3_fetch.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "storage/objects/s3_call.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct s3_fetch {
    struct weir_loop *loop;
    struct s3_call *call;
    char *incoming;
    struct s3_fetch_job job; /* path NULL: idle */
    s3_fetched_fn *done;
    void *owner;
    uint64_t timer;

    int fd;    /* of the incoming file */
    int there; /* the file that is there, as long as it holds the same; else -1 */
    uint64_t fetched;
};

static void request_piece(struct s3_fetch *fetch);

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Keeps nothing of an object that was not put in its place. */
void storage_s3_fetch_drop(struct s3_fetch *fetch)
{
    if (fetch->fd >= 0)
        unlink(fetch->incoming);
    weir_loop_cancel(fetch->loop, fetch->timer);
    fetch->timer = 0;
    storage_s3_call_drop(fetch->call);
    close_fd(&fetch->fd);
    close_fd(&fetch->there);
    free(fetch->job.path);
    fetch->job.path = NULL;
}

static void end(struct s3_fetch *fetch, enum s3_fetched what, const char *why)
{
    const struct s3_object *object = fetch->job.object;

    storage_s3_fetch_drop(fetch);
    fetch->done(fetch->owner, object, what, why);
}

/* ---- in its place ---- */

static enum weir_status put_in_place(const struct s3_fetch *fetch, struct weir_error *err)
{
    const char *path = fetch->job.path;
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                      weir_mtime_of_us(fetch->job.object->modified_us)};
    WEIR_AUTO_FREE char *folder = weir_strdup(path);
    enum weir_status status;

    if (futimens(fetch->fd, times) < 0 || fsync(fetch->fd) < 0)
        return weir_fail(err, WEIR_IO, "%s: cannot write: %s", path, strerror(errno));
    *strrchr(folder, '/') = '\0';
    status = weir_make_directories(folder, 0700, err);
    if (status == WEIR_OK && rename(fetch->incoming, path) < 0)
        status =
            weir_fail(err, WEIR_IO, "%s: cannot put it in its place: %s", path, strerror(errno));
    return status;
}

static void end_whole(struct s3_fetch *fetch)
{
    struct weir_error err;

    if (fetch->there >= 0 || put_in_place(fetch, &err) == WEIR_OK)
        end(fetch, S3_FETCHED, NULL);
    else
        end(fetch, S3_FETCHED_NOTHING, err.text);
}

/* ---- pieces ---- */

/* True when the bytes that are there are the same so far. */
static bool is_as_there(const struct s3_fetch *fetch, struct weir_bytes piece)
{
    WEIR_AUTO_FREE uint8_t *there = weir_calloc(piece.size + 1, 1);

    return pread(fetch->there, there, piece.size, (off_t)fetch->fetched) == (ssize_t)piece.size &&
           memcmp(there, piece.at, piece.size) == 0;
}

static size_t piece_bytes(const struct s3_fetch *fetch)
{
    uint64_t left = fetch->job.object->size - fetch->fetched;

    return left < S3_PIECE_BYTES ? (size_t)left : S3_PIECE_BYTES;
}

static void take_piece(struct s3_fetch *fetch, struct weir_bytes piece)
{
    if (pwrite(fetch->fd, piece.at, piece.size, (off_t)fetch->fetched) != (ssize_t)piece.size) {
        end(fetch, S3_FETCHED_NOTHING, strerror(errno));
        return;
    }
    if (fetch->there >= 0 && !is_as_there(fetch, piece))
        close_fd(&fetch->there);
    fetch->fetched += piece.size;
    if (fetch->fetched < fetch->job.object->size)
        request_piece(fetch);
    else
        end_whole(fetch);
}

static void on_piece(void *owner, const struct s3_answer *answer, const struct weir_error *err)
{
    struct s3_fetch *fetch = owner;
    const struct weir_part asked = {fetch->fetched, piece_bytes(fetch), fetch->job.object->etag};
    char text[128];

    if (answer == NULL) {
        end(fetch, S3_FETCHED_NOTHING, err->text);
    } else if (answer->code == 404 || answer->code == 412) {
        end(fetch, S3_FETCHED_OTHER, NULL);
    } else if (answer->code != 206) {
        storage_s3_answer_describe(answer, 206, text);
        end(fetch, S3_FETCHED_NOTHING, text);
    } else if (!storage_s3_answer_is(answer, &asked, text)) {
        storage_s3_call_again(fetch->call, text);
    } else {
        take_piece(fetch, answer->body);
    }
}

static void request_piece(struct s3_fetch *fetch)
{
    const struct s3_piece piece = {.key = fetch->job.object->key,
                                   .etag = fetch->job.object->etag,
                                   .from = fetch->fetched,
                                   .to = fetch->fetched + piece_bytes(fetch) - 1};
    struct s3_sending sending = {.method = "GET", .bytes_max = S3_PIECE_BYTES, .tries = S3_TRIES};

    storage_s3_request_piece(fetch->job.remote, &piece, &sending.request);
    storage_s3_call_send(fetch->call, &sending, on_piece, fetch);
}

/* ---- the beginning ---- */

static int open_same_size(const char *path, uint64_t size)
{
    struct stat found;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd >= 0 &&
        (fstat(fd, &found) < 0 || !S_ISREG(found.st_mode) || (uint64_t)found.st_size != size))
        close_fd(&fd);
    return fd;
}

static void open_files(void *owner)
{
    struct s3_fetch *fetch = owner;
    struct weir_error err;

    fetch->timer = 0;
    fetch->fd = open(fetch->incoming, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    fetch->there = open_same_size(fetch->job.path, fetch->job.object->size);
    if (fetch->fd < 0) {
        weir_fail(&err, WEIR_IO, "%s: cannot create: %s", fetch->incoming, strerror(errno));
        end(fetch, S3_FETCHED_NOTHING, err.text);
    } else if (fetch->job.object->size == 0) {
        end_whole(fetch);
    } else {
        request_piece(fetch);
    }
}

void storage_s3_fetch_begin(struct s3_fetch *fetch, struct s3_fetch_job *job, s3_fetched_fn *done,
                            void *owner)
{
    weir_require(storage_s3_fetch_is_idle(fetch));
    fetch->job = *job;
    job->path = NULL;
    fetch->done = done;
    fetch->owner = owner;
    fetch->fetched = 0;
    fetch->timer = weir_loop_timer(fetch->loop, 0, 0, open_files, fetch);
}

bool storage_s3_fetch_is_idle(const struct s3_fetch *fetch)
{
    return fetch->job.path == NULL;
}

/* ---- life ---- */

struct s3_fetch *storage_s3_fetch_new(struct s3_transport *transport, char **incoming)
{
    struct s3_fetch *fetch = weir_calloc(1, sizeof(*fetch));

    fetch->loop = storage_s3_transport_loop(transport);
    fetch->call = storage_s3_call_new(transport);
    fetch->incoming = WEIR_TAKE(*incoming);
    fetch->fd = fetch->there = -1;
    unlink(fetch->incoming); /* a death may have left it */
    return fetch;
}

void storage_s3_fetch_free(struct s3_fetch *fetch)
{
    if (fetch == NULL)
        return;
    storage_s3_fetch_drop(fetch);
    storage_s3_call_free(fetch->call);
    free(fetch->incoming);
    free(fetch);
}
