/* How often a trigger waits for Postgres, one time after the other: what a cycle takes longer when Postgres is farther
 * away, divided by how much farther it is. */
#ifndef BENCHMARKS_CLUSTER_TRIPS_H
#define BENCHMARKS_CLUSTER_TRIPS_H

#include "core/base/error.h"

/* Runs whole platforms on databases of their own in the Postgres of `conninfo`, below `directory`. Returns the round
 * trips from a trigger that fires to its stored model, of a training on one sample. */
enum weir_status trips_count(const char *directory, const char *conninfo, double *ret_trips,
                             struct weir_error *err) WEIR_MUST_USE;

#endif
