/* State of a batch between staging and commit; only batch.c and batch_commit.c look inside. */
#ifndef WEIR_STORAGE_BATCH_STAGE_H
#define WEIR_STORAGE_BATCH_STAGE_H

#include "storage/intake/batch.h"
#include "storage/keys/id_list.h"

enum batch_column {
    BATCH_TIME,
    BATCH_LABEL,
    BATCH_FILE, /* filled at the commit, which numbers files */
    BATCH_OFFSET,
    BATCH_LENGTH,
    BATCH_COLUMNS
};

/* Rows first … first + count - 1 belong to one file. */
struct batch_segment {
    struct stored_file *file;
    size_t first;
    size_t count;
};
struct batch_kill {
    struct stored_file *file;
    enum weir_change_kind kind;
};
struct batch_withdrawal {
    char *path;
    bool all;
};
struct staged_refusal {
    char *path, *place, *reason;
    uint64_t count;
    bool is_tail, is_blocked;
};
struct staged_name {
    const struct stored_file *file;
    uint64_t hash;
};

#define LIST(type)       \
    struct {             \
        type *at;        \
        size_t count;    \
        size_t capacity; \
    }

struct batch {
    struct dataset *dataset;
    struct file_group *open;      /* takes the next files */
    struct file_group *continued; /* a stored group that takes files, */
    size_t continued_from;        /* and how many it had */
    size_t file_count;
    LIST(struct file_group *) groups; /* to be written: new ones have number 0 */
    LIST(struct batch_segment) segments;
    struct {
        struct sorted_run_entry *at; /* their id is the row of the batch until the commit */
        size_t count;                /* at most one a row, and there is room for as many */
    } subjects, keys;
    /* places (block << 16 | row) that rows take, of a batch of late labels */
    struct id_list replaced;
    bool is_late;                      /* its rows have their labels from another dataset */
    struct key_identifier *identifier; /* borrowed; NULL: nobody's subject is asked for */
    LIST(struct batch_kill) kills;
    LIST(struct staged_refusal) refusals;
    LIST(struct batch_withdrawal) withdrawals;
    LIST(struct staged_name) refused_names;
    LIST(uint64_t) met;     /* blocked hashes that are counted now */
    LIST(uint64_t) blocked; /* hashes to be blocked from now on */
    int64_t *columns[BATCH_COLUMNS];
    size_t row_count, row_capacity;
    struct weir_buf values; /* of labels that are vectors, row by row */
    storage_batch_also_fn *also;
    void *also_owner;
};

/* Columns that have room for `count` more rows; all but BATCH_FILE are the caller's to fill. */
void storage_batch_room(struct batch *batch, size_t count, int64_t *ret_columns[BATCH_COLUMNS]);
/* `count` samples of `file`, whose columns are filled. */
void storage_batch_add_rows(struct batch *batch, struct stored_file *file, size_t count);
/* Returns the segment that a row, which is there, lies in. */
const struct batch_segment *storage_batch_segment(const struct batch *batch, uint64_t row);
/* The files of the batch are committed. */
void storage_batch_keep_files(struct batch *batch);
void storage_batch_clear(struct batch *batch);

#endif
