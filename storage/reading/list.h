/* Ids, times and labels of a range of event time, in id order, page by page: as chunks hold them. A page is
 * made of pieces, one of a chunk at most; each column of a piece is packed (column.h), and travels as it
 * lies in Postgres when all rows of the chunk are wanted. A cursor is an id: it stays valid whatever is
 * appended, merged or erased meanwhile. */
#ifndef WEIR_STORAGE_LIST_H
#define WEIR_STORAGE_LIST_H

#include "core/rpc/rpc.h"
#include "core/wire/wire.h"

enum {
    LIST_ROWS_MAX = 4 << 20, /* of a page */
    LIST_CHUNKS_MAX = 256,   /* looked into for a page */
    LIST_IDS = 0,            /* the frames */
    LIST_TIMES,
    LIST_LABELS,
    LIST_COLUMNS,
    /* the frame after them, when it is asked for and labels are vectors */
    LIST_VALUES = LIST_COLUMNS,
};

/* Rows of a page. */
size_t storage_list_rows(const struct msg_list_is *page);
/* A page as arrays of storage_list_rows() each. CORRUPT when the frames are not what the page says. */
enum weir_status storage_list_unpack(const struct msg_list_is *page,
                                     const struct weir_frames *frames,
                                     int64_t *const columns[LIST_COLUMNS],
                                     struct weir_error *err) WEIR_MUST_USE;

#endif
