/* What `slice.ingestion` is compared with: the plain way of keeping samples in Postgres, one row
 * each with the two indexes that queries need, filled by COPY from rows that are ready in memory.
 * Owned by the benchmark; lives in a schema of its own in the same database. */
#ifndef BENCHMARKS_SLICE_TABLE_H
#define BENCHMARKS_SLICE_TABLE_H

#include "benchmarks/slice/corpus.h"

struct table;

/* Connects, makes the empty table, and encodes one row per sample of `corpus` for COPY. */
enum weir_status table_open(const char *conninfo, const struct corpus *corpus,
                            struct table **ret_table, struct weir_error *err) WEIR_MUST_USE;
void table_close(struct table *table);

/* Empties the table. */
enum weir_status table_clear(struct table *table, struct weir_error *err) WEIR_MUST_USE;
/* One COPY of all rows, committed. */
enum weir_status table_copy(struct table *table, struct weir_error *err) WEIR_MUST_USE;
/* Has Postgres write out what earlier work left in memory, so that the next measurement does not
 * pay for it. */
enum weir_status table_settle(struct table *table, struct weir_error *err) WEIR_MUST_USE;

#endif
