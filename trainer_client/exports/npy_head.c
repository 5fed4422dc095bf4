/* Headers of NumPy's .npy files: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html */
#include "trainer_client/exports/export.h"

#include <inttypes.h>
#include <string.h>

void trainer_npy_head(const char *code, uint32_t rank, const uint64_t *shape, size_t bytes_min,
                      struct weir_buf *out)
{
    enum { PREFIX_BYTES = 10, ALIGNMENT = 64 };
    size_t begin = out->size;

    weir_buf_append(out, "\x93NUMPY\x01\x00\x00\x00", PREFIX_BYTES);
    weir_buf_printf(out, "{'descr': '%s', 'fortran_order': False, 'shape': (", code);
    for (uint32_t i = 0; i < rank; i++)
        weir_buf_printf(out, "%" PRIu64 ",%s", shape[i], i + 1 < rank ? " " : "");
    weir_buf_append_text(out, "), }");
    size_t bytes = (out->size - begin + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    bytes = bytes > bytes_min ? bytes : bytes_min;
    size_t padding = bytes - (out->size - begin);
    memset(weir_buf_extend(out, padding), ' ', padding);
    out->at[out->size - 1] = '\n';
    weir_put_u16(out->at + begin + PREFIX_BYTES - 2, (uint16_t)(bytes - PREFIX_BYTES));
}
