/* Time and label of samples, fetched from storage by block and kept as far as memory allows. Pure:
 * the caller fetches. Nothing here is needed after a crash. */
#ifndef SELECTOR_COLUMNS_H
#define SELECTOR_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

enum { SELECTOR_COLUMNS_BYTES_MAX = 128 << 20 }; /* the newest block may go beyond it */

/* Rows that storage no longer has are left out. */
struct selector_column_block {
    uint64_t first; /* id of the block's row 0 */
    uint32_t rows;  /* asked for: rows 0 … rows - 1 */
    size_t count;
    const uint64_t *ids; /* ascending */
    const int64_t *times;
    const int64_t *labels;
    void *memory;  /* private: what the columns lie in */
    uint64_t used; /* private: when it was asked for last */
};

/* Zero-initialised is empty. */
struct selector_columns {
    struct selector_column_block *blocks;
    size_t count;
    size_t bytes;
    uint64_t clock;
};

void selector_columns_fini(struct selector_columns *columns);
/* The block whose row 0 is `first`, or NULL unless its first `rows` rows are here. Valid until the
 * next put or drop. */
const struct selector_column_block *selector_columns_get(struct selector_columns *columns,
                                                         uint64_t first, uint32_t rows);
/* Copies `block`'s columns in, in place of what was there; makes room by dropping what was not used
 * for the longest time. */
void selector_columns_put(struct selector_columns *columns,
                          const struct selector_column_block *block);
/* Forgets the block that holds `id`: its rows have changed. */
void selector_columns_drop(struct selector_columns *columns, uint64_t id);

#endif
