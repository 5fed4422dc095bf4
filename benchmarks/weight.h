/* Weight of a dataset: bytes in Postgres, and resident memory of the storage process. */
#ifndef BENCHMARKS_WEIGHT_H
#define BENCHMARKS_WEIGHT_H

#include "core/base/error.h"

#include <stdint.h>
#include <sys/types.h>

/* Bytes of every table and index of the schema `storage`, TOAST included. */
enum weir_status weight_stored(const char *conninfo, uint64_t *ret_bytes,
                               struct weir_error *err) WEIR_MUST_USE;

/* Resident bytes now, and the most there ever were. */
struct weight_memory {
    uint64_t now, peak;
};
enum weir_status weight_resident(pid_t pid, struct weight_memory *ret_memory,
                                 struct weir_error *err) WEIR_MUST_USE;

#endif
