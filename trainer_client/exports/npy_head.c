/* Headers of NumPy's .npy files: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html */
#include "trainer_client/exports/export.h"

#include <inttypes.h>

void trainer_npy_head(const char *code, uint32_t rank, const uint64_t *shape, size_t bytes_min,
                      struct weir_buf *out)
{
    enum { PREFIX_BYTES = 10, ALIGNMENT = 64 };
    WEIR_AUTO_BUF text = {0};

    weir_buf_printf(&text, "{'descr': '%s', 'fortran_order': False, 'shape': (", code);
    for (uint32_t i = 0; i < rank; i++)
        weir_buf_printf(&text, "%" PRIu64 ",%s", shape[i], i + 1 < rank ? " " : "");
    weir_buf_append_text(&text, "), }");
    size_t bytes = PREFIX_BYTES + text.size + 1;
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    bytes = bytes > bytes_min ? bytes : bytes_min;
    while (text.size < bytes - PREFIX_BYTES - 1)
        weir_buf_append_text(&text, " ");
    weir_buf_append_text(&text, "\n");
    weir_buf_append(out, "\x93NUMPY\x01\x00", 8);
    weir_put_u16(weir_buf_extend(out, 2), (uint16_t)text.size);
    weir_buf_append(out, text.at, text.size);
}
