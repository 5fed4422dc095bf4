/* Lists a dataset as arrays of id, time and label in the caller's memory. */
#ifndef BENCHMARKS_STORAGE_LISTING_H
#define BENCHMARKS_STORAGE_LISTING_H

#include "benchmarks/rig.h"
#include "benchmarks/table.h"

/* Fills all `columns->count` places. */
enum weir_status listing_read(struct rig *rig, uint64_t dataset, struct table_columns *columns,
                              struct weir_error *err) WEIR_MUST_USE;

#endif
