/* Packs columns, appends them to a file, reads them back. */
#include "selector/pipelines/columns.h"

#include "core/base/bisect.h"
#include "core/base/file.h"
#include "core/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One column: row r is least + the r-th number of `width` bytes from `at` on. */
struct packed {
    int64_t least;
    uint64_t at;
    uint32_t width;
};

struct selector_kept_block {
    uint64_t first;
    uint32_t rows;
    bool whole;    /* storage had every row; else a mask lies at `mask` */
    uint64_t mask; /* where the block begins in the file, mask or not */
    uint64_t held; /* where the bits of held out rows are */
    uint32_t held_bytes;
    uint64_t end;
    struct packed times;
    struct packed labels;
};

/* Bytes from … end - 1 of the file. */
struct selector_hole {
    uint64_t from;
    uint64_t end;
};

void selector_columns_fini(struct selector_columns *columns)
{
    weir_require(columns->views == 0);
    if (columns->file > 0)
        close(columns->file - 1);
    free(columns->blocks);
    free(columns->holes);
    *columns = (struct selector_columns){.directory = columns->directory};
}

void selector_columns_trim(struct selector_columns *columns)
{
    bool wasteful = columns->lost > columns->bytes / 2;
    if (columns->views > 0)
        return;
    if (columns->bytes > SELECTOR_COLUMNS_BYTES_MAX || wasteful)
        selector_columns_fini(columns);
}

/* Returns the index of the block, or the one it would have. */
static size_t place_of(const struct selector_columns *columns, uint64_t first)
{
    size_t low = 0, high = columns->count;
    WEIR_BISECT(low, high, middle, columns->blocks[middle].first < first);
    return low;
}

static struct selector_kept_block *find(const struct selector_columns *columns, uint64_t first)
{
    size_t at = place_of(columns, first);
    return at < columns->count && columns->blocks[at].first == first ? &columns->blocks[at] : NULL;
}

bool selector_columns_have(const struct selector_columns *columns, uint64_t first, uint32_t rows)
{
    const struct selector_kept_block *block = find(columns, first);
    return block != NULL && block->rows >= rows;
}

/* ---- the file ---- */

static enum weir_status open_file(struct selector_columns *columns, struct weir_error *err)
{
    if (columns->file > 0)
        return WEIR_OK;
    const char *directory = columns->directory != NULL ? columns->directory : "/tmp";
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) { /* not every file system can */
        WEIR_AUTO_FREE char *path = weir_format("%s/columns.XXXXXX", directory);
        fd = mkostemp(path, O_CLOEXEC);
        if (fd >= 0)
            (void)unlink(path); /* it has no other name */
    }
    if (fd < 0)
        return weir_fail(err, WEIR_IO, "%s: no file for columns: %s", directory, strerror(errno));
    columns->file = fd + 1;
    return WEIR_OK;
}

static enum weir_status append(struct selector_columns *columns, const void *bytes, size_t size,
                               struct weir_error *err)
{
    for (size_t done = 0; done < size;) {
        ssize_t wrote = pwrite(columns->file - 1, (const char *)bytes + done, size - done,
                               (off_t)(columns->bytes + done));
        if (wrote < 0 && errno != EINTR)
            return weir_fail(err, WEIR_IO, "columns: %s", strerror(errno));
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    columns->bytes += size;
    return WEIR_OK;
}

static enum weir_status read_at(const struct selector_columns *columns, uint64_t at, void *bytes,
                                size_t size, struct weir_error *err)
{
    ssize_t got = weir_read_at(columns->file - 1, bytes, size, at);
    if (got < 0 || (size_t)got < size)
        return weir_fail(err, WEIR_IO, "columns: %s", got < 0 ? strerror(errno) : "they are cut");
    return WEIR_OK;
}

/* ---- packing ---- */

static uint32_t width_of(uint64_t span)
{
    return span == 0            ? 0
           : span <= UINT8_MAX  ? 1
           : span <= UINT16_MAX ? 2
           : span <= UINT32_MAX ? 4
                                : 8;
}

/* Row r of the column to `packed`; little-endian, as all machines are that Weir runs on. */
static void pack(const struct selector_column_block *block, const int64_t *values,
                 const struct packed *column, uint8_t *packed)
{
    for (size_t i = 0; i < block->count && column->width > 0; i++) {
        uint64_t excess = (uint64_t)values[i] - (uint64_t)column->least;
        memcpy(packed + (size_t)weir_sample_row(block->ids[i]) * column->width, &excess,
               column->width);
    }
}

static enum weir_status append_column(struct selector_columns *columns,
                                      const struct selector_column_block *block,
                                      const int64_t *values, struct packed *ret_column,
                                      struct weir_error *err)
{
    struct packed column = {.at = columns->bytes};
    int64_t most = block->count > 0 ? values[0] : 0;
    column.least = most;
    for (size_t i = 1; i < block->count; i++) {
        column.least = values[i] < column.least ? values[i] : column.least;
        most = values[i] > most ? values[i] : most;
    }
    column.width = width_of((uint64_t)most - (uint64_t)column.least);
    size_t size = (size_t)block->rows * column.width;
    WEIR_AUTO_FREE uint8_t *packed = weir_calloc(size + 1, 1);
    pack(block, values, &column, packed);
    *ret_column = column;
    return append(columns, packed, size, err);
}

static enum weir_status append_mask(struct selector_columns *columns,
                                    const struct selector_column_block *block,
                                    struct weir_error *err)
{
    uint64_t mask[SELECTOR_MASK_WORDS] = {0};
    for (size_t i = 0; i < block->count; i++)
        selector_mask_fill(mask, weir_sample_row(block->ids[i]), 1, true);
    return append(columns, mask, sizeof(mask), err);
}

static bool is_sane(const struct selector_column_block *block)
{
    bool sane = block->count <= block->rows && block->rows <= WEIR_BLOCK_ROWS &&
                block->held_out.size <= WEIR_BLOCK_ROWS / 8;
    for (size_t i = 0; sane && i < block->count; i++)
        sane = block->ids[i] - block->first < block->rows &&
               (i == 0 || block->ids[i] > block->ids[i - 1]);
    return sane;
}

static void insert(struct selector_columns *columns, const struct selector_kept_block *kept)
{
    size_t at = place_of(columns, kept->first);
    columns->blocks = weir_realloc(columns->blocks, columns->count + 1, sizeof(*columns->blocks));
    memmove(columns->blocks + at + 1, columns->blocks + at,
            (columns->count - at) * sizeof(*columns->blocks));
    columns->blocks[at] = *kept;
    columns->count++;
}

enum weir_status selector_columns_put(struct selector_columns *columns,
                                      const struct selector_column_block *block,
                                      struct weir_error *err)
{
    if (!is_sane(block))
        return weir_fail(err, WEIR_CORRUPT, "columns of other rows than were asked for");
    selector_columns_drop(columns, block->first);
    enum weir_status status = open_file(columns, err);
    struct selector_kept_block kept = {.first = block->first,
                                       .rows = block->rows,
                                       .whole = block->count == block->rows,
                                       .mask = columns->bytes};
    if (status == WEIR_OK && !kept.whole)
        status = append_mask(columns, block, err);
    kept.held = columns->bytes;
    kept.held_bytes = (uint32_t)block->held_out.size;
    if (status == WEIR_OK)
        status = append(columns, block->held_out.at, block->held_out.size, err);
    if (status == WEIR_OK)
        status = append_column(columns, block, block->times, &kept.times, err);
    if (status == WEIR_OK)
        status = append_column(columns, block, block->labels, &kept.labels, err);
    if (status != WEIR_OK)
        return status;
    kept.end = columns->bytes;
    insert(columns, &kept);
    return WEIR_OK;
}

/* A hole reads as zeros, and gives the room back. */
static void punch(const struct selector_columns *columns, const struct selector_hole *hole)
{
    static const char ZEROS[4096];
    bool punched = hole->end == hole->from ||
                   fallocate(columns->file - 1, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                             (off_t)hole->from, (off_t)(hole->end - hole->from)) == 0;
    for (uint64_t here = hole->from; !punched && here < hole->end; here += sizeof(ZEROS)) {
        size_t size = hole->end - here < sizeof(ZEROS) ? (size_t)(hole->end - here) : sizeof(ZEROS);
        if (pwrite(columns->file - 1, ZEROS, size, (off_t)here) < 0)
            break; /* the file has no name, and goes with the process */
    }
}

static void punch_later(struct selector_columns *columns, const struct selector_hole *hole)
{
    columns->holes = weir_realloc(columns->holes, columns->hole_count + 1, sizeof(*columns->holes));
    columns->holes[columns->hole_count++] = *hole;
}

void selector_columns_drop(struct selector_columns *columns, uint64_t id)
{
    size_t at = place_of(columns, id - weir_sample_row(id));
    if (at == columns->count || columns->blocks[at].first != id - weir_sample_row(id))
        return;
    struct selector_kept_block gone = columns->blocks[at];
    const struct selector_hole hole = {gone.mask, gone.end};
    if (columns->views > 0)
        punch_later(columns, &hole);
    else
        punch(columns, &hole);
    columns->lost += gone.end - gone.mask;
    memmove(columns->blocks + at, columns->blocks + at + 1,
            (columns->count - at - 1) * sizeof(*columns->blocks));
    columns->count--;
}

void selector_columns_clear(struct selector_columns *columns)
{
    while (columns->count > 0)
        selector_columns_drop(columns, columns->blocks[columns->count - 1].first);
    selector_columns_trim(columns);
}

/* ---- reading ---- */

void selector_columns_view(struct selector_columns *columns, struct selector_columns *ret_view)
{
    size_t bytes = columns->count * sizeof(*columns->blocks);
    *ret_view = (struct selector_columns){.file = columns->file, .count = columns->count};
    ret_view->blocks = weir_calloc(columns->count + 1, sizeof(*columns->blocks));
    if (bytes > 0)
        memcpy(ret_view->blocks, columns->blocks, bytes);
    columns->views++;
}

void selector_columns_unview(struct selector_columns *columns, struct selector_columns *view)
{
    free(view->blocks);
    *view = (struct selector_columns){0};
    weir_require(columns->views > 0);
    if (--columns->views > 0)
        return;
    for (size_t i = 0; i < columns->hole_count; i++)
        punch(columns, &columns->holes[i]);
    columns->hole_count = 0;
}

enum weir_status selector_columns_mask(const struct selector_columns *columns, uint64_t first,
                                       uint64_t mask[SELECTOR_MASK_WORDS], struct weir_error *err)
{
    const struct selector_kept_block *block = find(columns, first);
    weir_require(block != NULL); /* gather_block() asks storage for it first */
    uint64_t had[SELECTOR_MASK_WORDS];
    if (block->whole)
        return WEIR_OK;
    enum weir_status status = read_at(columns, block->mask, had, sizeof(had), err);
    for (size_t i = 0; status == WEIR_OK && i < SELECTOR_MASK_WORDS; i++)
        mask[i] &= had[i];
    return status;
}

enum weir_status selector_columns_hold_out(const struct selector_columns *columns, uint64_t first,
                                           bool held, uint64_t mask[SELECTOR_MASK_WORDS],
                                           struct weir_error *err)
{
    const struct selector_kept_block *block = find(columns, first);
    weir_require(block != NULL);
    uint64_t out[SELECTOR_MASK_WORDS] = {0}; /* little-endian words, as the bits are packed */
    enum weir_status status = read_at(columns, block->held, out, block->held_bytes, err);
    for (size_t i = 0; status == WEIR_OK && i < SELECTOR_MASK_WORDS; i++)
        mask[i] &= held ? out[i] : ~out[i];
    return status;
}

/* One function for each width, so that each loop is tight; tighter still where no row is left out. */
#define UNPACK(type)                                                                            \
    static void unpack_##type(const uint8_t *packed, int64_t least, const uint64_t *ids,        \
                              size_t count, int64_t *values)                                    \
    {                                                                                           \
        uint32_t from = weir_sample_row(ids[0]);                                                \
        bool unbroken = ids[count - 1] - ids[0] + 1 == count;                                   \
        type excess;                                                                            \
        for (size_t i = 0; unbroken && i < count; i++) {                                        \
            memcpy(&excess, packed + (from + i) * sizeof(excess), sizeof(excess));              \
            values[i] = (int64_t)((uint64_t)least + excess);                                    \
        }                                                                                       \
        for (size_t i = 0; !unbroken && i < count; i++) {                                       \
            memcpy(&excess, packed + weir_sample_row(ids[i]) * sizeof(excess), sizeof(excess)); \
            values[i] = (int64_t)((uint64_t)least + excess);                                    \
        }                                                                                       \
    }

UNPACK(uint8_t)
UNPACK(uint16_t)
UNPACK(uint32_t)
UNPACK(uint64_t)

static void unpack(const uint8_t *packed, const struct packed *column, const uint64_t *ids,
                   size_t count, int64_t *values)
{
    switch (column->width) {
    case 1:
        unpack_uint8_t(packed, column->least, ids, count, values);
        break;
    case 2:
        unpack_uint16_t(packed, column->least, ids, count, values);
        break;
    case 4:
        unpack_uint32_t(packed, column->least, ids, count, values);
        break;
    case 8:
        unpack_uint64_t(packed, column->least, ids, count, values);
        break;
    default:
        for (size_t i = 0; i < count; i++)
            values[i] = column->least;
    }
}

static enum weir_status read_column(const struct selector_columns *columns,
                                    const struct packed *column, const uint64_t *ids, size_t count,
                                    int64_t *values, struct weir_error *err)
{
    size_t rows = (size_t)weir_sample_row(ids[count - 1]) + 1;
    WEIR_AUTO_FREE uint8_t *packed = weir_calloc(rows * column->width + 1, 1);
    enum weir_status status = read_at(columns, column->at, packed, rows * column->width, err);
    if (status == WEIR_OK)
        unpack(packed, column, ids, count, values);
    return status;
}

enum weir_status selector_columns_read(const struct selector_columns *columns, const uint64_t *ids,
                                       size_t count, int64_t *times, int64_t *labels,
                                       struct weir_error *err)
{
    const struct selector_kept_block *block = find(columns, ids[0] - weir_sample_row(ids[0]));
    weir_require(block != NULL && weir_sample_row(ids[count - 1]) < block->rows);
    enum weir_status status = WEIR_OK;
    if (times != NULL)
        status = read_column(columns, &block->times, ids, count, times, err);
    if (status == WEIR_OK && labels != NULL)
        status = read_column(columns, &block->labels, ids, count, labels, err);
    return status;
}
