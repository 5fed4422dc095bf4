/* Ids, times and labels of a range of event time, in id order, page by page: as chunks hold them. A page is
 * made of pieces, one of a chunk at most; each column of a piece is packed (column.h), and travels as it
 * lies in Postgres when all rows of the chunk are wanted. A cursor is an id: it stays valid whatever is
 * appended, merged or erased meanwhile. */
#ifndef WEIR_STORAGE_LIST_H
#define WEIR_STORAGE_LIST_H

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

#endif
