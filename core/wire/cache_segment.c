/* Segments of the cache of samples; the layout is in the header. */
#include "core/wire/cache_segment.h"

#include "core/base/fault.h"
#include "core/base/file.h"
#include "core/base/full_disk.h"
#include "core/base/hash.h"
#include "core/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    EPOCH_AT = 8,
    COUNT_AT = 16,
    BYTES_AT = 24,
    TABLE_SUM_AT = 32,
    SUM_AT = 40,
    MADE_AT = 48,
    PIECES_AT_ONCE = 64,
};

static const char MAGIC[] = {'W', 'E', 'I', 'R', 'R', 'O', 'W', '1'};

/* ---- writing ---- */

/* A segment on its way to its file. */
struct draft {
    const struct weir_cache_row *rows;
    size_t count;
    struct weir_bytes *stored; /* of each row … */
    void **compressed;         /* … its memory; NULL: the row itself is stored */
    uint8_t *head;             /* header and table */
    size_t head_bytes;
};

static void draft_fini(struct draft *draft)
{
    for (size_t i = 0; i < draft->count; i++)
        free(draft->compressed[i]);
    free(draft->compressed);
    free(draft->stored);
    free(draft->head);
}

/* Compresses what is behind the row's first byte. */
static void store_row(struct draft *draft, size_t row, enum weir_compression how)
{
    struct weir_bytes plain = draft->rows[row].bytes;
    size_t size = 0;
    draft->stored[row] = plain;
    if (how == WEIR_COMPRESSION_NONE || draft->rows[row].key == WEIR_CACHE_RECORDS)
        return;
    WEIR_AUTO_FREE void *block =
        weir_compress(how, weir_bytes(plain.at + 1, plain.size - 1), &size);
    if (block == NULL)
        return;
    uint8_t *stored = weir_realloc(NULL, size + 1, 1);
    stored[0] = (uint8_t)(1 + how);
    memcpy(stored + 1, block, size);
    draft->compressed[row] = stored;
    draft->stored[row] = weir_bytes(stored, size + 1);
}

static void put_entry(struct draft *draft, size_t row, uint64_t offset)
{
    uint8_t *at = draft->head + WEIR_CACHE_TABLE_AT + row * WEIR_CACHE_ENTRY_BYTES;
    struct weir_bytes stored = draft->stored[row];
    weir_put_u64(at, draft->rows[row].id);
    weir_put_u64(at + 8, draft->rows[row].key);
    weir_put_u64(at + 16, offset);
    weir_put_u32(at + 24, (uint32_t)stored.size);
    weir_put_u32(at + 28, (uint32_t)draft->rows[row].bytes.size);
    weir_put_u64(at + 32, weir_hash64(stored, 0));
}

static uint64_t made_ns(const struct draft *draft)
{
    uint64_t ns = 0;
    for (size_t i = 0; i < draft->count; i++)
        ns += draft->rows[i].made_ns;
    return ns;
}

static void put_header(struct draft *draft, uint64_t epoch, uint64_t bytes)
{
    uint8_t *head = draft->head;
    struct weir_bytes table =
        weir_bytes(head + WEIR_CACHE_TABLE_AT, draft->count * WEIR_CACHE_ENTRY_BYTES);
    memcpy(head, MAGIC, sizeof(MAGIC));
    weir_put_u64(head + EPOCH_AT, epoch);
    weir_put_u64(head + COUNT_AT, draft->count);
    weir_put_u64(head + BYTES_AT, bytes);
    weir_put_u64(head + TABLE_SUM_AT, weir_hash64(table, 0));
    weir_put_u64(head + SUM_AT, weir_hash64(weir_bytes(head, SUM_AT), 0));
    weir_put_u64(head + MADE_AT, made_ns(draft));
}

static struct draft draft_of(const struct weir_cache_row *rows, size_t count, uint64_t epoch,
                             enum weir_compression how)
{
    size_t head_bytes = WEIR_CACHE_TABLE_AT + count * WEIR_CACHE_ENTRY_BYTES;
    struct draft draft = {.rows = rows,
                          .count = count,
                          .stored = weir_calloc(count + 1, sizeof(*draft.stored)),
                          .compressed = weir_calloc(count + 1, sizeof(*draft.compressed)),
                          .head = weir_calloc(head_bytes, 1),
                          .head_bytes = head_bytes};
    uint64_t offset = head_bytes;
    weir_require(count <= WEIR_CACHE_ROWS_MAX);
    for (size_t i = 0; i < count; i++) {
        store_row(&draft, i, how);
        put_entry(&draft, i, offset);
        offset += draft.stored[i].size;
    }
    put_header(&draft, epoch, offset);
    return draft;
}

/* Writes `count` pieces; what the kernel leaves of them is written one by one. */
static bool write_pieces(int fd, const struct weir_bytes *pieces, size_t count)
{
    struct iovec vector[PIECES_AT_ONCE] = {{0}};
    for (size_t i = 0; i < count; i++)
        vector[i] = (struct iovec){(void *)(uintptr_t)pieces[i].at, pieces[i].size};
    ssize_t written = writev(fd, vector, (int)count);
    if (written < 0)
        return false;
    size_t done = (size_t)written;
    for (size_t i = 0; i < count; i++) {
        size_t skip = done < pieces[i].size ? done : pieces[i].size;
        done -= skip;
        if (skip < pieces[i].size &&
            !weir_write_all(fd, weir_bytes(pieces[i].at + skip, pieces[i].size - skip)))
            return false;
    }
    return true;
}

/* Rows that lie end to end in memory are one piece. */
static bool write_rows(int fd, const struct draft *draft)
{
    struct weir_bytes pieces[PIECES_AT_ONCE] = {{draft->head, draft->head_bytes}};
    size_t count = 1;
    for (size_t i = 0; i < draft->count; i++) {
        struct weir_bytes stored = draft->stored[i], *last = &pieces[count - 1];
        if (count > 0 && last->at + last->size == stored.at) {
            last->size += stored.size;
            continue;
        }
        if (count == PIECES_AT_ONCE) {
            if (!write_pieces(fd, pieces, count))
                return false;
            count = 0;
        }
        pieces[count++] = stored;
    }
    return write_pieces(fd, pieces, count);
}

static enum weir_status fail_writing(const char *path, struct weir_error *err)
{
    int code = errno;
    enum weir_status status = weir_disk_is_full(code) ? WEIR_LIMIT
                              : code == ENOENT        ? WEIR_NOT_FOUND
                                                      : WEIR_IO;
    return weir_fail(err, status, "%s: cannot be written: %s%s", path, strerror(code),
                     weir_disk_advice(code));
}

static bool is_full(void)
{
    bool fails = weir_fault("cache.write");
    if (fails)
        errno = ENOSPC;
    return fails;
}

enum weir_status weir_cache_segment_write(const char *path, uint64_t epoch,
                                          const struct weir_cache_row *rows, size_t count,
                                          enum weir_compression how, struct weir_error *err)
{
    WEIR_AUTO_FREE char *draft_path = weir_format("%s" WEIR_CACHE_DRAFT, path);
    WEIR_AUTO_FD int fd = open(draft_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail_writing(draft_path, err);
    struct draft draft = draft_of(rows, count, epoch, how);
    bool is_written = !is_full() && write_rows(fd, &draft);
    draft_fini(&draft);
    if (is_written && !weir_fault("cache.rename") && rename(draft_path, path) == 0)
        return WEIR_OK;
    enum weir_status status = fail_writing(draft_path, err);
    (void)unlink(draft_path);
    return status;
}

/* ---- reading ---- */

struct weir_cache_segment_entry weir_cache_entry_at(const uint8_t *table, size_t row)
{
    const uint8_t *at = table + row * WEIR_CACHE_ENTRY_BYTES;
    return (struct weir_cache_segment_entry){.id = weir_get_u64(at),
                                             .key = weir_get_u64(at + 8),
                                             .offset = weir_get_u64(at + 16),
                                             .stored = weir_get_u32(at + 24),
                                             .size = weir_get_u32(at + 28),
                                             .sum = weir_get_u64(at + 32)};
}

static bool is_header(const uint8_t *head, uint64_t file_bytes)
{
    return memcmp(head, MAGIC, sizeof(MAGIC)) == 0 &&
           weir_get_u64(head + SUM_AT) == weir_hash64(weir_bytes(head, SUM_AT), 0) &&
           weir_get_u64(head + BYTES_AT) == file_bytes &&
           weir_get_u64(head + COUNT_AT) <= WEIR_CACHE_ROWS_MAX;
}

/* True when every row lies in the file. */
static bool are_within(const struct weir_cache_segment *segment)
{
    for (size_t i = 0; i < segment->count; i++) {
        struct weir_cache_segment_entry entry = weir_cache_entry_at(segment->table, i);
        if (entry.stored == 0 || entry.size == 0 || entry.size > WEIR_CACHE_ROW_BYTES_MAX ||
            entry.offset > segment->bytes || entry.stored > segment->bytes - entry.offset)
            return false;
    }
    return true;
}

static bool read_table(struct weir_cache_segment *segment)
{
    uint8_t head[WEIR_CACHE_TABLE_AT];
    struct stat about;
    if (fstat(segment->fd, &about) != 0 ||
        weir_read_at(segment->fd, head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
        !is_header(head, (uint64_t)about.st_size))
        return false;
    segment->epoch = weir_get_u64(head + EPOCH_AT);
    segment->bytes = (uint64_t)about.st_size;
    segment->count = weir_get_u64(head + COUNT_AT);
    size_t size = segment->count * WEIR_CACHE_ENTRY_BYTES;
    segment->table = weir_realloc(NULL, size + 1, 1);
    return weir_read_at(segment->fd, segment->table, size, WEIR_CACHE_TABLE_AT) == (ssize_t)size &&
           weir_hash64(weir_bytes(segment->table, size), 0) == weir_get_u64(head + TABLE_SUM_AT) &&
           are_within(segment);
}

enum weir_status weir_cache_segment_open(const char *path, bool is_writable,
                                         struct weir_cache_segment *ret_segment,
                                         struct weir_error *err)
{
    struct weir_cache_segment segment = {
        .fd = open(path, (is_writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW)};
    if (segment.fd < 0)
        return weir_fail(err, errno == ENOENT ? WEIR_NOT_FOUND : WEIR_IO, "%s: %s", path,
                         strerror(errno));
    if (!read_table(&segment)) {
        weir_cache_segment_close(&segment);
        return weir_fail(err, WEIR_CORRUPT, "%s: damaged: expected a segment of the cache", path);
    }
    *ret_segment = segment;
    return WEIR_OK;
}

uint64_t weir_cache_segment_made_ns(int folder, const char *name)
{
    uint8_t made[sizeof(uint64_t)] = {0};
    WEIR_AUTO_FD int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    return fd >= 0 && weir_read_at(fd, made, sizeof(made), MADE_AT) == (ssize_t)sizeof(made)
               ? weir_get_u64(made)
               : 0;
}

void weir_cache_segment_close(struct weir_cache_segment *segment)
{
    if (segment->fd >= 0)
        (void)close(segment->fd);
    free(segment->table);
    *segment = (struct weir_cache_segment){.fd = -1};
}

bool weir_cache_row_read(const struct weir_cache_segment_entry *entry, struct weir_bytes stored,
                         struct weir_buf *room, struct weir_bytes *ret_row)
{
    if (stored.size != entry->stored || stored.size == 0 || stored.at[0] == 0 ||
        weir_hash64(stored, 0) != entry->sum)
        return false;
    uint32_t how = stored.at[0] - 1u;
    struct weir_bytes in = weir_bytes(stored.at + 1, stored.size - 1);
    size_t size = entry->size - 1;
    *ret_row = in;
    if (how == WEIR_COMPRESSION_NONE)
        return in.size == size;
    if (!weir_may_expand(how, in, size))
        return false;
    weir_buf_clear(room);
    weir_buf_reserve(room, size + 1);
    room->size = size;
    *ret_row = weir_bytes(room->at, size);
    return weir_expand(how, in, room->at, size);
}

bool weir_cache_is_segment(const char *name)
{
    size_t size = strlen(name), suffix = sizeof(WEIR_CACHE_SUFFIX) - 1;
    return size > suffix && strcmp(name + size - suffix, WEIR_CACHE_SUFFIX) == 0;
}
