/* A storage whose Postgres is far away, while samples keep coming in: what workers ask it with every lease. */
#ifndef BENCHMARKS_CLUSTER_FAR_STORAGE_H
#define BENCHMARKS_CLUSTER_FAR_STORAGE_H

#include "core/base/error.h"

#include <stddef.h>
#include <stdint.h>

struct far_storage;

enum far_question { FAR_HOLDS, FAR_LOCATES, FAR_QUESTIONS };

/* Starts a storage process in `directory`, with a database of its own in the Postgres of `conninfo`. */
enum weir_status far_storage_open(const char *directory, const char *conninfo,
                                  struct far_storage **ret_far,
                                  struct weir_error *err) WEIR_MUST_USE;
void far_storage_close(struct far_storage *far); /* NULL is fine */
/* Has workers ask until `holds` holds were answered, while a file comes in with each round. The times that answers took
 * are kept. */
enum weir_status far_storage_run(struct far_storage *far, size_t holds,
                                 struct weir_error *err) WEIR_MUST_USE;
/* Returns the time that 99 of 100 answers took at most. */
int64_t far_storage_p99_ns(const struct far_storage *far, enum far_question question);

#endif
