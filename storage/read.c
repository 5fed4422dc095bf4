/* The bytes of samples, for whoever cannot reach the files. */
#include "storage/serve.h"

#include "core/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file that was opened last: samples asked for together often lie together. */
struct reader {
    const struct stored_file *file;
    int fd;
    uint32_t *states;
    uint64_t *lengths;
    int64_t *labels;
};

static bool is_as_indexed(int fd, const struct stored_file *file)
{
    struct stat now;

    return fstat(fd, &now) == 0 && now.st_dev == file->device && now.st_ino == file->inode &&
           (uint64_t)now.st_size == file->size &&
           (int64_t)now.st_mtim.tv_sec * 1000000000 + now.st_mtim.tv_nsec == file->mtime_ns;
}

static bool open_file(struct reader *reader, const struct located *found)
{
    WEIR_AUTO_FREE char *path = NULL;

    if (reader->file == found->file)
        return reader->fd >= 0;
    if (reader->fd >= 0)
        close(reader->fd);
    path = storage_dataset_path(found->dataset, found->file);
    reader->file = found->file;
    reader->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (reader->fd >= 0 && !is_as_indexed(reader->fd, found->file)) {
        close(reader->fd); /* other bytes than those that were indexed */
        reader->fd = -1;
    }
    return reader->fd >= 0;
}

static bool append(int fd, const struct located *found, struct weir_buf *out)
{
    size_t done = 0;

    weir_buf_reserve(out, found->length);
    while (done < found->length) {
        ssize_t got = pread(fd, out->at + out->size + done, found->length - done,
                            (off_t)(found->offset + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    out->size += found->length;
    return true;
}

static enum weir_status read_all(struct storage *storage, const struct weir_u64s *ids,
                                 struct reader *reader, struct weir_buf *out,
                                 struct weir_error *err)
{
    for (size_t i = 0; i < ids->count; i++) {
        struct located found;
        enum weir_status status = storage_find(storage, ids->at[i], &found, err);

        if (status != WEIR_OK)
            return status;
        reader->states[i] = found.state;
        if (found.state != WEIR_SAMPLE_LIVE)
            continue;
        if (found.length > READ_BYTES_MAX - out->size)
            return weir_fail(err, WEIR_LIMIT, "read: more than %d bytes: ask for fewer samples",
                             READ_BYTES_MAX);
        reader->labels[i] = found.label;
        if (open_file(reader, &found) && append(reader->fd, &found, out))
            reader->lengths[i] = found.length;
        else
            reader->states[i] = WEIR_SAMPLE_GONE;
    }
    return WEIR_OK;
}

enum weir_status storage_read(struct storage *storage, const struct msg_read *asked,
                              struct weir_arena *arena, struct msg_read_is *answer,
                              struct weir_frames *frames, struct weir_error *err)
{
    size_t count = asked->ids.count;
    struct reader reader = {
        .fd = -1,
        .states = weir_arena_alloc(arena, count * sizeof(uint32_t) + 1),
        .lengths = weir_arena_alloc(arena, count * sizeof(uint64_t) + 1),
        .labels = weir_arena_alloc(arena, count * sizeof(int64_t) + 1),
    };
    struct weir_buf out = {0};
    enum weir_status status = storage_ready(storage, err);

    if (status != WEIR_OK)
        return status;
    if (count > READ_IDS_MAX)
        return weir_fail(err, WEIR_LIMIT, "read.ids: found %zu, expected at most %d", count,
                         READ_IDS_MAX);
    answer->epoch = storage_erasure_epoch(storage->erasure);
    answer->states = (struct weir_u32s){reader.states, count};
    answer->lengths = (struct weir_u64s){reader.lengths, count};
    answer->labels = (struct weir_i64s){reader.labels, count};
    status = read_all(storage, &asked->ids, &reader, &out, err);
    if (reader.fd >= 0)
        close(reader.fd);
    if (status == WEIR_OK && out.size > 0)
        weir_frames_give(frames, out.at, out.size);
    else
        weir_buf_fini(&out);
    if (status == WEIR_OK && frames->count == 0)
        weir_frames_copy(frames, "", 0);
    return status;
}
