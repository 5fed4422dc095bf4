/* A growing set of bits: what was consumed, what was received, which rows of a block are erased. */
#ifndef WEIR_BASE_BITS_H
#define WEIR_BASE_BITS_H

#include "core/base/bytes.h"

/* Zero-initialised is empty. Bits beyond `count` read as 0. */
struct weir_bits {
    uint64_t *words;
    size_t count;    /* bits held: one past the highest bit ever set or read in */
    size_t capacity; /* in words */
};

void weir_bits_fini(struct weir_bits *bits);
void weir_bits_clear(struct weir_bits *bits);
bool weir_bits_get(const struct weir_bits *bits, size_t index);
void weir_bits_set(struct weir_bits *bits, size_t index);
size_t weir_bits_population(const struct weir_bits *bits);
/* Moves every bit down by `distance`, dropping the lowest: bit i + distance becomes bit i. */
void weir_bits_shift_down(struct weir_bits *bits, size_t distance);
/* Packed little-endian, bit 0 of byte 0 first, trailing zero bytes dropped. */
void weir_bits_pack(const struct weir_bits *bits, struct weir_buf *out);
/* Afterwards `count` is one past the highest bit that is set. */
void weir_bits_unpack(struct weir_bits *bits, struct weir_bytes packed);
void weir_bits_copy(struct weir_bits *to, const struct weir_bits *from);

#endif
