/* Rows that workers keep of erased samples. */
#ifndef ORCHESTRATOR_ERASURES_CACHED_H
#define ORCHESTRATOR_ERASURES_CACHED_H

#include "orchestrator/context/context.h"
#include "orchestrator/models/blocks.h"

/* Overwrites the rows of these samples; *ret_rows: that held anything. May be repeated. IO. */
enum weir_status orchestrator_cached_erase(struct context *context, const struct id_blocks *ids,
                                           int64_t *ret_rows, struct weir_error *err) WEIR_MUST_USE;
/* The number of them, and nothing else. */
enum weir_status orchestrator_cached_count(struct context *context, const struct id_blocks *ids,
                                           int64_t *ret_rows, struct weir_error *err) WEIR_MUST_USE;

#endif
