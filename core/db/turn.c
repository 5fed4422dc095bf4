/* A shared advisory lock: see turn.h. */
#include "core/db/turn.h"

#include "core/db/connection.h"

#include <string.h>

static const char TAKE[] = "SELECT pg_try_advisory_lock_shared(" WEIR_DB_TURN_KEY ")";
static const char END[] = "SELECT pg_advisory_unlock_shared(" WEIR_DB_TURN_KEY ")";

enum weir_status weir_db_turn_take(struct weir_db *db, bool *ret_taken, struct weir_error *err)
{
    enum weir_status status = weir_db_ensure(db, err);
    if (status != WEIR_OK)
        return status;
    PGresult *result = PQexec(db->conn, TAKE);
    status = weir_db_check(db, result, "turn", err);
    *ret_taken = status == WEIR_OK && strcmp(PQgetvalue(result, 0, 0), "t") == 0;
    PQclear(result);
    return status;
}

/* A connection that was lost has lost its turn; one that cannot give it back is not kept. */
void weir_db_turn_end(struct weir_db *db)
{
    if (db->conn != NULL && weir_db_simple(db, END, "turn", NULL) != WEIR_OK)
        weir_db_drop(db);
}
