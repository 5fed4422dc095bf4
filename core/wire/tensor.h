/* Element types of tensors on the wire. Numbers are append only. */
#ifndef WEIR_WIRE_TENSOR_H
#define WEIR_WIRE_TENSOR_H

#include <stddef.h>

// clang-format off
#define WEIR_DTYPE_LIST(X) \
    X(U8, 1, 1, "u8")   X(I32, 2, 4, "i32") X(I64, 3, 8, "i64") \
    X(F32, 4, 4, "f32") X(F64, 5, 8, "f64") X(U32, 6, 4, "u32")
// clang-format on

enum weir_dtype {
#define X(name, number, bytes, text) WEIR_##name = number,
    WEIR_DTYPE_LIST(X)
#undef X
};

size_t weir_dtype_bytes(enum weir_dtype type); /* 0 for an unknown type */
const char *weir_dtype_name(enum weir_dtype type);

#endif
