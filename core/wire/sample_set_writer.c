/* Writes sample set files piece by piece; the layout is in sample_set.h. */
#include "core/base/file.h"
#include "core/base/full_disk.h"
#include "core/wire/sample_set.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char MAGIC[] = {'W', 'E', 'I', 'R', 'S', 'E', 'T', '1'};

struct weir_sample_set_writer {
    char *path; /* PATH.tmp */
    int fd;
    uint64_t count;
    const float *weights;
    struct weir_epoch_parts parts;
    uint64_t added;
    uint64_t last; /* id that was added last */
    uint64_t *ids; /* of the running sum, not written yet */
    size_t held;
    uint64_t at; /* where the file goes on */
    struct weir_hasher *hasher;
    struct weir_buf sums;
};

static enum weir_status fail_errno(const struct weir_sample_set_writer *writer, const char *doing,
                                   struct weir_error *err)
{
    int code = errno;
    return weir_fail(err, WEIR_IO, "%s: cannot %s: %s%s", writer->path, doing, strerror(code),
                     weir_disk_advice(code));
}

static enum weir_status write_at(struct weir_sample_set_writer *writer, uint64_t at,
                                 const void *bytes, size_t size, struct weir_error *err)
{
    for (size_t done = 0; done < size;) {
        ssize_t wrote =
            pwrite(writer->fd, (const uint8_t *)bytes + done, size - done, (off_t)(at + done));
        if (wrote < 0 && errno != EINTR)
            return fail_errno(writer, "write", err);
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    return WEIR_OK;
}

/* Writes bytes that one sum covers. The kernel begins to write them out now, so that little is left for the fsync. */
static enum weir_status write_block(struct weir_sample_set_writer *writer, const void *bytes,
                                    size_t size, struct weir_error *err)
{
    uint8_t sum[sizeof(uint64_t)];
    weir_put_u64(sum, weir_hash64(weir_bytes(bytes, size), 0));
    weir_buf_append(&writer->sums, sum, sizeof(sum));
    weir_hasher_add(writer->hasher, bytes, size);
    enum weir_status status = write_at(writer, writer->at, bytes, size, err);
    (void)sync_file_range(writer->fd, (off_t)writer->at, (off_t)size,
                          SYNC_FILE_RANGE_WRITE); /* a hint */
    writer->at += size;
    return status;
}

static bool all_are_one(const float *weights, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (weights[i] != 1)
            return false;
    }
    return true;
}

enum weir_status weir_sample_set_begin(const char *path, uint64_t count, const float *weights,
                                       struct weir_sample_set_writer **ret_writer,
                                       struct weir_error *err)
{
    WEIR_AUTO(weir_sample_set_writer) writer = weir_calloc(1, sizeof(*writer));
    uint8_t head[12];
    if (weights != NULL && all_are_one(weights, count))
        weights = NULL;
    weir_put_u64(head, count);
    weir_put_u32(head + 8, weights != NULL ? WEIR_SET_WEIGHTS : 0);
    writer->path = weir_format("%s.tmp", path);
    writer->count = count;
    writer->weights = weights;
    writer->ids = weir_calloc(WEIR_SET_SUMMED, sizeof(*writer->ids));
    writer->at = WEIR_SET_HEADER_BYTES;
    writer->hasher = weir_hasher_new();
    weir_hasher_add(writer->hasher, head, sizeof(head));
    writer->fd = open(writer->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (writer->fd < 0)
        return fail_errno(writer, "create", err);
    *ret_writer = WEIR_TAKE(writer);
    return WEIR_OK;
}

void weir_sample_set_writer_free(struct weir_sample_set_writer *writer)
{
    if (writer == NULL)
        return;
    if (writer->fd >= 0) {
        close(writer->fd);
        unlink(writer->path);
    }
    weir_hasher_free(writer->hasher);
    weir_buf_fini(&writer->sums);
    free(writer->ids);
    free(writer->path);
    free(writer);
}

void weir_sample_set_divide(struct weir_sample_set_writer *writer,
                            const struct weir_epoch_parts *parts)
{
    writer->parts = *parts;
}

static enum weir_status write_held(struct weir_sample_set_writer *writer, struct weir_error *err)
{
    size_t held = writer->held;
    writer->held = 0;
    return held > 0 ? write_block(writer, writer->ids, held * sizeof(*writer->ids), err) : WEIR_OK;
}

/* Requires that ids ascend; `count` > 0. */
static void check_order(struct weir_sample_set_writer *writer, const uint64_t *ids, size_t count)
{
    bool ascends = writer->added == 0 || ids[0] > writer->last;
    for (size_t i = 1; i < count; i++)
        ascends = ascends && ids[i - 1] < ids[i];
    weir_require(ascends);
    writer->added += count;
    writer->last = ids[count - 1];
}

enum weir_status weir_sample_set_add(struct weir_sample_set_writer *writer, const uint64_t *ids,
                                     size_t count, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    for (size_t at = 0; status == WEIR_OK && at < count;) {
        size_t room = WEIR_SET_SUMMED - writer->held;
        size_t here = count - at < room ? count - at : room;
        check_order(writer, ids + at, here);
        memcpy(writer->ids + writer->held, ids + at, here * sizeof(*ids));
        writer->held += here;
        at += here;
        if (writer->held == WEIR_SET_SUMMED)
            status = write_held(writer, err);
    }
    return status;
}

static enum weir_status write_weights(struct weir_sample_set_writer *writer, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    for (size_t at = 0; status == WEIR_OK && at < writer->count; at += WEIR_SET_SUMMED) {
        size_t left = writer->count - at;
        size_t count = left < WEIR_SET_SUMMED ? left : WEIR_SET_SUMMED;
        status = write_block(writer, writer->weights + at, count * sizeof(*writer->weights), err);
    }
    return status;
}

static enum weir_status write_header(struct weir_sample_set_writer *writer, struct weir_error *err)
{
    uint8_t header[WEIR_SET_HEADER_BYTES] = {0};
    struct weir_digest digest = weir_hasher_digest(writer->hasher);
    memcpy(header, MAGIC, sizeof(MAGIC));
    weir_put_u64(header + 8, writer->count);
    weir_put_u32(header + 16, WEIR_SET_SUMS | (writer->weights != NULL ? WEIR_SET_WEIGHTS : 0) |
                                  (writer->parts.count > 0 ? WEIR_SET_PARTS : 0));
    weir_put_u32(header + WEIR_SET_PARTS_AT, writer->parts.count);
    weir_put_u64(header + WEIR_SET_PART_SAMPLES_AT, writer->parts.samples);
    memcpy(header + WEIR_SET_DIGEST_AT, digest.bytes, sizeof(digest.bytes));
    weir_put_u64(header + WEIR_SET_CHECKED_BYTES,
                 weir_hash64(weir_bytes(header, WEIR_SET_CHECKED_BYTES), 0));
    return write_at(writer, 0, header, sizeof(header), err);
}

enum weir_status weir_sample_set_finish(struct weir_sample_set_writer *writer,
                                        struct weir_digest *ret_digest, struct weir_error *err)
{
    weir_require(writer->added == writer->count);
    enum weir_status status = write_held(writer, err);
    if (status == WEIR_OK && writer->weights != NULL)
        status = write_weights(writer, err);
    uint64_t sums_at = (writer->at + 7) / 8 * 8; /* the gap reads as zeros */
    if (status == WEIR_OK && writer->sums.size > 0)
        status = write_at(writer, sums_at, writer->sums.at, writer->sums.size, err);
    if (status == WEIR_OK && writer->parts.count > 0)
        status = write_at(writer, sums_at + writer->sums.size, writer->parts.indices,
                          weir_epoch_parts_bytes(&writer->parts), err);
    weir_epoch_parts_hash(&writer->parts, writer->hasher);
    if (status == WEIR_OK)
        status = write_header(writer, err);
    if (status == WEIR_OK && fsync(writer->fd) < 0)
        status = fail_errno(writer, "fsync", err);
    if (status == WEIR_OK)
        *ret_digest = weir_hasher_digest(writer->hasher);
    return status;
}

enum weir_status weir_sample_set_publish(struct weir_sample_set_writer *writer, const char *path,
                                         struct weir_error *err)
{
    if (rename(writer->path, path) < 0)
        return fail_errno(writer, "rename", err);
    close(writer->fd);
    writer->fd = -1;
    return weir_sync_parent(path, err);
}

enum weir_status weir_sample_set_write(const char *path, const uint64_t *ids, const float *weights,
                                       size_t count, struct weir_digest *ret_digest,
                                       struct weir_error *err)
{
    WEIR_AUTO(weir_sample_set_writer) writer = NULL;
    struct weir_digest digest;
    enum weir_status status = weir_sample_set_begin(path, count, weights, &writer, err);
    if (status == WEIR_OK)
        status = weir_sample_set_add(writer, ids, count, err);
    if (status == WEIR_OK)
        status = weir_sample_set_finish(writer, &digest, err);
    if (status == WEIR_OK)
        status = weir_sample_set_publish(writer, path, err);
    if (status == WEIR_OK && ret_digest != NULL)
        *ret_digest = digest;
    return status;
}
