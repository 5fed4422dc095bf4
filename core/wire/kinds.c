/* Packing and unpacking of each field kind. Kinds of the same nature stand together. */
#include "core/wire/kinds.h"

#include "core/base/utf8.h"

#include <string.h>

/* ---- scalars ---- */

void weir_kind_pack_bool(msgpack_packer *out, bool value)
{
    if (value)
        msgpack_pack_true(out);
    else
        msgpack_pack_false(out);
}

const char *weir_kind_unpack_bool(const msgpack_object *in, struct weir_arena *arena,
                                  bool *ret_value)
{
    (void)arena;
    if (in->type != MSGPACK_OBJECT_BOOLEAN)
        return "expected true or false";
    *ret_value = in->via.boolean;
    return NULL;
}

void weir_kind_pack_u32(msgpack_packer *out, uint32_t value)
{
    msgpack_pack_uint32(out, value);
}

const char *weir_kind_unpack_u32(const msgpack_object *in, struct weir_arena *arena,
                                 uint32_t *ret_value)
{
    (void)arena;
    if (in->type != MSGPACK_OBJECT_POSITIVE_INTEGER || in->via.u64 > UINT32_MAX)
        return "expected an unsigned integer of 32 bits";
    *ret_value = (uint32_t)in->via.u64;
    return NULL;
}

void weir_kind_pack_u64(msgpack_packer *out, uint64_t value)
{
    msgpack_pack_uint64(out, value);
}

const char *weir_kind_unpack_u64(const msgpack_object *in, struct weir_arena *arena,
                                 uint64_t *ret_value)
{
    (void)arena;
    if (in->type != MSGPACK_OBJECT_POSITIVE_INTEGER)
        return "expected an unsigned integer";
    *ret_value = in->via.u64;
    return NULL;
}

void weir_kind_pack_i64(msgpack_packer *out, int64_t value)
{
    msgpack_pack_int64(out, value);
}

const char *weir_kind_unpack_i64(const msgpack_object *in, struct weir_arena *arena,
                                 int64_t *ret_value)
{
    (void)arena;
    if (in->type == MSGPACK_OBJECT_POSITIVE_INTEGER && in->via.u64 <= INT64_MAX)
        *ret_value = (int64_t)in->via.u64;
    else if (in->type == MSGPACK_OBJECT_NEGATIVE_INTEGER)
        *ret_value = in->via.i64;
    else
        return "expected an integer of 64 bits";
    return NULL;
}

void weir_kind_pack_f64(msgpack_packer *out, double value)
{
    msgpack_pack_double(out, value);
}

const char *weir_kind_unpack_f64(const msgpack_object *in, struct weir_arena *arena,
                                 double *ret_value)
{
    (void)arena;
    if (in->type != MSGPACK_OBJECT_FLOAT32 && in->type != MSGPACK_OBJECT_FLOAT64)
        return "expected a floating-point number";
    *ret_value = in->via.f64;
    return NULL;
}

/* ---- text and bytes ---- */

void weir_kind_pack_str(msgpack_packer *out, const char *value)
{
    size_t size = value != NULL ? strlen(value) : 0;
    msgpack_pack_str(out, size);
    msgpack_pack_str_body(out, value, size);
}

void weir_kind_pack_raw(msgpack_packer *out, const char *value)
{
    weir_kind_pack_str(out, value);
}

static const char *unpack_text(const msgpack_object *in, struct weir_arena *arena, char **ret_text)
{
    if (in->type != MSGPACK_OBJECT_STR)
        return "expected a string";
    const msgpack_object_str *str = &in->via.str;
    if (str->size > 0 && memchr(str->ptr, '\0', str->size) != NULL)
        return "expected a string without zero bytes";
    *ret_text = weir_arena_strndup(arena, str->ptr, str->size);
    return NULL;
}

/* Texts go on to Postgres and into JSON, which take nothing but UTF-8; a reason may quote a file's name, and be cut. */
const char *weir_kind_unpack_str(const msgpack_object *in, struct weir_arena *arena,
                                 const char **ret_value)
{
    char *text = NULL;
    const char *complaint = unpack_text(in, arena, &text);
    if (complaint == NULL)
        weir_utf8_repair(text);
    *ret_value = text;
    return complaint;
}

const char *weir_kind_unpack_raw(const msgpack_object *in, struct weir_arena *arena,
                                 const char **ret_value)
{
    char *text = NULL;
    const char *complaint = unpack_text(in, arena, &text);
    *ret_value = text;
    return complaint;
}

void weir_kind_pack_bin(msgpack_packer *out, struct weir_bytes value)
{
    msgpack_pack_bin(out, value.size);
    msgpack_pack_bin_body(out, value.at, value.size);
}

const char *weir_kind_unpack_bin(const msgpack_object *in, struct weir_arena *arena,
                                 struct weir_bytes *ret_value)
{
    if (in->type != MSGPACK_OBJECT_BIN)
        return "expected bytes";
    const msgpack_object_bin *bin = &in->via.bin;
    *ret_value = weir_bytes(weir_arena_copy(arena, bin->ptr, bin->size), bin->size);
    return NULL;
}

/* ---- arrays of numbers: one bin of little-endian values, as they lie in memory ---- */

static void pack_array(msgpack_packer *out, const void *at, size_t size)
{
    msgpack_pack_bin(out, size);
    msgpack_pack_bin_body(out, at, size);
}

/* NULL or the complaint; `*ret_at` is aligned for any element. */
static const char *unpack_array(const msgpack_object *in, struct weir_arena *arena, size_t width,
                                const void **ret_at, size_t *ret_count)
{
    if (in->type != MSGPACK_OBJECT_BIN)
        return "expected bytes that hold numbers";
    if (in->via.bin.size % width != 0)
        return width == 8 ? "expected a multiple of 8 bytes" : "expected a multiple of 4 bytes";
    *ret_at = weir_arena_copy(arena, in->via.bin.ptr, in->via.bin.size);
    *ret_count = in->via.bin.size / width;
    return NULL;
}

#define DEFINE_ARRAY(kind, element)                                                               \
    void weir_kind_pack_##kind(msgpack_packer *out, WEIR_C_##kind value)                          \
    {                                                                                             \
        pack_array(out, value.at, value.count * sizeof(element));                                 \
    }                                                                                             \
    const char *weir_kind_unpack_##kind(const msgpack_object *in, struct weir_arena *arena,       \
                                        WEIR_C_##kind *ret_value)                                 \
    {                                                                                             \
        const void *at;                                                                           \
        const char *complaint = unpack_array(in, arena, sizeof(element), &at, &ret_value->count); \
        if (complaint == NULL)                                                                    \
            ret_value->at = at;                                                                   \
        return complaint;                                                                         \
    }

DEFINE_ARRAY(u64s, uint64_t)
DEFINE_ARRAY(i64s, int64_t)
DEFINE_ARRAY(u32s, uint32_t)

/* ---- arrays of text ---- */

void weir_kind_pack_strs(msgpack_packer *out, struct weir_strs value)
{
    msgpack_pack_array(out, value.count);
    for (size_t i = 0; i < value.count; i++)
        weir_kind_pack_str(out, value.at[i]);
}

void weir_kind_pack_raws(msgpack_packer *out, struct weir_strs value)
{
    weir_kind_pack_strs(out, value);
}

typedef const char *unpack_one_fn(const msgpack_object *in, struct weir_arena *arena,
                                  const char **ret_value);

static const char *unpack_texts(const msgpack_object *in, struct weir_arena *arena,
                                unpack_one_fn *unpack_one, struct weir_strs *ret_value)
{
    if (in->type != MSGPACK_OBJECT_ARRAY)
        return "expected an array of strings";
    const msgpack_object_array *array = &in->via.array;
    const char **at = weir_arena_alloc(arena, array->size * sizeof(*at));
    for (uint32_t i = 0; i < array->size; i++) {
        if (unpack_one(&array->ptr[i], arena, &at[i]) != NULL)
            return "expected an array of strings without zero bytes";
    }
    *ret_value = (struct weir_strs){.at = at, .count = array->size};
    return NULL;
}

const char *weir_kind_unpack_strs(const msgpack_object *in, struct weir_arena *arena,
                                  struct weir_strs *ret_value)
{
    return unpack_texts(in, arena, weir_kind_unpack_str, ret_value);
}

const char *weir_kind_unpack_raws(const msgpack_object *in, struct weir_arena *arena,
                                  struct weir_strs *ret_value)
{
    return unpack_texts(in, arena, weir_kind_unpack_raw, ret_value);
}
