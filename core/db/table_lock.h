/* A lock on all tables of a database. VACUUM FULL locks each table for as long as it copies it, and a piece of work
 * that met such a lock half-way would break off, with what it has changed in memory. So a service shares this lock for
 * each such piece, at the cost of a short statement, and a rewrite takes it alone, in between. An advisory lock of the
 * connection: it ends with it. */
#ifndef WEIR_DB_TABLE_LOCK_H
#define WEIR_DB_TABLE_LOCK_H

#include "core/db/db.h"

/* Key of the advisory lock. */
#define WEIR_DB_TABLES_KEY "1464158546"

/* For a rewrite, in a session of its own: waits until nobody shares the lock; nobody can share it meanwhile. */
#define WEIR_DB_TABLES_LOCK   "SELECT pg_advisory_lock(" WEIR_DB_TABLES_KEY ")::text"
#define WEIR_DB_TABLES_UNLOCK "SELECT pg_advisory_unlock(" WEIR_DB_TABLES_KEY ")"

/* Never waits: *ret_taken is false while tables are rewritten, or are about to be. */
enum weir_status weir_db_tables_share(struct weir_db *db, bool *ret_taken,
                                      struct weir_error *err) WEIR_MUST_USE;
/* Gives back a share that was taken. */
void weir_db_tables_unshare(struct weir_db *db);

#endif
