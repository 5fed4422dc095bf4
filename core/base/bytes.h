/* Bytes: a borrowed view (`struct weir_bytes`, by value, never owns) and a growing owner (`struct
 * weir_buf`). */
#ifndef WEIR_BASE_BYTES_H
#define WEIR_BASE_BYTES_H

#include "core/base/attributes.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct weir_bytes {
    const uint8_t *at; /* may be NULL when size is 0; not terminated */
    size_t size;
};

static inline struct weir_bytes weir_bytes(const void *at, size_t size)
{
    return (struct weir_bytes){.at = at, .size = size};
}
/* Has bytes at a random place come from memory to the second cache: the first one takes few lines at once, and whoever
 * asks it for more stands still. Never faults. */
static inline void weir_bytes_prefetch(struct weir_bytes bytes)
{
    const uintptr_t line_bytes = 64, begin = (uintptr_t)bytes.at, end = begin + bytes.size;
    for (uintptr_t line = begin - begin % line_bytes; line < end; line += line_bytes)
        __builtin_prefetch((const void *)line, 0, 2);
}
struct weir_bytes weir_bytes_of(const char *text); /* without the terminating zero */
/* Without white space, or control characters, around it. */
struct weir_bytes weir_bytes_trim(struct weir_bytes text);
bool weir_bytes_equal(struct weir_bytes a, struct weir_bytes b);
bool weir_str_equal(const char *a, const char *b); /* NULL equals only NULL */
/* The same in a time that depends on their lengths alone: whoever guesses learns nothing from how long it took. */
bool weir_str_equal_secretly(const char *a, const char *b);

/* Zero-initialised is empty and valid. */
struct weir_buf {
    uint8_t *at;
    size_t size;
    size_t capacity;
    bool is_lent; /* somebody else's memory: used as far as it goes, and never freed here */
};

void weir_buf_fini(struct weir_buf *buf);
void weir_buf_clear(struct weir_buf *buf); /* keeps the memory, and what it holds */
void weir_buf_wipe(struct weir_buf *buf);  /* keeps the memory, wiped as far as it was used */
/* Empties it into memory that stays somebody else's. What outgrows that moves to memory of its own. */
void weir_buf_lend(struct weir_buf *buf, void *at, size_t capacity);
void weir_buf_grow(struct weir_buf *buf, size_t more); /* what weir_buf_reserve() does, rarely */
static inline void weir_buf_reserve(struct weir_buf *buf, size_t more)
{
    if (more > buf->capacity || buf->size > buf->capacity - more)
        weir_buf_grow(buf, more);
}
static inline void weir_buf_append(struct weir_buf *buf, const void *bytes, size_t size)
{
    if (size == 0)
        return;
    weir_buf_reserve(buf, size);
    memcpy(buf->at + buf->size, bytes, size);
    buf->size += size;
}
/* Makes the buffer longer by `more` bytes, which are the caller's to fill in; returns where they are. */
static inline uint8_t *weir_buf_extend(struct weir_buf *buf, size_t more)
{
    weir_buf_reserve(buf, more);
    buf->size += more;
    return buf->at + (buf->size - more);
}
void weir_buf_append_text(struct weir_buf *buf, const char *text);
/* Little-endian, as all that lies on disk. */
void weir_buf_append_u32(struct weir_buf *buf, uint32_t value);
void weir_buf_append_u64(struct weir_buf *buf, uint64_t value);
void weir_buf_append_f64(struct weir_buf *buf, double value);
/* Seven bits a byte, the lowest first, all but the last byte with the highest bit set: LEB128. */
void weir_buf_append_varint(struct weir_buf *buf, uint64_t value);
void weir_buf_printf(struct weir_buf *buf, const char *format, ...) WEIR_PRINTF(2, 3);
void weir_buf_vprintf(struct weir_buf *buf, const char *format, va_list args) WEIR_PRINTF(2, 0);
/* Appends a zero byte that is not counted in size, and returns the text; valid until the next
 * append. */
const char *weir_buf_text(struct weir_buf *buf);
static inline struct weir_bytes weir_buf_view(const struct weir_buf *buf)
{
    return weir_bytes(buf->at, buf->size);
}

static inline void weir_auto_buf(struct weir_buf *buf)
{
    weir_buf_fini(buf);
}
#define WEIR_AUTO_BUF __attribute__((cleanup(weir_auto_buf))) struct weir_buf

/* Little-endian fixed-width access for everything on disk and in binary frames. */
static inline void weir_put_u16(uint8_t *at, uint16_t value)
{
    memcpy(at, &value, sizeof(value));
}
static inline void weir_put_u32(uint8_t *at, uint32_t value)
{
    memcpy(at, &value, sizeof(value));
}
static inline void weir_put_u64(uint8_t *at, uint64_t value)
{
    memcpy(at, &value, sizeof(value));
}
static inline uint16_t weir_get_u16(const uint8_t *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof(value));
    return value;
}
static inline uint32_t weir_get_u32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof(value));
    return value;
}
static inline uint64_t weir_get_u64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof(value));
    return value;
}
static inline float weir_get_f32(const uint8_t *at)
{
    float value;
    memcpy(&value, at, sizeof(value));
    return value;
}
static inline double weir_get_f64(const uint8_t *at)
{
    double value;
    memcpy(&value, at, sizeof(value));
    return value;
}

/* Take from the front of `rest`. False when it holds less: `rest` is as before then. */
static inline bool weir_take(struct weir_bytes *rest, uint64_t size, struct weir_bytes *ret_bytes)
{
    if (size > rest->size)
        return false;
    *ret_bytes = weir_bytes(rest->at, size);
    *rest = weir_bytes(rest->at + size, rest->size - size);
    return true;
}
static inline bool weir_take_u64(struct weir_bytes *rest, uint64_t *ret_value)
{
    struct weir_bytes bytes;
    if (!weir_take(rest, sizeof(*ret_value), &bytes))
        return false;
    *ret_value = weir_get_u64(bytes.at);
    return true;
}
/* weir_take_varint() of two bytes or more. */
bool weir_take_long_varint(struct weir_bytes *rest, uint64_t *ret_value);
/* The same of a varint. False also for one of more than 64 bits. */
static inline bool weir_take_varint(struct weir_bytes *rest, uint64_t *ret_value)
{
    if (rest->size == 0 || *rest->at >= 0x80)
        return weir_take_long_varint(rest, ret_value);
    *ret_value = *rest->at;
    *rest = weir_bytes(rest->at + 1, rest->size - 1);
    return true;
}

/* "a1b2…", lower case; `text` holds 2 * size + 1 characters. */
void weir_hex(const void *bytes, size_t size, char *text);

#endif
