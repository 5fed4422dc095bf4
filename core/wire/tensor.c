/* Sizes and names of the element types, expanded from their list. */
#include "core/wire/tensor.h"

size_t weir_dtype_bytes(enum weir_dtype type)
{
    switch (type) {
#define X(name, number, bytes, text) \
    case WEIR_##name:                \
        return bytes;
        WEIR_DTYPE_LIST(X)
#undef X
    }
    return 0;
}

const char *weir_dtype_name(enum weir_dtype type)
{
    switch (type) {
#define X(name, number, bytes, text) \
    case WEIR_##name:                \
        return text;
        WEIR_DTYPE_LIST(X)
#undef X
    }
    return "unknown";
}
