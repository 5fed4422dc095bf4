/* Records of one file that are overwritten together: one sync says on disk what is going to be overwritten, one that it
 * has been. Between the two a death may leave any of them as it was, half-way or done, which is what it left of one. */
#include "storage/erasure/erasure_record.h"

#include "core/base/fault.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "storage/erasure/scrub_times.h"
#include "storage/files/prefix.h"
#include "storage/files/scrub_intent.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PIECE_BYTES = 4096,
    GROUP_MAX = 256,
    GROUP_BYTES_MAX = 16 << 20,
};

bool storage_scrub_is_done(struct file_window *window, const struct extent *extent)
{
    struct weir_bytes now;
    struct weir_error err;

    return storage_window_read(window, extent->at, &now, &err) == WEIR_OK &&
           weir_bytes_equal(now, weir_buf_view(&extent->erased));
}

/* A death, or an error, can stop it between any two pages. */
static bool overwrite_bytes(int fd, const struct extent *extent)
{
    const struct weir_buf *erased = &extent->erased;

    for (size_t at = 0; at < erased->size; at += PIECE_BYTES) {
        size_t size = erased->size - at < PIECE_BYTES ? erased->size - at : PIECE_BYTES;

        errno = EIO; /* also of a write that is cut short */
        if (pwrite(fd, erased->at + at, size, (off_t)(extent->at.offset + at)) != (ssize_t)size ||
            weir_fault("storage.erase.overwrite"))
            return false;
    }
    return true;
}

/* Writes down the bytes that are not overwritten yet, all of them before the first one changes. */
static enum weir_status intend(struct erasure_record *erasure, const struct scrub_intent *intents,
                               struct weir_error *err)
{
    struct scrub_target *target = &erasure->target;
    const char *data_dir = target->eraser->store->data_dir;
    struct scrub_intent open[GROUP_MAX];
    size_t count = 0;

    for (size_t i = 0; i < target->count; i++) {
        struct scrub_record *record = &target->records[i];

        record->is_done = storage_scrub_is_done(&target->window, &record->extent);
        if (!record->is_done)
            open[count++] = intents[i];
    }
    if (storage_scrub_intend(data_dir, open, count, err) != WEIR_OK)
        return storage_scrub_stuck(erasure, data_dir, "written to", err);
    return WEIR_OK;
}

static bool overwrite_all(const struct scrub_target *target)
{
    for (size_t i = 0; i < target->count; i++) {
        const struct scrub_record *record = &target->records[i];

        if (!record->is_done && !overwrite_bytes(target->window.fd, &record->extent))
            return false;
    }
    return true;
}

static enum weir_status overwrite(struct erasure_record *erasure, struct stored_file *file,
                                  struct weir_error *err)
{
    struct scrub_target *target = &erasure->target;
    int fd = target->window.fd;
    struct scrub_intent intents[GROUP_MAX];
    struct stat now;
    enum weir_status status;

    if (fstat(fd, &now) < 0)
        return storage_scrub_stuck(erasure, target->path, "looked at", err);
    for (size_t i = 0; i < target->count; i++)
        intents[i] = (struct scrub_intent){.device = now.st_dev,
                                           .inode = now.st_ino,
                                           .payload = target->records[i].payload,
                                           .extent = target->records[i].extent.at};
    status = intend(erasure, intents, err);
    if (status != WEIR_OK)
        return status;
    storage_window_forget(&target->window);
    if (!overwrite_all(target) || !storage_scrub_keep_time(target->dataset, file, fd, &now) ||
        fdatasync(fd) < 0)
        return storage_scrub_stuck(erasure, target->path, "overwritten", err);
    storage_scrub_note_change(target->dataset, file, fd, &now);
    storage_scrub_done(target->eraser->store->data_dir, intents, target->count);
    return WEIR_OK;
}

/* Reads back what was written: a sample is scrubbed only when nothing else stands there. */
static void check_written(struct erasure_record *erasure)
{
    struct scrub_target *target = &erasure->target;
    struct weir_error err;

    for (size_t i = 0; i < target->count; i++) {
        if (storage_scrub_is_done(&target->window, &target->records[i].extent))
            continue;
        errno = EIO;
        weir_ignore(storage_scrub_stuck(erasure, target->path, "read back as written", &err));
        storage_scrub_fail(erasure, target->records[i].id, &err);
    }
}

static void account(const struct erasure_record *erasure, struct stored_file *file)
{
    const struct scrub_target *target = &erasure->target;
    const struct declaration *d = target->dataset->declaration;

    for (size_t i = 0; i < target->count; i++) {
        struct page_row *row = storage_page_row(&erasure->page, target->records[i].id);

        storage_page_row_scrubbed(row, target->dataset, target->file,
                                  target->records[i].extent.at.length);
    }
    if (d->is_copied || d->format->is_one_sample)
        return;
    file->prefix_hash =
        storage_prefix_hash(&target->eraser->store->secret, target->window.fd, file->indexed);
    file->group->is_ahead = true; /* written with the rows of the erasure */
}

void storage_scrub_group_drop(struct erasure_record *erasure)
{
    struct scrub_target *target = &erasure->target;

    for (size_t i = 0; i < target->count; i++)
        storage_extent_fini(&target->records[i].extent);
    free(target->records);
    free(target->half_way);
    target->half_way = NULL;
    target->records = NULL;
    target->count = target->capacity = 0;
    target->bytes = 0;
}

void storage_scrub_group_end(struct erasure_record *erasure)
{
    struct scrub_target *target = &erasure->target;
    struct stored_file *file = NULL;
    struct weir_error err;
    enum weir_status status;

    if (target->count == 0) {
        storage_scrub_group_drop(erasure);
        return;
    }
    target->syncs++;
    status = storage_dataset_file(target->dataset, target->file, &file, &err);
    if (status == WEIR_OK)
        status = overwrite(erasure, file, &err);
    if (status == WEIR_OK) {
        check_written(erasure);
        account(erasure, file);
    } else {
        for (size_t i = 0; i < target->count; i++)
            storage_scrub_fail(erasure, target->records[i].id, &err);
    }
    storage_scrub_group_drop(erasure);
}

void storage_scrub_group_add(struct erasure_record *erasure, const struct located *found,
                             uint64_t id, struct extent *extent)
{
    struct scrub_target *target = &erasure->target;

    target->records =
        weir_grow(target->records, target->count, &target->capacity, sizeof(*target->records));
    target->dataset = found->dataset;
    target->file = storage_file_number(found->file);
    target->bytes += extent->erased.size;
    target->records[target->count++] = (struct scrub_record){
        .id = id, .payload = {found->offset, found->length}, .extent = *extent};
    *extent = (struct extent){0};
    if (target->count == GROUP_MAX || target->bytes >= GROUP_BYTES_MAX)
        storage_scrub_group_end(erasure);
}
