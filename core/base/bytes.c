/* Byte views, growing buffers, little-endian access. */
#include "core/base/bytes.h"

#include "core/base/memory.h"
#include "core/base/require.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "Weir maps little-endian files and frames as they are");

enum { BUF_BYTES_MIN = 64, VARINT_BYTES_MAX = 10 };

struct weir_bytes weir_bytes_of(const char *text)
{
    return weir_bytes(text, strlen(text));
}

struct weir_bytes weir_bytes_trim(struct weir_bytes text)
{
    while (text.size > 0 && text.at[text.size - 1] <= ' ')
        text.size--;
    while (text.size > 0 && text.at[0] <= ' ')
        text = weir_bytes(text.at + 1, text.size - 1);
    return text;
}

bool weir_bytes_equal(struct weir_bytes a, struct weir_bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.at, b.at, a.size) == 0);
}

bool weir_str_equal(const char *a, const char *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return strcmp(a, b) == 0;
}

bool weir_str_equal_secretly(const char *a, const char *b)
{
    size_t size = strlen(a);
    volatile uint8_t differs = 0;
    if (strlen(b) != size)
        return false;
    for (size_t i = 0; i < size; i++)
        differs |= (uint8_t)(a[i] ^ b[i]);
    return differs == 0;
}

void weir_buf_fini(struct weir_buf *buf)
{
    if (!buf->is_lent)
        free(buf->at);
    *buf = (struct weir_buf){0};
}

void weir_buf_clear(struct weir_buf *buf)
{
    buf->size = 0;
}

void weir_buf_wipe(struct weir_buf *buf)
{
    if (buf->size > 0)
        explicit_bzero(buf->at, buf->size);
    buf->size = 0;
}

void weir_buf_lend(struct weir_buf *buf, void *at, size_t capacity)
{
    weir_buf_fini(buf);
    *buf = (struct weir_buf){.at = at, .capacity = capacity, .is_lent = true};
}

void weir_buf_grow(struct weir_buf *buf, size_t more)
{
    size_t needed;
    weir_require(!__builtin_add_overflow(buf->size, more, &needed));
    size_t capacity = buf->capacity < SIZE_MAX / 2 ? 2 * buf->capacity : needed;
    if (capacity < needed)
        capacity = needed;
    if (capacity < BUF_BYTES_MIN)
        capacity = BUF_BYTES_MIN;
    uint8_t *at = weir_realloc(buf->is_lent ? NULL : buf->at, capacity, 1);
    if (buf->is_lent && buf->size > 0)
        memcpy(at, buf->at, buf->size);
    *buf = (struct weir_buf){.at = at, .size = buf->size, .capacity = capacity};
}

void weir_buf_append_text(struct weir_buf *buf, const char *text)
{
    weir_buf_append(buf, text, strlen(text));
}

void weir_buf_append_u32(struct weir_buf *buf, uint32_t value)
{
    uint8_t bytes[4];
    weir_put_u32(bytes, value);
    weir_buf_append(buf, bytes, sizeof(bytes));
}

void weir_buf_append_u64(struct weir_buf *buf, uint64_t value)
{
    uint8_t bytes[8];
    weir_put_u64(bytes, value);
    weir_buf_append(buf, bytes, sizeof(bytes));
}

void weir_buf_append_f64(struct weir_buf *buf, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    weir_buf_append_u64(buf, bits);
}

void weir_buf_append_varint(struct weir_buf *buf, uint64_t value)
{
    weir_buf_reserve(buf, VARINT_BYTES_MAX);
    for (; value >= 0x80; value >>= 7)
        buf->at[buf->size++] = (uint8_t)(value | 0x80);
    buf->at[buf->size++] = (uint8_t)value;
}

bool weir_take_long_varint(struct weir_bytes *rest, uint64_t *ret_value)
{
    const uint8_t *at = rest->at;
    uint64_t value = 0;
    for (size_t i = 0; i < rest->size && i < VARINT_BYTES_MAX; i++) {
        value |= (uint64_t)(at[i] & 0x7f) << 7 * i;
        if (at[i] >= 0x80)
            continue;
        if (i == VARINT_BYTES_MAX - 1 && at[i] > 1)
            return false;
        *ret_value = value;
        *rest = weir_bytes(at + i + 1, rest->size - i - 1);
        return true;
    }
    return false;
}

void weir_buf_vprintf(struct weir_buf *buf, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    weir_require(size >= 0);
    weir_buf_reserve(buf,
                     (size_t)size + 1); /* vsnprintf() ends with a zero, which is not counted */
    vsnprintf((char *)buf->at + buf->size, (size_t)size + 1, format, again);
    buf->size += (size_t)size;
    va_end(again);
}

void weir_buf_printf(struct weir_buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    weir_buf_vprintf(buf, format, args);
    va_end(args);
}

const char *weir_buf_text(struct weir_buf *buf)
{
    weir_buf_reserve(buf, 1);
    buf->at[buf->size] = 0;
    return (const char *)buf->at;
}

void weir_hex(const void *bytes, size_t size, char *text)
{
    static const char DIGITS[] = "0123456789abcdef";
    const uint8_t *at = bytes;
    for (size_t i = 0; i < size; i++) {
        text[2 * i] = DIGITS[at[i] >> 4];
        text[2 * i + 1] = DIGITS[at[i] & 15];
    }
    text[2 * size] = '\0';
}
