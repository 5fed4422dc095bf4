/* A scan of msgpack bytes that runs before msgpack-c, which allocates whatever a header announces. */
#ifndef WEIR_WIRE_GUARD_H
#define WEIR_WIRE_GUARD_H

#include "core/base/bytes.h"
#include "core/base/error.h"

/* msgpack-c takes about 24 bytes for each. Arrays of numbers are one object each, arrays of text
 * one per text. */
enum { WEIR_GUARD_OBJECTS_MAX = 1 << 20 };

/* OK when `bytes` is exactly one well-formed object, announces no more objects than it has bytes,
 * and nests at most eight deep. LIMIT when it is well-formed so far but holds too many objects,
 * INVALID otherwise. Takes no memory. */
enum weir_status weir_guard(struct weir_bytes bytes, struct weir_error *err) WEIR_MUST_USE;

#endif
