/* Jobs in Postgres, schema `preprocess`. Every function is one statement or one transaction, waits for
 * Postgres (on a thread, but at the start: core/db/thread.h), and fails with UNAVAILABLE while the
 * database is away. Rows keep paths relative to `data_dir`. */
#ifndef WEIR_PREPROCESS_DISPATCHER_STORE_H
#define WEIR_PREPROCESS_DISPATCHER_STORE_H

#include "core/db/db.h"
#include "preprocess/dispatcher/image.h"

/* Connects, migrates, and begins a new incarnation. */
enum weir_status preprocess_store_open(const char *conninfo, struct weir_db **ret_db,
                                       uint64_t *ret_incarnation,
                                       struct weir_error *err) WEIR_MUST_USE;
/* Numbers of the jobs that are not closed, ascending; free() them. */
enum weir_status preprocess_store_list(struct weir_db *db, uint64_t **ret_numbers,
                                       size_t *ret_count, struct weir_error *err) WEIR_MUST_USE;
/* NOT_FOUND. The entry is not planned yet; preprocess_record_fini() the record, which comes zeroed,
 * in any case. */
enum weir_status preprocess_store_load(struct weir_db *db, const char *data_dir, uint64_t number,
                                       struct dispatcher_entry **ret_entry,
                                       struct dispatcher_record *ret_record,
                                       struct weir_error *err) WEIR_MUST_USE;
/* `*ret_is_new` false: there is a job of that number, which stays as it is. */
enum weir_status preprocess_store_add(struct weir_db *db, const char *data_dir,
                                      const struct dispatcher_entry *entry, bool *ret_is_new,
                                      struct weir_error *err) WEIR_MUST_USE;
/* Stores records in one transaction; where that fails for another reason than that Postgres is away, each in its own.
 * The images say which were. */
enum weir_status preprocess_store_save(struct weir_db *db, struct dispatcher_images *images,
                                       struct weir_error *err) WEIR_MUST_USE;
/* The same with what may be a little late. */
enum weir_status preprocess_store_reports(struct weir_db *db, struct dispatcher_images *images,
                                          struct weir_error *err) WEIR_MUST_USE;
enum weir_status preprocess_store_token(struct weir_db *db, uint64_t number, const char *token,
                                        struct weir_error *err) WEIR_MUST_USE;
enum weir_status preprocess_store_quota(struct weir_db *db, uint64_t number,
                                        const struct shares_quota *quota,
                                        struct weir_error *err) WEIR_MUST_USE;
enum weir_status preprocess_store_fitted(struct weir_db *db, uint64_t number,
                                         struct weir_bytes fitted,
                                         struct weir_error *err) WEIR_MUST_USE;
/* Closes jobs: keeps what the audit needs; of the costs, the sum over all workers. One that is abandoned is closed
 * alone, and everything is kept. */
enum weir_status preprocess_store_end(struct weir_db *db, const struct dispatcher_images *images,
                                      struct weir_error *err) WEIR_MUST_USE;
/* Closes jobs, and deletes what all up to number `upto` hold of people: fitted state and reasons of failures. */
enum weir_status preprocess_store_purge(struct weir_db *db, const struct dispatcher_images *images,
                                        uint64_t upto, struct msg_jobs_purged *ret_purged,
                                        struct weir_error *err) WEIR_MUST_USE;
/* Takes up an abandoned job again. */
enum weir_status preprocess_store_reopen(struct weir_db *db, uint64_t number,
                                         struct weir_error *err) WEIR_MUST_USE;
struct planning;
struct keeping;
/* Takes up the plan of `operators` operators that is stored under the key, into one that has begun; nothing when there
 * is none that fits. */
enum weir_status preprocess_store_plan_load(struct weir_db *db, const struct weir_digest *key,
                                            size_t operators, struct planning *planning,
                                            struct keeping *keeping,
                                            struct weir_error *err) WEIR_MUST_USE;
/* Those that were used longest ago make room. */
enum weir_status preprocess_store_plan_save(struct weir_db *db, const struct weir_digest *key,
                                            size_t operators, const struct planning *planning,
                                            const struct keeping *keeping,
                                            struct weir_error *err) WEIR_MUST_USE;
/* Says what came of the rows that are kept, over all jobs; columns in the arena. */
enum weir_status preprocess_store_kept(struct weir_db *db, struct weir_arena *arena,
                                       struct msg_cache_is *ret_answer,
                                       struct weir_error *err) WEIR_MUST_USE;

#endif
