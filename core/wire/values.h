/* Values of the fields of messages. */
#ifndef WEIR_WIRE_VALUES_H
#define WEIR_WIRE_VALUES_H

#include "core/base/bytes.h"

/* Arrays are borrowed: from the arena after unpacking, from the caller when packing. Number arrays
 * travel as one msgpack bin of little-endian values. */
// clang-format off
struct weir_u64s { const uint64_t *at; size_t count; };
struct weir_i64s { const int64_t *at; size_t count; };
struct weir_u32s { const uint32_t *at; size_t count; };
struct weir_strs { const char *const *at; size_t count; };
// clang-format on

/* C types of the field kinds. `str` is never NULL after unpacking; NULL packs as "". */
#define WEIR_C_bool bool
#define WEIR_C_u32  uint32_t
#define WEIR_C_u64  uint64_t
#define WEIR_C_i64  int64_t
#define WEIR_C_f64  double
#define WEIR_C_str  const char *
#define WEIR_C_raw  const char *
#define WEIR_C_bin  struct weir_bytes
#define WEIR_C_u64s struct weir_u64s
#define WEIR_C_i64s struct weir_i64s
#define WEIR_C_u32s struct weir_u32s
#define WEIR_C_strs struct weir_strs
#define WEIR_C_raws struct weir_strs

#endif
