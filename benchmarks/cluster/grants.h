/* Processor that storage spends on a worker elsewhere whose samples lie in a bucket: it signs requests that the worker
 * sends to the store itself, or reads for it. */
#ifndef BENCHMARKS_CLUSTER_GRANTS_H
#define BENCHMARKS_CLUSTER_GRANTS_H

#include "core/base/error.h"

#include <stddef.h>

enum { GRANTS_SAMPLE_BYTES = 100000 };

struct grants;

/* Starts a store behind TLS with one object of `samples` records, and a platform that has it as a source, in
 * `directory`. */
enum weir_status grants_open(const char *directory, size_t samples, struct grants **ret_grants,
                             struct weir_error *err) WEIR_MUST_USE;
void grants_close(struct grants *grants); /* NULL is fine */
/* Asks for all samples once: for grants, or for their bytes. `*ret_rate`: samples in a second of storage's processor,
 * over all its threads. */
enum weir_status grants_ask(struct grants *grants, double *ret_rate,
                            struct weir_error *err) WEIR_MUST_USE;
enum weir_status grants_read(struct grants *grants, double *ret_rate,
                             struct weir_error *err) WEIR_MUST_USE;

#endif
