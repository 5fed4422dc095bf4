/* Two network namespaces, this process in one and a child in the other, with a link between them of a given rate and
 * round trip. The child sends: batches over keys, as a worker elsewhere does, or plain bytes. */
#ifndef BENCHMARKS_CLUSTER_LINK_H
#define BENCHMARKS_CLUSTER_LINK_H

#include "core/base/error.h"

#include <stdint.h>

enum { LINK_BATCH_BYTES = 600 * 1000 };

struct cluster_link;

/* UNAVAILABLE where no namespaces can be made, or there are no ip, tc and nsenter. This process stays in the namespace
 * that it makes. */
enum weir_status cluster_link_open(struct cluster_link **ret_link,
                                   struct weir_error *err) WEIR_MUST_USE;
void cluster_link_close(struct cluster_link *link); /* NULL is fine */
/* Receives so many batches, a few of which are asked for in advance. */
enum weir_status cluster_link_batches(struct cluster_link *link, uint64_t count,
                                      struct weir_error *err) WEIR_MUST_USE;
/* Receives as many bytes over a plain connection. */
enum weir_status cluster_link_plain(struct cluster_link *link, uint64_t bytes,
                                    struct weir_error *err) WEIR_MUST_USE;

#endif
