/* The records of a job as tables: the `source` of its datasets, and the columns that storage has found in their files.
 * Datasets that are no tables, or give no samples (`updates`), have no say. */
#ifndef WEIR_PREPROCESS_PLAN_TABLES_H
#define WEIR_PREPROCESS_PLAN_TABLES_H

#include "preprocess/operators/operator.h"

struct preprocess_tables;

/* Reads the pipeline file at `root`, which must outlive them, and `found`, as in job_open; NULL: there is no data yet.
 * A source that storage refuses counts as one that says nothing. */
struct preprocess_tables *preprocess_tables_read(const struct weir_yaml_node *root,
                                                 const struct weir_bytes *found);
void preprocess_tables_free(struct preprocess_tables *tables);
WEIR_DEFINE_AUTO(preprocess_tables, preprocess_tables_free)

/* Returns what all of the tables have in common; NULL: there is none. */
const struct operator_records *preprocess_tables_records(const struct preprocess_tables *tables);

#endif
