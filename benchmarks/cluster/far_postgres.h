/* A Postgres that is some milliseconds away: a socket beside its own, through which every byte takes that long. */
#ifndef BENCHMARKS_CLUSTER_FAR_POSTGRES_H
#define BENCHMARKS_CLUSTER_FAR_POSTGRES_H

#include "core/base/error.h"

#include <stdint.h>

struct far_postgres;

/* Listens in `directory`, for the Postgres of `conninfo`; each way takes half of the round trip. */
enum weir_status far_postgres_open(const char *directory, const char *conninfo,
                                   int64_t round_trip_ns, struct far_postgres **ret_far,
                                   struct weir_error *err) WEIR_MUST_USE;
/* Connections that are open are cut. NULL is fine. */
void far_postgres_close(struct far_postgres *far);
const char *far_postgres_conninfo(const struct far_postgres *far);
/* Makes a database anew in the Postgres of `conninfo`, which may be far away or not. */
enum weir_status far_postgres_make_database(const char *conninfo, const char *name,
                                            struct weir_error *err) WEIR_MUST_USE;

#endif
