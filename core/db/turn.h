/* Turns at the tables of a database: who rewrites them (VACUUM FULL) locks them for as long as it copies, and a piece
 * of work that met such a lock half-way would break off, with what it has changed in memory. So a service takes a turn
 * for each such piece, which costs it a short statement, and who rewrites takes the only one, in between. An advisory
 * lock of the connection: it ends with it. */
#ifndef WEIR_DB_TURN_H
#define WEIR_DB_TURN_H

#include "core/db/db.h"

/* Key of the advisory lock. */
#define WEIR_DB_TURN_KEY "1464158546"

/* For rewriting, in a session of its own: waits until nobody has a turn, and nobody gets one meanwhile. */
#define WEIR_DB_ONLY_TURN     "SELECT pg_advisory_lock(" WEIR_DB_TURN_KEY ")::text"
#define WEIR_DB_ONLY_TURN_END "SELECT pg_advisory_unlock(" WEIR_DB_TURN_KEY ")"

/* Never waits: *ret_taken is false while tables are rewritten, or are about to be. */
enum weir_status weir_db_turn_take(struct weir_db *db, bool *ret_taken,
                                   struct weir_error *err) WEIR_MUST_USE;
/* Ends a turn that was taken. */
void weir_db_turn_end(struct weir_db *db);

#endif
