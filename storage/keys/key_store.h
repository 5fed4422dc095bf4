/* Sorted runs of keyed hashes in Postgres: read at the start, added to by each batch, read by look-ups.
 * A run never changes but by an erasure. Survives: a crash between any two statements; a run that a merge
 * was writing is dropped at the next start. */
#ifndef WEIR_STORAGE_KEY_STORE_H
#define WEIR_STORAGE_KEY_STORE_H

#include "core/db/db.h"
#include "storage/keys/id_list.h"
#include "storage/keys/key_index.h"
#include "storage/keys/sorted_run_writer.h"

/* Runs with so many entries get a partition of their own. */
enum { KEY_OWN_PARTITION = 1 << 17 };

/* Fills the empty `index` with the dataset's runs of its kind. */
enum weir_status storage_key_store_load(struct weir_db *db, uint32_t dataset,
                                        struct key_index *index,
                                        struct weir_error *err) WEIR_MUST_USE;

/* Sorts them as storage_sorted_run_sort() does; others are answered in between. */
void storage_key_store_sort(struct weir_db *db, struct sorted_run_entry *entries, size_t count);
/* Stores `entries` (which it sorts) as a run, inside the caller's transaction, and adds it to `index`.
 * After a failure of the transaction the index must be loaded again. */
enum weir_status storage_key_store_add(struct weir_db *db, uint32_t dataset,
                                       struct key_index *index, struct sorted_run_entry *entries,
                                       size_t count, struct weir_error *err) WEIR_MUST_USE;

/* Reads segments; zeroed but for `db`. */
struct key_reader {
    struct weir_db *db;
    struct weir_rows *rows;
};
void storage_key_reader_fini(struct key_reader *reader);
/* Borrows the reader. */
struct key_source storage_key_reader_source(struct key_reader *reader);

/* The entries of `hashes` (ascending, distinct); those that are found once there are `max` may be left out. */
enum weir_status storage_key_store_find(struct weir_db *db, const struct key_index *index,
                                        const struct id_list *hashes, size_t max,
                                        struct key_hits *hits,
                                        struct weir_error *err) WEIR_MUST_USE;

/* For merges (key_merge.h): a run that is not yet complete, its segments, and the end of it, which puts
 * it in the place of `inputs`. The last one must be inside a transaction. */
enum weir_status storage_key_store_begin(struct weir_db *db, uint32_t dataset, enum key_kind kind,
                                         bool is_own, uint64_t *ret_run,
                                         struct weir_error *err) WEIR_MUST_USE;
enum weir_status storage_key_store_segments(struct weir_db *db, uint64_t run,
                                            struct sorted_run_writer *writer,
                                            struct weir_error *err) WEIR_MUST_USE;
enum weir_status storage_key_store_complete(struct weir_db *db, uint64_t run,
                                            const struct sorted_run_writer *writer,
                                            struct weir_error *err) WEIR_MUST_USE;
enum weir_status storage_key_store_drop(struct weir_db *db, uint64_t run, bool is_own,
                                        struct weir_error *err) WEIR_MUST_USE;
/* The run in memory; takes the filter out of `writer`. */
struct sorted_run storage_key_store_run(uint64_t number, bool is_own,
                                        struct sorted_run_writer *writer);

/* Takes the entries of erased samples out of the next segments of a walk; inside the caller's transaction. What a
 * filter knows of them, and half a hash in 1024 as a fence, go with the next merge of the run. */
struct key_erasure {
    bool (*is_erased)(const void *owner, uint64_t id); /* without its dataset */
    const void *owner;
};
enum weir_status storage_key_store_erase(struct weir_db *db, struct key_index *index,
                                         const struct key_erasure *erasure, struct key_walk *walk,
                                         bool *ret_done, struct weir_error *err) WEIR_MUST_USE;

#endif
