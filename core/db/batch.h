/* The statements of a transaction on their way before any of them is answered: libpq's pipeline mode. For core/db
 * alone. */
#ifndef WEIR_DB_BATCH_H
#define WEIR_DB_BATCH_H

#include "core/db/prepared.h"

/* Sends the statement; what came of it is known later. `ret_rows` not NULL: all that was sent is waited for. */
enum weir_status weir_db_batch_add(struct weir_db *db, int query,
                                   const struct weir_arguments *arguments,
                                   struct weir_rows **ret_rows,
                                   struct weir_error *err) WEIR_MUST_USE;
/* Commits, or says which statement failed first. The batch is there until it is ended. */
enum weir_status weir_db_batch_commit(struct weir_db *db, struct weir_asked *asked, size_t count,
                                      struct weir_error *err) WEIR_MUST_USE;
/* Leaves the connection as it was before the batch, but for the transaction, which may be open. */
void weir_db_batch_end(struct weir_db *db);

#endif
