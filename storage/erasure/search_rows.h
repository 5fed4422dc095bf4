/* Rows of the file that is being searched, by the places of their bytes. A passage that very many samples share is
 * matched as often as there are of them: each match is judged by one look-up, not by all rows of the file. */
#ifndef WEIR_STORAGE_SEARCH_ROWS_H
#define WEIR_STORAGE_SEARCH_ROWS_H

#include "storage/chunks/chunk_cache.h"
#include "storage/store/store.h"

/* Rows of the file in one chunk. */
struct search_part {
    uint32_t block, first_row, count; /* of the chunk; count 0: it was not looked at */
    uint32_t first, end;              /* all of them lie between, */
    uint64_t from, to;                /* and their bytes */
    bool is_sorted;                   /* nothing else lies there, and their places ascend */
};

struct search_rows {
    struct search_part *parts; /* one for each chunk of the file */
    size_t count, capacity;
    uint64_t compared; /* rows, so far */
};

void storage_search_rows_fini(struct search_rows *rows);
/* Forgets the file. */
void storage_search_rows_clear(struct search_rows *rows);
/* Bytes of a file of the dataset, which has its rows in these chunks. */
struct search_rows_place {
    const struct dataset *dataset;
    struct chunk_span span;
    int64_t file; /* its number */
    uint64_t offset;
    size_t length;
};
/* True in *ret_live: a live sample holds all of them. */
enum weir_status storage_search_rows_are_live(struct search_rows *rows, struct store *store,
                                              const struct search_rows_place *place, bool *ret_live,
                                              struct weir_error *err) WEIR_MUST_USE;

/* Notes where the chunk has its rows of the file. */
void storage_search_part_look(struct search_rows *rows, struct search_part *part,
                              const struct chunk *chunk, int64_t file);
/* Returns the first row of the chunk, from `after` on, that holds the bytes; UINT32_MAX: none does. */
uint32_t storage_search_part_find(struct search_rows *rows, const struct search_part *part,
                                  const struct chunk *chunk, const struct search_rows_place *place,
                                  uint32_t after);

#endif
