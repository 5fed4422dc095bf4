/* Changes of one dataset on their way into the store: staged file by file, committed in one
 * transaction. Ids are given at the commit, in the order of staging, without gaps (C1), so that a kill
 * at any moment and a new scan give the same ids. Staging changes the catalog in memory at once: after
 * a failed commit the catalog must be loaded again. */
#ifndef WEIR_STORAGE_BATCH_H
#define WEIR_STORAGE_BATCH_H

#include "storage/chunks/chunk_cache.h"

enum {
    BATCH_FILES_MAX = 4096,       /* commit when a batch has so many */
    BATCH_UPDATES_MAX = 8192,     /* …, of labels for another dataset's samples */
    BATCH_COMPARED_MAX = 1 << 17, /* …, that are compared by key with those that are known */
    BATCH_ROWS_MAX = 1 << 20,     /* …: what a commit waits for the disk is little to so many */
    REFUSALS_LISTED_MAX = 100,    /* of one file, with their reasons; the rest is only counted */
};

struct batch_row {
    int64_t time;
    int64_t label;
    uint64_t offset;
    uint64_t length;
    uint64_t subject; /* keyed hashes */
    uint64_t key;
    bool has_subject, has_key;
    const uint8_t *values; /* packed (label_values.h), when labels are vectors */
};

struct batch;

struct batch *storage_batch_new(struct dataset *dataset);
void storage_batch_free(struct batch *batch);
WEIR_DEFINE_AUTO(batch, storage_batch_free)

/* A new file; the answer stays where it is. */
struct stored_file *storage_batch_file(struct batch *batch, const char *path);
/* An existing file has changed: its group is written again. */
void storage_batch_touch(struct batch *batch, struct stored_file *file);
/* A sample of `file`; rows of one file are staged one after the other. */
void storage_batch_row(struct batch *batch, struct stored_file *file, const struct batch_row *row);
/* All live samples of `file` stop being live; `kind` is REMOVED or REPLACED. */
void storage_batch_kill(struct batch *batch, struct stored_file *file, enum weir_change_kind kind);

/* Refused: `count` records (or one file) at `place`, a text for people. */
struct batch_refusal {
    const char *path;
    const char *place;
    const char *reason;
    uint64_t count;
    bool is_tail;
    bool is_blocked; /* because they were erased before */
};
void storage_batch_refuse(struct batch *batch, const struct batch_refusal *refusal);
/* A subject or key, by its hash, of a record of `file` that becomes no sample and stays in the file: of a mirror. */
void storage_batch_refused_name(struct batch *batch, const struct stored_file *file, uint64_t hash);
/* Takes back what was refused of `path` before: its tail, or all of it. */
void storage_batch_withdraw(struct batch *batch, const char *path, bool all);
/* Blocks a hash from now on, and counts it, once, as something that was kept out. */
void storage_batch_block(struct batch *batch, uint64_t hash);
/* The newest row had been erased before. */
void storage_batch_returned(struct batch *batch);

/* Writes more at the end of the commit's transaction. Its failure is the commit's. */
typedef enum weir_status storage_batch_also_fn(void *owner, struct weir_db *db,
                                               struct weir_error *err);
void storage_batch_also(struct batch *batch, storage_batch_also_fn *also, void *owner);

size_t storage_batch_rows(const struct batch *batch);
/* The commit's way to find the subjects of samples that get labels; borrowed until then. */
struct key_identifier;
void storage_batch_identify(struct batch *batch, struct key_identifier *identifier);

bool storage_batch_is_full(const struct batch *batch);
bool storage_batch_is_empty(const struct batch *batch);

/* Commits and empties the batch. After a failure: UNAVAILABLE or worse, and see above. */
enum weir_status storage_batch_commit(struct batch *batch, struct weir_db *db,
                                      struct chunk_cache *cache,
                                      struct weir_error *err) WEIR_MUST_USE;

#endif
