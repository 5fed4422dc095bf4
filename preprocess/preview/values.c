/* See values.h. */
#include "preprocess/preview/values.h"

#include "core/base/utf8.h"
#include "preprocess/operators/numeric.h"
#include "preprocess/operators/operator.h"

#include <inttypes.h>

enum { TEXT_MAX = 60, BYTES_SHOWN = 8, NUMBERS_SHOWN = 8, TOKENS_SHOWN = 12 };

static bool is_text(struct weir_bytes bytes)
{
    while (bytes.size > 0) {
        size_t size = weir_utf8_character(bytes);
        bool is_plain = bytes.at[0] >= ' ' || strchr("\t\r\n", bytes.at[0]) != NULL;
        if (size == 0 || bytes.at[0] == '\0' || !is_plain)
            return false;
        bytes = weir_bytes(bytes.at + size, bytes.size - size);
    }
    return true;
}

/* Whole characters, up to a size; control characters as blanks. */
static void put_text(struct weir_bytes text, struct weir_buf *out)
{
    size_t at = 0;
    weir_buf_append_text(out, "\"");
    while (at < text.size && at < TEXT_MAX) {
        size_t size = weir_utf8_character(weir_bytes(text.at + at, text.size - at));
        if (text.at[at] < ' ')
            weir_buf_append_text(out, " ");
        else
            weir_buf_append(out, text.at + at, size);
        at += size > 0 ? size : 1;
    }
    weir_buf_append_text(out, at < text.size ? "…\"" : "\"");
}

static void put_bytes(struct weir_bytes bytes, struct weir_buf *out)
{
    weir_buf_printf(out, "%zu bytes:", bytes.size);
    for (size_t i = 0; i < bytes.size && i < BYTES_SHOWN; i++)
        weir_buf_printf(out, " %02x", bytes.at[i]);
    weir_buf_append_text(out, bytes.size > BYTES_SHOWN ? " …" : "");
}

static void put_number(const struct column *column, size_t index, struct weir_buf *out)
{
    enum weir_dtype type = column->about.type;
    const uint8_t *values = column->values.at;
    if ((OPERATOR_FLOATS & 1u << type) != 0)
        weir_buf_printf(out, "%.6g", weir_element_get(type, values, index));
    else
        weir_buf_printf(out, "%" PRId64, weir_element_get_integer(type, values, index));
}

static void put_numbers(const struct column *column, size_t first, size_t count,
                        struct weir_buf *out)
{
    weir_buf_append_text(out, "[");
    for (size_t i = 0; i < count && i < NUMBERS_SHOWN; i++) {
        weir_buf_append_text(out, i > 0 ? ", " : "");
        put_number(column, first + i, out);
    }
    weir_buf_printf(out, "%s] %s x %zu", count > NUMBERS_SHOWN ? ", …" : "",
                    weir_dtype_name(column->about.type), count);
}

static void put_tokens(const struct column *column, size_t row, struct weir_buf *out)
{
    const uint32_t *offsets = column_offsets(column);
    weir_buf_append_text(out, "[");
    for (size_t i = offsets[row]; i < offsets[row + 1] && i < offsets[row] + TOKENS_SHOWN; i++) {
        struct weir_span span = column_spans(column)[i];
        weir_buf_append_text(out, i > offsets[row] ? ", " : "");
        put_text(weir_bytes(column->values.at + span.start, span.size), out);
    }
    weir_buf_printf(out, "%s] %u words",
                    offsets[row + 1] - offsets[row] > TOKENS_SHOWN ? ", …" : "",
                    offsets[row + 1] - offsets[row]);
}

static void put_picture(const struct column *column, size_t row, struct weir_buf *out)
{
    const struct picture_place *places =
        (const struct picture_place *)(const void *)column->pictures.at;
    weir_buf_printf(out, "a picture of %u x %u, %u channels", places[row].height, places[row].width,
                    column->about.width);
}

void preprocess_value_print(const struct column *column, size_t row, struct weir_buf *out)
{
    size_t width = column->about.width;
    switch (column->about.kind) {
    case COLUMN_BYTES:
    case COLUMN_TEXT:
        (is_text(column_row(column, row)) ? put_text : put_bytes)(column_row(column, row), out);
        break;
    case COLUMN_TOKENS:
        put_tokens(column, row, out);
        break;
    case COLUMN_DENSE:
        put_numbers(column, row * width, width, out);
        break;
    case COLUMN_RAGGED:
        put_numbers(column, column_offsets(column)[row],
                    column_offsets(column)[row + 1] - column_offsets(column)[row], out);
        break;
    case COLUMN_PICTURES:
        put_picture(column, row, out);
        break;
    }
}
