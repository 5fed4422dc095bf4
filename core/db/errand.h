/* A connection of its own for statements that take long: VACUUM FULL, CHECKPOINT. The loop drives it, so that
 * nobody waits for them. One statement at a time. */
#ifndef WEIR_DB_ERRAND_H
#define WEIR_DB_ERRAND_H

#include "core/db/db.h"
#include "core/loop/loop.h"

struct weir_db_errand;

/* `rows` are borrowed and NULL on failure; statements without a result have none. */
typedef void weir_db_errand_fn(void *owner, const struct weir_rows *rows,
                               const struct weir_error *err);

/* Connects as `db` did, which takes milliseconds. */
enum weir_status weir_db_errand_new(const struct weir_db *db, struct weir_loop *loop,
                                    struct weir_db_errand **ret_errand,
                                    struct weir_error *err) WEIR_MUST_USE;
/* Runs one statement without parameters and calls `done`, never before it returns. A statement that waits for a lock
 * for longer than 1 s fails with UNAVAILABLE, so that those who queue behind it do not wait. */
void weir_db_errand_run(struct weir_db_errand *errand, const char *sql, weir_db_errand_fn *done,
                        void *owner);
/* A statement on its way is abandoned: `done` is not called. */
void weir_db_errand_free(struct weir_db_errand *errand);
WEIR_DEFINE_AUTO(weir_db_errand, weir_db_errand_free)

#endif
