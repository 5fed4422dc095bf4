/* Batches from a process to this one over the loopback, encrypted: pushed under keys, as a worker elsewhere does, or
 * by a bare pair of ZeroMQ's sockets with CURVE. */
#ifndef BENCHMARKS_CLUSTER_CURVE_H
#define BENCHMARKS_CLUSTER_CURVE_H

#include "core/base/error.h"

#include <stddef.h>
#include <stdint.h>

struct cluster_curve;

enum weir_status cluster_curve_open(struct cluster_curve **ret_curve,
                                    struct weir_error *err) WEIR_MUST_USE;
void cluster_curve_close(struct cluster_curve *curve); /* NULL is fine */
/* Receives so many batches of so many bytes. */
void cluster_curve_batches(struct cluster_curve *curve, uint64_t count, size_t size);
void cluster_curve_bare(struct cluster_curve *curve, uint64_t count, size_t size);

#endif
