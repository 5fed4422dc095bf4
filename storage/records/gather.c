/* Reading ranges of files: see gather.h. */
#include "storage/records/gather.h"

#include "core/base/file.h"
#include "storage/objects/s3_ranges.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    PIECES_MAX = 512,     /* of one call, gaps included; below IOV_MAX */
    GAP_BYTES_MAX = 1024, /* reading so many bytes in vain costs less than another call */
};

/* One call: ranges of a file that follow each other closely. */
struct run {
    uint64_t offset, bytes;
    size_t range_count;
    int piece_count;
    struct iovec pieces[PIECES_MAX];
    uint8_t gap[GAP_BYTES_MAX]; /* what lies between ranges goes here */
};

static void add_piece(struct run *run, uint8_t *to, size_t size)
{
    struct iovec *last = run->piece_count > 0 ? &run->pieces[run->piece_count - 1] : NULL;

    run->bytes += size;
    if (last != NULL && (uint8_t *)last->iov_base + last->iov_len == to)
        last->iov_len += size;
    else
        run->pieces[run->piece_count++] = (struct iovec){.iov_base = to, .iov_len = size};
}

/* As many of the ranges as one call can read, the first at least. */
static void plan_run(struct run *run, const struct gather_range *ranges, size_t count)
{
    run->offset = ranges[0].offset;
    run->bytes = 0;
    run->range_count = 0;
    run->piece_count = 0;
    for (size_t i = 0; i < count && run->piece_count + 2 <= PIECES_MAX; i++) {
        uint64_t end = run->offset + run->bytes;

        if (ranges[i].is_read || ranges[i].offset < end || ranges[i].offset - end > GAP_BYTES_MAX)
            break;
        if (ranges[i].offset > end)
            add_piece(run, run->gap, ranges[i].offset - end);
        add_piece(run, ranges[i].to, ranges[i].length);
        run->range_count++;
    }
}

static bool read_range(int fd, struct gather_range *range)
{
    return weir_read_at(fd, range->to, range->length, range->offset) == (ssize_t)range->length;
}

/* With RWF_NOWAIT only what is in the page cache; the rest is announced. */
static void do_run(int fd, const struct run *run, struct gather_range *ranges, int flags)
{
    ssize_t got = preadv2(fd, run->pieces, run->piece_count, (off_t)run->offset, flags);

    for (size_t i = 0; got == (ssize_t)run->bytes && i < run->range_count; i++)
        ranges[i].is_read = true;
    if (got == (ssize_t)run->bytes)
        return;
    if (flags & RWF_NOWAIT)
        (void)posix_fadvise(fd, (off_t)run->offset, (off_t)run->bytes, POSIX_FADV_WILLNEED);
    for (size_t i = 0; !(flags & RWF_NOWAIT) && i < run->range_count; i++)
        ranges[i].is_read = read_range(fd, &ranges[i]);
}

/* All ranges are of one file. Returns how many of them are read. */
static size_t read_file(const struct gather_from *from, struct gather_range *ranges, size_t count,
                        int flags)
{
    const struct stored_file *file = ranges[0].file;
    int fd = storage_open_files_get(from->files, ranges[0].dataset, file);
    struct run run;
    size_t done = 0;

    for (size_t i = 0; fd >= 0 && i < count; i += run.range_count) {
        for (run.range_count = 0; i < count && ranges[i].is_read; i++)
            continue;
        if (i == count)
            break;
        plan_run(&run, ranges + i, count - i);
        do_run(fd, &run, ranges + i, flags);
    }
    for (size_t i = 0; i < count; i++)
        done += ranges[i].is_read;
    if (done == 0 || storage_open_files_check(from->files, fd, file, from->secret))
        return done;
    for (size_t i = 0; i < count; i++)
        ranges[i].is_read = false;
    return 0;
}

/* All ranges are of one object. */
static size_t read_object(const struct gather_from *from, struct gather_range *ranges, size_t count)
{
    size_t done = 0;

    for (size_t i = 0; i < count; i++) {
        const struct s3_span span = {.dataset = ranges[i].dataset,
                                     .file = ranges[i].file,
                                     .offset = ranges[i].offset,
                                     .length = ranges[i].length};

        ranges[i].is_read = storage_s3_ranges_read(from->objects, &span, ranges[i].to);
        done += ranges[i].is_read;
    }
    return done;
}

static size_t read_all(const struct gather_from *from, struct gather_range *ranges, size_t count,
                       int flags)
{
    size_t done = 0, end;

    for (size_t first = 0; first < count; first = end) {
        for (end = first + 1; end < count && ranges[end].file == ranges[first].file; end++)
            continue;
        done += ranges[first].dataset->declaration->is_remote
                    ? read_object(from, ranges + first, end - first)
                    : read_file(from, ranges + first, end - first, flags);
    }
    return done;
}

void storage_gather(const struct gather_from *from, struct gather_range *ranges, size_t count)
{
    if (read_all(from, ranges, count, RWF_NOWAIT) < count)
        (void)read_all(from, ranges, count, 0);
}
