/* The field kinds of messages.def, for core/wire/wire.c alone: each is one function that packs and
 * one that unpacks. An unpack function returns NULL, or what it expected; it copies
 * what it finds into the arena. */
#ifndef WEIR_WIRE_KINDS_H
#define WEIR_WIRE_KINDS_H

#include "core/base/memory.h"
#include "core/wire/values.h"

#include <msgpack.h>

#define WEIR_KIND_LIST(X) \
    X(bool) X(u32) X(u64) X(i64) X(f64) X(str) X(raw) X(bin) X(u64s) X(i64s) X(u32s) X(strs) X(raws)

#define X(kind)                                                                             \
    void weir_kind_pack_##kind(msgpack_packer *out, WEIR_C_##kind value);                   \
    const char *weir_kind_unpack_##kind(const msgpack_object *in, struct weir_arena *arena, \
                                        WEIR_C_##kind *ret_value) WEIR_MUST_USE;
WEIR_KIND_LIST(X)
#undef X

#endif
