/* Places of a file's samples, in the order of the file: the records that stay when everything else in it is
 * overwritten. Read from chunks as far as they are needed. */
#ifndef WEIR_STORAGE_DROP_CLAIMS_H
#define WEIR_STORAGE_DROP_CLAIMS_H

#include "storage/chunks/chunk_cache.h"

struct drop_claim {
    uint64_t offset;
    bool is_erased; /* its bytes may be blank, or are not overwritten yet */
};

/* Zeroed has none. */
struct drop_claims {
    struct chunk_cache *cache;
    struct weir_db *db;
    const struct dataset *dataset;
    uint64_t file;         /* its number */
    struct drop_claim *at; /* by offset; those before `head` are passed */
    size_t head, count, capacity;
    uint64_t next, last; /* rows that are not read yet: block << 16 | row */
    uint64_t behind;     /* begin of the newest, plus one */
    bool is_through;     /* all are read */
    bool is_unordered;   /* they do not ascend: nothing can be derived from them */
};

/* Claims of the file, from its first one on. `claims` has where to read from. */
void storage_drop_claims_begin(struct drop_claims *claims, const struct stored_file *file);
void storage_drop_claims_fini(struct drop_claims *claims);
/* Reads one chunk, if some that begin before `upto` may not be read; *ret_full: none. */
enum weir_status storage_drop_claims_fill(struct drop_claims *claims, uint64_t upto, bool *ret_full,
                                          struct weir_error *err) WEIR_MUST_USE;
/* Passes those that begin before `upto`; false when one of them was not erased. */
bool storage_drop_claims_pass(struct drop_claims *claims, uint64_t upto);
/* Passes the one that begins at `offset`; false when there is none. */
bool storage_drop_claims_take(struct drop_claims *claims, uint64_t offset);

#endif
