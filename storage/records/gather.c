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

static void read_open(int fd, struct gather_range *ranges, size_t count, int flags)
{
    struct run run;

    for (size_t i = 0; i < count; i += run.range_count) {
        for (run.range_count = 0; i < count && ranges[i].is_read; i++)
            continue;
        if (i == count)
            break;
        plan_run(&run, ranges + i, count - i);
        do_run(fd, &run, ranges + i, flags);
    }
}

static size_t count_read(const struct gather_range *ranges, size_t count)
{
    size_t done = 0;

    for (size_t i = 0; i < count; i++)
        done += ranges[i].is_read;
    return done;
}

static void forget_read(struct gather_range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ranges[i].is_read = false;
}

/* All ranges are of one file. Returns how many of them are read. */
static size_t read_file(const struct gather_from *from, struct gather_range *ranges, size_t count,
                        int flags)
{
    const struct stored_file *file = ranges[0].file;
    int fd = storage_open_files_get(from->files, ranges[0].dataset, file);
    size_t done;

    if (fd >= 0)
        read_open(fd, ranges, count, flags);
    done = count_read(ranges, count);
    if (done == 0 || storage_open_files_check(from->files, fd, file, from->secret))
        return done;
    forget_read(ranges, count);
    return 0;
}

/* The same, with nothing that others have: the file is opened for it. */
static void read_file_apart(const struct storage_secret *secret, struct gather_range *ranges,
                            size_t count)
{
    const struct stored_file *file = ranges[0].file;
    WEIR_AUTO_FD int fd = storage_file_open(ranges[0].path, file);

    if (fd < 0)
        return;
    read_open(fd, ranges, count, RWF_NOWAIT);
    read_open(fd, ranges, count, 0);
    if (!storage_file_is_as_indexed(fd, file, secret))
        forget_read(ranges, count);
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

/* Returns where the ranges end that are of the same file as the first. */
static size_t end_of_file(const struct gather_range *ranges, size_t first, size_t count)
{
    size_t end = first + 1;

    while (end < count && ranges[end].file == ranges[first].file)
        end++;
    return end;
}

static bool is_remote(const struct gather_range *range)
{
    return range->dataset->declaration->is_remote;
}

static size_t read_all(const struct gather_from *from, struct gather_range *ranges, size_t count,
                       int flags)
{
    size_t done = 0, end;

    for (size_t first = 0; first < count; first = end) {
        end = end_of_file(ranges, first, count);
        done += is_remote(&ranges[first]) ? read_object(from, ranges + first, end - first)
                                          : read_file(from, ranges + first, end - first, flags);
    }
    return done;
}

void storage_gather(const struct gather_from *from, struct gather_range *ranges, size_t count)
{
    if (read_all(from, ranges, count, RWF_NOWAIT) < count)
        (void)read_all(from, ranges, count, 0);
}

static const char *path_of(const struct gather_range *range, struct weir_arena *arena)
{
    const struct dataset *dataset = range->dataset;

    if (range->file->path == NULL)
        return NULL;
    return weir_arena_format(arena, "%s/%s",
                             dataset->declaration->is_copied ? dataset->copies : dataset->root,
                             range->file->path);
}

void storage_gather_prepare(const struct gather_from *from, struct gather_range *ranges,
                            size_t count, struct weir_arena *arena)
{
    size_t end;

    for (size_t first = 0; first < count; first = end) {
        end = end_of_file(ranges, first, count);
        if (is_remote(&ranges[first])) {
            (void)read_object(from, ranges + first, end - first);
            continue;
        }
        ranges[first].path = path_of(&ranges[first], arena);
        for (size_t i = first + 1; i < end; i++)
            ranges[i].path = ranges[first].path;
    }
}

void storage_gather_apart(const struct storage_secret *secret, struct gather_range *ranges,
                          size_t count)
{
    size_t end;

    for (size_t first = 0; first < count; first = end) {
        end = end_of_file(ranges, first, count);
        if (ranges[first].path != NULL)
            read_file_apart(secret, ranges + first, end - first);
    }
}
