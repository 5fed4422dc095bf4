/* Overwriting what is no sample: see blanking.h. */
#include "storage/files/blanking.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "storage/files/copy.h"
#include "storage/files/extent.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_BYTES = 1 << 20 };

static enum weir_status fail(const struct blanking *blanking, struct weir_error *err)
{
    return storage_copies_fail(blanking->dataset->copies,
                               "refused records of copies cannot be overwritten", err);
}

enum weir_status storage_blanking_open(const struct dataset *dataset,
                                       const struct stored_file *file, struct weir_bytes head,
                                       struct blanking *ret_blanking, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = storage_dataset_path(dataset, file);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return weir_fail(err, errno == ENOENT ? WEIR_STALE : WEIR_IO, "%s: cannot open: %s", path,
                         strerror(errno));
    *ret_blanking = (struct blanking){.dataset = dataset, .file = file, .fd = fd, .head = head};
    return WEIR_OK;
}

enum weir_status storage_blanking_close(struct blanking *blanking, struct weir_error *err)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                      weir_mtime_of_ns(blanking->file->mtime_ns)};
    enum weir_status status = WEIR_OK;

    if (blanking->is_changed && blanking->file->mtime_ns != 0 && futimens(blanking->fd, times) < 0)
        status = fail(blanking, err);
    close(blanking->fd);
    weir_buf_fini(&blanking->piece);
    return status;
}

static enum weir_status write_piece(struct blanking *blanking, uint64_t offset,
                                    struct weir_error *err)
{
    for (size_t at = 0; at < blanking->piece.size;) {
        ssize_t put = pwrite(blanking->fd, blanking->piece.at + at, blanking->piece.size - at,
                             (off_t)(offset + at));

        if (put < 0 && errno != EINTR)
            return fail(blanking, err);
        at += put > 0 ? (size_t)put : 0;
    }
    blanking->is_changed = true;
    return WEIR_OK;
}

/* ---- bytes ---- */

/* Ends of lines stay, so that lines keep their numbers. True when there was anything else. */
static bool blank_piece(const struct format *format, struct weir_buf *piece)
{
    bool is_changed = false;

    for (size_t i = 0; i < piece->size; i++) {
        if (piece->at[i] == format->scrub_byte ||
            (format->ends_with_newline && piece->at[i] == '\n'))
            continue;
        piece->at[i] = format->scrub_byte;
        is_changed = true;
    }
    return is_changed;
}

enum weir_status storage_blank_bytes(struct blanking *blanking, struct format_range range,
                                     struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    for (uint64_t at = 0; status == WEIR_OK && at < range.length; at += PIECE_BYTES) {
        uint64_t left = range.length - at;
        const struct format_range piece = {range.offset + at,
                                           left < PIECE_BYTES ? left : PIECE_BYTES};

        status = storage_range_read(blanking->fd, piece, &blanking->piece, err);
        if (status == WEIR_OK &&
            blank_piece(blanking->dataset->declaration->format, &blanking->piece))
            status = write_piece(blanking, piece.offset, err);
    }
    return status;
}

/* ---- records ---- */

/* Blanks a record that no window holds. */
static enum weir_status blank_mapped(struct blanking *blanking, struct format_range range,
                                     struct weir_error *err)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), before = range.offset % page;
    size_t size = (size_t)(range.length + before);
    struct stat found;
    uint8_t *at;

    if (fstat(blanking->fd, &found) < 0)
        return fail(blanking, err);
    if ((uint64_t)found.st_size < range.offset + range.length)
        return weir_fail(err, WEIR_STALE, "%s: became shorter", blanking->file->path);
    at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, blanking->fd,
              (off_t)(range.offset - before));
    if (at == MAP_FAILED)
        return fail(blanking, err);
    storage_extent_erase(blanking->dataset->declaration, blanking->head, at + before,
                         (size_t)range.length);
    munmap(at, size);
    blanking->is_changed = true;
    return WEIR_OK;
}

enum weir_status storage_blank_records(struct blanking *blanking, struct format_range range,
                                       struct weir_error *err)
{
    enum weir_status status;

    if (blanking->dataset->declaration->format->scrub == NULL)
        return storage_blank_bytes(blanking, range, err);
    if (range.length > FORMAT_RECORD_MAX)
        return blank_mapped(blanking, range, err);
    status = storage_range_read(blanking->fd, range, &blanking->piece, err);
    if (status != WEIR_OK)
        return status;
    storage_extent_erase(blanking->dataset->declaration, blanking->head, blanking->piece.at,
                         blanking->piece.size);
    return write_piece(blanking, range.offset, err);
}

enum weir_status storage_blank_sample(struct blanking *blanking, uint64_t from,
                                      struct format_range payload, struct weir_error *err)
{
    struct file_window window = {.fd = blanking->fd};
    const struct extent_place place = {
        .window = &window, .size = blanking->file->size, .from = from, .payload = payload};
    struct extent extent = {.is_scrubbed = false};
    enum weir_status status;

    if (blanking->dataset->declaration->format->scrub == NULL)
        return storage_blank_bytes(blanking, payload, err);
    status = storage_extent_read(blanking->dataset->declaration, &place, &extent, err);
    if (status == WEIR_OK) {
        weir_buf_clear(&blanking->piece);
        weir_buf_append(&blanking->piece, extent.erased.at, extent.erased.size);
        status = write_piece(blanking, extent.at.offset, err);
    }
    storage_extent_fini(&extent);
    storage_window_fini(&window);
    return status;
}
