/* A scan of msgpack bytes that runs before msgpack-c, which allocates whatever a header announces. */
#ifndef WEIR_WIRE_GUARD_H
#define WEIR_WIRE_GUARD_H

#include "core/base/bytes.h"
#include "core/base/error.h"

/* OK when `bytes` is exactly one well-formed object, announces no more objects than it has bytes, and nests at most
 * eight deep. INVALID otherwise. Takes no memory. */
enum weir_status weir_guard(struct weir_bytes bytes, struct weir_error *err) WEIR_MUST_USE;

#endif
