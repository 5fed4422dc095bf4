/* Reading an answer to `list` (storage/reading/list.h), as the asker does. */
#ifndef WEIR_TESTS_SUPPORT_LIST_PAGE_H
#define WEIR_TESTS_SUPPORT_LIST_PAGE_H

#include "core/rpc/rpc.h"
#include "core/wire/column.h"
#include "storage/reading/list.h"

/* Rows of a page. */
static inline size_t list_page_rows(const struct msg_list_is *page)
{
    size_t rows = 0;

    for (size_t i = 0; i < page->rows.count; i++)
        rows += page->rows.at[i];
    return rows;
}

static inline enum weir_status list_page_column(const struct weir_u32s *rows,
                                                const struct weir_u32s *bytes,
                                                struct weir_bytes frame, int64_t *values,
                                                struct weir_error *err)
{
    size_t at = 0;
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; status == WEIR_OK && i < rows->count; i++) {
        if (bytes->count != rows->count || bytes->at[i] > frame.size - at)
            return weir_fail(err, WEIR_CORRUPT, "list_is: a frame ends inside piece %zu", i);
        status =
            weir_column_unpack(weir_bytes(frame.at + at, bytes->at[i]), values, rows->at[i], err);
        values += rows->at[i];
        at += bytes->at[i];
    }
    return status;
}

/* A page as arrays of list_page_rows() each. CORRUPT when the frames are not as the page says. */
static inline enum weir_status list_page_unpack(const struct msg_list_is *page,
                                                const struct weir_frames *frames,
                                                int64_t *const columns[LIST_COLUMNS],
                                                struct weir_error *err)
{
    const struct weir_u32s *bytes[LIST_COLUMNS] = {&page->id_bytes, &page->time_bytes,
                                                   &page->label_bytes};
    enum weir_status status = WEIR_OK;

    if (frames->count != LIST_COLUMNS && frames->count != LIST_VALUES + 1)
        return weir_fail(err, WEIR_CORRUPT, "list_is: found %zu frames, expected %d", frames->count,
                         LIST_COLUMNS);
    for (size_t c = 0; status == WEIR_OK && c < LIST_COLUMNS; c++)
        status =
            list_page_column(&page->rows, bytes[c], weir_frames_at(frames, c), columns[c], err);
    return status;
}

#endif
