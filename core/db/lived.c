/* One row: see lived.h. */
#include "core/db/lived.h"

enum { US_PER_MS = 1000 };

enum weir_status weir_lived_tick(struct weir_lived *lived, struct weir_db *db, int query,
                                 int64_t now_ms, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    int64_t passed_ms = lived->us == 0 || now_ms < lived->ticked_ms ? 0 : now_ms - lived->ticked_ms;
    enum weir_status status = DB_RUN(db, query, &rows, err, DB_I64(passed_ms * US_PER_MS));
    if (status != WEIR_OK)
        return status;
    *lived = (struct weir_lived){.us = weir_rows_i64(rows, 0, "us"), .ticked_ms = now_ms};
    return WEIR_OK;
}
