/* A dispatcher whose Postgres is 5 ms away, and jobs whose consumers beat and commit. */
#ifndef BENCHMARKS_CLUSTER_FAR_H
#define BENCHMARKS_CLUSTER_FAR_H

#include "core/base/error.h"

#include <stddef.h>
#include <stdint.h>

struct far;

enum far_message { FAR_WORKER_BEATS, FAR_CLIENT_BEATS, FAR_COMMITS, FAR_MESSAGES };

/* Starts a platform in `directory`, and in this process a second dispatcher on its Postgres. */
enum weir_status far_open(const char *directory, struct far **ret_far,
                          struct weir_error *err) WEIR_MUST_USE;
void far_close(struct far *far); /* NULL is fine */
/* Has consumers and a worker say what they do in a training, until `commits` commits were answered. The times that
 * answers took are kept. */
enum weir_status far_run(struct far *far, size_t commits, struct weir_error *err) WEIR_MUST_USE;
/* Returns the time that 99 of 100 answers took at most. */
int64_t far_p99_ns(const struct far *far, enum far_message message);
/* Returns how to reach the Postgres that is far away. */
const char *far_conninfo(const struct far *far);

#endif
