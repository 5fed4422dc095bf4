/* Order files: see order.h. */
#include "storage/feed/order.h"

#include "core/base/bisect.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/memory.h"
#include "core/wire/column.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGE_HEADER_BYTES = 16, ENTRY_BYTES = 32, FOOTER_BYTES = 80 };
#define MAGIC     UINT64_C(0x31726564726f7765) /* "eworder1" */
#define PAGES_MAX (UINT64_C(1) << 32)

struct order {
    int fd;
    struct order_page *pages;
    size_t page_count;
    size_t loaded; /* the page in `rows`; page_count: none */
    struct order_row rows[ORDER_PAGE_ROWS];
};

static enum weir_status fail_errno(struct weir_error *err, const char *what, const char *path)
{
    return weir_fail(err, WEIR_IO, "%s: cannot %s: %s", path, what, strerror(errno));
}

/* ---- writing ---- */

enum weir_status storage_order_writer_open(const char *path, struct order_writer **ret_writer,
                                           struct weir_error *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    struct order_writer *writer;

    if (fd < 0)
        return fail_errno(err, "make the file", path);
    writer = weir_calloc(1, sizeof(*writer));
    writer->fd = fd;
    writer->path = weir_strdup(path);
    *ret_writer = writer;
    return WEIR_OK;
}

void storage_order_writer_free(struct order_writer *writer)
{
    if (writer == NULL)
        return;
    close(writer->fd);
    (void)unlink(writer->path); /* a finished one has another name by now */
    free(writer->path);
    free(writer->pages);
    free(writer);
}

static enum weir_status append(struct order_writer *writer, const struct weir_buf *bytes,
                               struct weir_error *err)
{
    size_t done = 0;

    while (done < bytes->size) {
        ssize_t wrote = pwrite(writer->fd, bytes->at + done, bytes->size - done,
                               (off_t)(writer->offset + done));

        if (wrote < 0 && errno != EINTR)
            return fail_errno(err, "write", writer->path);
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    writer->offset += bytes->size;
    return WEIR_OK;
}

static void pack_page(const struct order_row *rows, size_t count, struct weir_buf *out)
{
    int64_t column[ORDER_PAGE_ROWS];
    size_t times, ids;

    weir_buf_reserve(out, PAGE_HEADER_BYTES);
    out->size = PAGE_HEADER_BYTES;
    for (size_t i = 0; i < count; i++)
        column[i] = rows[i].time;
    weir_column_pack(column, count, out);
    times = out->size - PAGE_HEADER_BYTES;
    for (size_t i = 0; i < count; i++)
        column[i] = (int64_t)rows[i].id;
    weir_column_pack(column, count, out);
    ids = out->size - PAGE_HEADER_BYTES - times;
    for (size_t i = 0; i < count; i++)
        column[i] = rows[i].label;
    weir_column_pack(column, count, out);
    weir_put_u32(out->at + 8, (uint32_t)times);
    weir_put_u32(out->at + 12, (uint32_t)ids);
    weir_put_u64(out->at, weir_hash64(weir_bytes(out->at + 8, out->size - 8), MAGIC));
}

enum weir_status storage_order_flush(struct order_writer *writer, struct weir_error *err)
{
    WEIR_AUTO_BUF packed = {0};
    struct order_page *page;

    if (writer->row_count == 0)
        return WEIR_OK;
    pack_page(writer->rows, writer->row_count, &packed);
    writer->pages = weir_grow(writer->pages, writer->page_count, &writer->page_capacity,
                              sizeof(*writer->pages));
    page = &writer->pages[writer->page_count++];
    *page = (struct order_page){
        .offset = writer->offset,
        .bytes = (uint32_t)packed.size,
        .rows = (uint32_t)writer->row_count,
        .time = writer->rows[0].time,
        .id = writer->rows[0].id,
    };
    writer->row_count = 0;
    return append(writer, &packed, err);
}

enum weir_status storage_order_write(struct order_writer *writer, const struct order_row *row,
                                     struct weir_error *err)
{
    writer->rows[writer->row_count++] = *row;
    writer->total++;
    return writer->row_count == ORDER_PAGE_ROWS ? storage_order_flush(writer, err) : WEIR_OK;
}

/* `tail` is the directory already; the digest is over it and the footer before the digest. */
static void add_footer(const struct order_writer *writer, const struct order_inputs *inputs,
                       struct weir_buf *tail)
{
    const uint64_t numbers[] = {
        MAGIC,          inputs->dataset, inputs->position,   inputs->rows,
        inputs->erased, writer->total,   writer->page_count, writer->offset,
    };
    struct weir_digest digest;

    for (size_t i = 0; i < WEIR_COUNT(numbers); i++)
        weir_buf_append_u64(tail, numbers[i]);
    digest = weir_digest_of(weir_buf_view(tail));
    weir_buf_append(tail, digest.bytes, sizeof(digest.bytes));
}

static void add_entry(const struct order_page *page, struct weir_buf *tail)
{
    uint8_t entry[ENTRY_BYTES];

    weir_put_u64(entry, page->offset);
    weir_put_u32(entry + 8, page->bytes);
    weir_put_u32(entry + 12, page->rows);
    weir_put_u64(entry + 16, (uint64_t)page->time);
    weir_put_u64(entry + 24, page->id);
    weir_buf_append(tail, entry, sizeof(entry));
}

enum weir_status storage_order_finish(struct order_writer *writer,
                                      const struct order_inputs *inputs, const char *path,
                                      struct weir_error *err)
{
    WEIR_AUTO_BUF tail = {0};
    enum weir_status status = storage_order_flush(writer, err);

    for (size_t i = 0; i < writer->page_count; i++)
        add_entry(&writer->pages[i], &tail);
    add_footer(writer, inputs, &tail);
    if (status == WEIR_OK)
        status = append(writer, &tail, err);
    if (status != WEIR_OK)
        return status;
    if (fsync(writer->fd) < 0)
        return fail_errno(err, "sync", writer->path);
    if (rename(writer->path, path) < 0)
        return fail_errno(err, "rename", writer->path);
    return weir_sync_parent(path, err);
}

/* ---- reading ---- */

static enum weir_status read_at(int fd, uint64_t offset, uint8_t *to, size_t size,
                                struct weir_error *err)
{
    ssize_t got = weir_read_at(fd, to, size, offset);

    if (got < 0)
        return weir_fail(err, WEIR_IO, "order file: cannot read: %s", strerror(errno));
    if ((size_t)got < size)
        return weir_fail(err, WEIR_CORRUPT, "order file: it ends at byte %llu, inside a page",
                         (unsigned long long)(offset + (uint64_t)got));
    return WEIR_OK;
}

static enum weir_status unpack_page(const uint8_t *at, const struct order_page *page,
                                    struct order_row *rows, struct weir_error *err)
{
    size_t body = page->bytes - PAGE_HEADER_BYTES;
    size_t times = weir_get_u32(at + 8), ids = weir_get_u32(at + 12);
    int64_t column[3][ORDER_PAGE_ROWS];
    enum weir_status status;

    if (weir_get_u64(at) != weir_hash64(weir_bytes(at + 8, page->bytes - 8), MAGIC) ||
        times > body || ids > body - times)
        return weir_fail(err, WEIR_CORRUPT, "order file: the page at byte %llu fails its checksum",
                         (unsigned long long)page->offset);
    at += PAGE_HEADER_BYTES;
    status = weir_column_unpack(weir_bytes(at, times), column[0], page->rows, err);
    if (status == WEIR_OK)
        status = weir_column_unpack(weir_bytes(at + times, ids), column[1], page->rows, err);
    if (status == WEIR_OK)
        status = weir_column_unpack(weir_bytes(at + times + ids, body - times - ids), column[2],
                                    page->rows, err);
    for (size_t i = 0; status == WEIR_OK && i < page->rows; i++)
        rows[i] = (struct order_row){
            .time = column[0][i], .id = (uint64_t)column[1][i], .label = column[2][i]};
    return status;
}

enum weir_status storage_order_page(int fd, const struct order_page *page, struct order_row *rows,
                                    struct weir_error *err)
{
    WEIR_AUTO_FREE uint8_t *bytes = weir_calloc(page->bytes, 1);
    enum weir_status status = read_at(fd, page->offset, bytes, page->bytes, err);

    return status == WEIR_OK ? unpack_page(bytes, page, rows, err) : status;
}

static enum weir_status check_footer(const uint8_t *footer, const struct order_inputs *inputs,
                                     uint64_t directory_end, struct weir_error *err)
{
    uint64_t pages = weir_get_u64(footer + 48), offset = weir_get_u64(footer + 56);

    if (weir_get_u64(footer) != MAGIC || pages > PAGES_MAX || offset > directory_end ||
        directory_end - offset != pages * ENTRY_BYTES)
        return weir_fail(err, WEIR_CORRUPT, "order file: no footer at its end");
    if (weir_get_u64(footer + 8) != inputs->dataset ||
        weir_get_u64(footer + 16) != inputs->position ||
        weir_get_u64(footer + 24) != inputs->rows || weir_get_u64(footer + 32) != inputs->erased)
        return weir_fail(err, WEIR_STALE, "order file: it was made from other samples");
    return WEIR_OK;
}

static enum weir_status read_entries(struct order *order, const uint8_t *tail, uint64_t offset,
                                     struct weir_error *err)
{
    for (size_t i = 0; i < order->page_count; i++) {
        const uint8_t *entry = tail + i * ENTRY_BYTES;
        struct order_page page = {
            .offset = weir_get_u64(entry),
            .bytes = weir_get_u32(entry + 8),
            .rows = weir_get_u32(entry + 12),
            .time = (int64_t)weir_get_u64(entry + 16),
            .id = weir_get_u64(entry + 24),
        };

        if (page.bytes < PAGE_HEADER_BYTES || page.rows == 0 || page.rows > ORDER_PAGE_ROWS ||
            page.offset > offset || page.bytes > offset - page.offset)
            return weir_fail(err, WEIR_CORRUPT, "order file: entry %zu of its directory is wild",
                             i);
        order->pages[i] = page;
    }
    return WEIR_OK;
}

static enum weir_status load(struct order *order, const char *path, uint64_t size,
                             const struct order_inputs *inputs, struct weir_error *err)
{
    uint8_t footer[FOOTER_BYTES];
    struct weir_digest digest;
    uint64_t offset;
    size_t bytes;
    enum weir_status status;

    if (size < FOOTER_BYTES)
        return weir_fail(err, WEIR_CORRUPT, "%s: it is shorter than its footer", path);
    status = read_at(order->fd, size - FOOTER_BYTES, footer, sizeof(footer), err);
    if (status == WEIR_OK)
        status = check_footer(footer, inputs, size - FOOTER_BYTES, err);
    if (status != WEIR_OK)
        return status;
    order->page_count = order->loaded = weir_get_u64(footer + 48);
    offset = weir_get_u64(footer + 56);
    bytes = size - offset; /* the footer at least: it has been checked */
    WEIR_AUTO_FREE uint8_t *tail = weir_calloc(bytes, 1);
    status = read_at(order->fd, offset, tail, bytes, err);
    if (status != WEIR_OK)
        return status;
    digest = weir_digest_of(weir_bytes(tail, bytes - sizeof(digest.bytes)));
    if (memcmp(digest.bytes, tail + bytes - sizeof(digest.bytes), sizeof(digest.bytes)) != 0)
        return weir_fail(err, WEIR_CORRUPT, "%s: its directory fails its checksum", path);
    order->pages = weir_calloc(order->page_count + 1, sizeof(*order->pages));
    return read_entries(order, tail, offset, err);
}

enum weir_status storage_order_open(const char *path, const struct order_inputs *inputs,
                                    struct order **ret_order, struct weir_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct order *order;
    off_t size;
    enum weir_status status;

    if (fd < 0)
        return errno == ENOENT ? weir_fail(err, WEIR_NOT_FOUND, "%s: no such file", path)
                               : fail_errno(err, "open", path);
    order = weir_calloc(1, sizeof(*order));
    order->fd = fd;
    size = lseek(fd, 0, SEEK_END);
    status = size < 0 ? fail_errno(err, "measure", path)
                      : load(order, path, (uint64_t)size, inputs, err);
    if (status == WEIR_OK)
        *ret_order = order;
    else
        storage_order_free(order);
    return status;
}

void storage_order_free(struct order *order)
{
    if (order == NULL)
        return;
    close(order->fd);
    free(order->pages);
    free(order);
}

/* The page in which the first row after `after` lies, unless it begins the next one. */
static size_t page_of(const struct order *order, const struct order_row *after)
{
    size_t low = 0, high = order->page_count;

    /* the first page that begins after it */
    WEIR_BISECT(low, high, middle,
                storage_order_compare(&(struct order_row){.time = order->pages[middle].time,
                                                          .id = order->pages[middle].id},
                                      after) <= 0);
    return low > 0 ? low - 1 : 0;
}

static enum weir_status load_page(struct order *order, size_t page, struct weir_error *err)
{
    enum weir_status status;

    if (order->loaded == page)
        return WEIR_OK;
    order->loaded = order->page_count;
    status = storage_order_page(order->fd, &order->pages[page], order->rows, err);
    if (status == WEIR_OK)
        order->loaded = page;
    return status;
}

enum weir_status storage_order_read(struct order *order, const struct order_row *after,
                                    size_t limit, struct order_row *rows, size_t *ret_count,
                                    struct weir_error *err)
{
    size_t count = 0;

    for (size_t p = page_of(order, after); p < order->page_count && count < limit; p++) {
        enum weir_status status = load_page(order, p, err);

        if (status != WEIR_OK)
            return status;
        for (size_t i = 0; i < order->pages[p].rows && count < limit; i++) {
            if (count > 0 || storage_order_compare(&order->rows[i], after) > 0)
                rows[count++] = order->rows[i];
        }
    }
    *ret_count = count;
    return WEIR_OK;
}
