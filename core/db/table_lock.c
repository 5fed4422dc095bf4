/* A shared advisory lock: see table_lock.h. */
#include "core/db/table_lock.h"

#include "core/db/connection.h"

#include <string.h>

static const char TAKE[] = "SELECT pg_try_advisory_lock_shared(" WEIR_DB_TABLES_KEY ")";
static const char END[] = "SELECT pg_advisory_unlock_shared(" WEIR_DB_TABLES_KEY ")";

enum weir_status weir_db_tables_share(struct weir_db *db, bool *ret_taken, struct weir_error *err)
{
    enum weir_status status = weir_db_ensure(db, err);
    if (status != WEIR_OK)
        return status;
    PGresult *result = weir_db_await(db, PQsendQuery(db->conn, TAKE));
    status = weir_db_check(db, result, "table lock", err);
    *ret_taken = status == WEIR_OK && strcmp(PQgetvalue(result, 0, 0), "t") == 0;
    PQclear(result);
    return status;
}

/* A connection that was lost has lost its share; one that cannot give it back is not kept. */
void weir_db_tables_unshare(struct weir_db *db)
{
    if (db->conn != NULL && weir_db_simple(db, END, "table lock", NULL) != WEIR_OK)
        weir_db_drop(db);
}
