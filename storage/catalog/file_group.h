/* Files that were registered together, as one row of Postgres: a directory manifest (C2). Files have
 * numbers in their dataset, which chunks name them by; a group is a range of these numbers. A group of
 * few files takes those of the next batch, so that files that come one at a time do not each cost a row. */
#ifndef WEIR_STORAGE_FILE_GROUP_H
#define WEIR_STORAGE_FILE_GROUP_H

#include "core/base/error.h"
#include "storage/catalog/file_entry.h"

enum {
    FILE_GROUP_MAX = 1024, /* one-sample files: written once */
    /* files that grow: each batch with one of them writes the group again; a group of fewer
     * files is open for more */
    FILE_GROUP_GROWING = 64,
};

/* Stored as numbers: append only. */
enum file_group_encoding { FILE_GROUP_WORDS, FILE_GROUP_DIFFERENCES };

struct file_group {
    uint64_t number;     /* in its dataset, from 1; 0: not yet committed */
    uint64_t first_file; /* number of files[0]; given with `number` */
    size_t count;
    size_t capacity;           /* numbers that are kept for it */
    size_t room;               /* in `files` */
    struct stored_file *files; /* NULL: they are in Postgres alone (file_cache.h) */
    bool is_touched;           /* differs from its row, which a batch or an erasure is to write */
    bool is_ahead;             /* differs from its row, until it is written for another reason */
    bool is_taking;            /* a batch adds files to it */
    bool is_used;              /* since the cache last went round */
    size_t pins;               /* holders of pointers to its files */
    size_t bytes;              /* of memory, as the cache counts them; 0: it is not there */
    char *first_path, *last_path; /* of its live files, as its row has them; NULL: none is live */

    uint16_t *order; /* of the first `ordered` files by path; NULL: they lie in order */
    size_t ordered;
};

struct file_group *storage_file_group_new(size_t capacity);
/* The number of a file in its dataset; its group is committed. */
uint64_t storage_file_number(const struct stored_file *file);
void storage_file_group_free(struct file_group *group);
WEIR_DEFINE_AUTO(file_group, storage_file_group_free)

/* The indexes of its files by path, bytewise; those without a path come first, of equal paths the one that
 * was added first. NULL when they lie in this order already. The group's, until it changes. */
const uint16_t *storage_file_group_order(struct file_group *group);
/* To be called when a file of the group has lost its path. */
void storage_file_group_reorder(struct file_group *group);
/* Notes between which paths its live files lie. */
void storage_file_group_bound(struct file_group *group);
/* Memory that its files take. */
size_t storage_file_group_bytes(const struct file_group *group);
/* Forgets its files, or takes over those of `from`, which has none then. */
void storage_file_group_empty(struct file_group *group);
void storage_file_group_fill(struct file_group *group, struct file_group *from);

/* FILE_GROUP_DIFFERENCES. */
void storage_file_group_pack(const struct file_group *group, struct weir_buf *out);
/* CORRUPT when the bytes are not `count` entries. */
enum weir_status storage_file_group_unpack(struct weir_bytes packed, uint64_t encoding,
                                           size_t count, struct file_group **ret_group,
                                           struct weir_error *err) WEIR_MUST_USE;

#endif
