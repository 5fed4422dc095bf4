/* The clock by which rows are kept for days or weeks: how long a service has run, over all its processes, in a row of
 * its database. It began at the wall clock's time when the row was made; from then on it counts monotonic time, so that
 * setting the wall clock neither drops anything nor keeps it for ever, and neither does a platform that rests. A death
 * forgets what passed since the last tick. */
#ifndef WEIR_DB_LIVED_H
#define WEIR_DB_LIVED_H

#include "core/db/db.h"

/* Zeroed before the first tick. */
struct weir_lived {
    int64_t us;        /* at the last tick */
    int64_t ticked_ms; /* when that was, monotonic */
};

/* Adds the time since the last tick; the first one only reads. `query` adds $1 microseconds to the row and returns it.
 * After a failure the next tick makes up for this one. */
enum weir_status weir_lived_tick(struct weir_lived *lived, struct weir_db *db, int query,
                                 int64_t now_ms, struct weir_error *err) WEIR_MUST_USE;

#endif
