/* A page of an open erasure: some of its samples, which were put under tombstones together and are read, overwritten
 * and forgotten together. A row of storage.erasure_ids for each request that has samples in it. Each step of a page is
 * stored when it is through, so that a death costs a page at most. */
#ifndef WEIR_STORAGE_ERASE_PAGE_H
#define WEIR_STORAGE_ERASE_PAGE_H

#include "core/base/error.h"
#include "storage/erasure/fingerprint.h"
#include "storage/keys/id_list.h"

struct erasure_record;
struct store;

enum { ERASE_PAGE_IDS = 2048 };

/* Stored as numbers: append only. */
enum page_step {
    PAGE_TOMBSTONED,
    PAGE_READ, /* its fingerprints and hashes are stored: bytes may be overwritten, and some may be */
    PAGE_OVERWRITTEN,
    PAGE_BLANK, /* its rows in chunks tell nothing, its paths are forgotten */
};

/* Share of one request in the page. */
struct page_row {
    struct erase_request *request;
    uint64_t number; /* its page */
    enum page_step step;
    struct fingerprints prints;
    bool is_stuck; /* a file stood in the way of some of it */
    uint64_t files, bytes;
};

/* Progress of this start with it. */
enum page_stage {
    PAGE_IS_NEW,
    PAGE_IS_READ,
    PAGE_IS_PLANNED, /* its pending writes to buckets have rows */
    PAGE_IS_OPEN,    /* no block that is to be overwritten has a sum */
};

/* Zeroed is none. */
struct erase_page {
    uint64_t erasure_epoch; /* 0: none */
    enum page_stage stage;
    struct page_row *rows;
    size_t row_count;
    struct id_list ids;    /* ascending */
    uint32_t *row_of;      /* … which row each is of */
    struct id_list unread; /* could not be read yet: neither in `prints` nor blocked; ascending */
    struct id_list still_unread; /* … nor this time, */
    struct id_list read;         /* and those that could */
};

void storage_page_fini(struct erase_page *page);
/* Makes erasure->page the next one that has rows below `step`, those alone; none is left when its erasure_epoch is 0
 * and *ret_done. Looks into some epochs at a time. */
enum weir_status storage_page_next(struct store *store, struct erasure_record *erasure,
                                   enum page_step step, bool *ret_done,
                                   struct weir_error *err) WEIR_MUST_USE;
/* From the first one on again. */
void storage_page_rewind(struct erasure_record *erasure);
/* The row that a sample of the page is of. */
struct page_row *storage_page_row(const struct erase_page *page, uint64_t id);

/* Inside the caller's transaction: fingerprints, what could not be read, and the step. */
enum weir_status storage_page_store_read(struct store *store, struct erase_page *page,
                                         struct weir_error *err) WEIR_MUST_USE;
/* Inside the caller's transaction: the step, for rows that nothing stands in the way of. */
enum weir_status storage_page_store_step(struct store *store, const struct erase_page *page,
                                         enum page_step step, struct weir_error *err) WEIR_MUST_USE;
/* Inside the caller's transaction: what there is to remark on its requests. */
enum weir_status storage_page_store_remarks(struct store *store, const struct erase_page *page,
                                            struct weir_error *err) WEIR_MUST_USE;

/* Pieces of one long bytea, each of its own row: for substr() over unnest(). Zeroed is empty. */
struct pieces {
    struct weir_buf bytes;
    struct id_list at, sizes;
};
void storage_pieces_add(struct pieces *pieces, struct weir_bytes piece);
void storage_pieces_fini(struct pieces *pieces);

#endif
