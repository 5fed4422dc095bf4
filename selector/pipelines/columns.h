/* Time and label of samples, fetched from storage by block and kept in a file without a name, so that they
 * cost no memory and are gone with the process. Numbers are kept as their distance from the least of their
 * block, in 0, 1, 2, 4 or 8 bytes. Nothing here is needed after a crash. */
#ifndef SELECTOR_PIPELINES_COLUMNS_H
#define SELECTOR_PIPELINES_COLUMNS_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "selector/sets/set.h"

enum { SELECTOR_COLUMNS_BYTES_MAX = 1 << 30 };

/* A block as storage sends it. Rows that storage no longer has are left out. */
struct selector_column_block {
    uint64_t first; /* id of the block's row 0 */
    uint32_t rows;  /* asked for: rows 0 … rows - 1 */
    size_t count;
    const uint64_t *ids; /* ascending */
    const int64_t *times;
    const int64_t *labels;
    struct weir_bytes held_out; /* rows that are held out by subject, bit 0 of byte 0 first */
};

struct selector_kept_block; /* private */
struct selector_hole;       /* private */
/* Zero-initialised is empty. */
struct selector_columns {
    const char *directory; /* of the file; the owner's */
    struct selector_kept_block *blocks;
    size_t count;
    int file; /* descriptor + 1; 0: none yet */
    uint64_t bytes;
    uint64_t lost; /* of them, of blocks that are kept no longer */
    size_t views;  /* open views of the file */
    /* dropped while there were views: overwritten when there are none */
    struct selector_hole *holes;
    size_t hole_count;
};

void selector_columns_fini(struct selector_columns *columns);
/* Begins again if the file has become too large; call when no block is needed. */
void selector_columns_trim(struct selector_columns *columns);
/* True when the first `rows` rows of the block are here. */
bool selector_columns_have(const struct selector_columns *columns, uint64_t first, uint32_t rows);
/* Keeps `block` in place of an older one. CORRUPT when it makes no sense, IO. */
enum weir_status selector_columns_put(struct selector_columns *columns,
                                      const struct selector_column_block *block,
                                      struct weir_error *err) WEIR_MUST_USE;
/* Forgets the block that holds `id`, and overwrites it in the file once no view is left:
 * its rows have changed. */
void selector_columns_drop(struct selector_columns *columns, uint64_t id);

/* Forgets all blocks, each as selector_columns_drop() does; the file goes, unless there are views. */
void selector_columns_clear(struct selector_columns *columns);

/* Makes a view of the blocks that are here now, for a thread that reads while blocks come and go; for reading only, and
 * not trimmed meanwhile. Given back by selector_columns_unview(). */
void selector_columns_view(struct selector_columns *columns, struct selector_columns *ret_view);
void selector_columns_unview(struct selector_columns *columns, struct selector_columns *view);

/* Takes the rows that storage did not have out of `mask`. The block is here. */
enum weir_status selector_columns_mask(const struct selector_columns *columns, uint64_t first,
                                       uint64_t mask[SELECTOR_MASK_WORDS],
                                       struct weir_error *err) WEIR_MUST_USE;
/* Takes the rows that are held out by subject out of `mask`, or with `held` the others. The block is here. */
enum weir_status selector_columns_hold_out(const struct selector_columns *columns, uint64_t first,
                                           bool held, uint64_t mask[SELECTOR_MASK_WORDS],
                                           struct weir_error *err) WEIR_MUST_USE;
/* Times and labels (NULL: not wanted) of `count` ids of one block, which is here. */
enum weir_status selector_columns_read(const struct selector_columns *columns, const uint64_t *ids,
                                       size_t count, int64_t *times, int64_t *labels,
                                       struct weir_error *err) WEIR_MUST_USE;

#endif
