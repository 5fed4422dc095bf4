/* The peer of registering samples: the plain way of keeping them in Postgres, one row each
 * with the indexes that queries need, filled by COPY from rows that are ready in memory. Owned by
 * the benchmark; lives in the schema `bench` of the same database. */
#ifndef BENCHMARKS_TABLE_H
#define BENCHMARKS_TABLE_H

#include "core/base/error.h"

#include <stddef.h>
#include <stdint.h>

struct table_row {
    int32_t file;
    int32_t label;
    int64_t time_us;
    uint64_t subject; /* of tables that have one */
};

struct table_plan {
    const char *name; /* bench.NAME */
    size_t count;     /* rows */
    bool has_subject; /* one more column, and an index on it */
    void (*row)(const void *owner, size_t sample, struct table_row *ret_row);
    const void *owner;
};

struct table;

/* Connects, makes the empty table, and encodes its rows for COPY. */
enum weir_status table_open(const char *conninfo, const struct table_plan *plan,
                            struct table **ret_table, struct weir_error *err) WEIR_MUST_USE;
void table_close(struct table *table);

/* Empties the table. */
enum weir_status table_clear(struct table *table, struct weir_error *err) WEIR_MUST_USE;
/* One statement, whatever it answers; `bench` is the schema of the tables. */
enum weir_status table_execute(struct table *table, const char *sql,
                               struct weir_error *err) WEIR_MUST_USE;
/* One COPY of all rows, committed. */
enum weir_status table_copy(struct table *table, struct weir_error *err) WEIR_MUST_USE;
/* Frees the encoded rows: nothing can be copied any more. */
void table_forget_rows(struct table *table);
/* Has Postgres write out what earlier work left in memory, so that the next measurement does not
 * pay for it. */
enum weir_status table_settle(struct table *table, struct weir_error *err) WEIR_MUST_USE;
/* Rows of the table as arrays of `count`, by event time: a binary SELECT, row by row. */
struct table_columns {
    uint64_t *ids;
    int64_t *times_us;
    int64_t *labels;
    size_t count;
};
enum weir_status table_select(struct table *table, struct table_columns *columns,
                              struct weir_error *err) WEIR_MUST_USE;

#endif
