/* A growing set of bits in 64-bit words. Words at and after bit `count` are zero, so that growing
 * needs no clean-up. */
#include "core/base/bits.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { WORD_BITS = 64 };

static size_t words_for(size_t bits)
{
    return bits / WORD_BITS + (bits % WORD_BITS != 0);
}

/* Makes room for `count` bits and counts them as held. */
static void hold(struct weir_bits *bits, size_t count)
{
    size_t needed = words_for(count);
    if (needed > bits->capacity) {
        size_t capacity = needed > 2 * bits->capacity ? needed : 2 * bits->capacity;
        bits->words = weir_realloc(bits->words, capacity, sizeof(*bits->words));
        memset(bits->words + bits->capacity, 0, (capacity - bits->capacity) * sizeof(*bits->words));
        bits->capacity = capacity;
    }
    if (count > bits->count)
        bits->count = count;
}

void weir_bits_fini(struct weir_bits *bits)
{
    free(bits->words);
    *bits = (struct weir_bits){0};
}

void weir_bits_clear(struct weir_bits *bits)
{
    if (bits->count > 0)
        memset(bits->words, 0, words_for(bits->count) * sizeof(*bits->words));
    bits->count = 0;
}

bool weir_bits_get(const struct weir_bits *bits, size_t index)
{
    return index < bits->count && (bits->words[index / WORD_BITS] >> (index % WORD_BITS) & 1);
}

void weir_bits_set(struct weir_bits *bits, size_t index)
{
    if (index >= bits->count)
        hold(bits, index + 1);
    bits->words[index / WORD_BITS] |= (uint64_t)1 << (index % WORD_BITS);
}

size_t weir_bits_population(const struct weir_bits *bits)
{
    size_t population = 0;
    for (size_t i = 0; i < words_for(bits->count); i++)
        population += (size_t)__builtin_popcountll(bits->words[i]);
    return population;
}

void weir_bits_shift_down(struct weir_bits *bits, size_t distance)
{
    if (distance >= bits->count) {
        weir_bits_clear(bits);
        return;
    }
    size_t words = words_for(bits->count);
    size_t whole = distance / WORD_BITS;
    unsigned rest = distance % WORD_BITS;
    for (size_t i = 0; i < words; i++) {
        uint64_t low = i + whole < words ? bits->words[i + whole] : 0;
        uint64_t high = i + whole + 1 < words ? bits->words[i + whole + 1] : 0;
        bits->words[i] = rest == 0 ? low : low >> rest | high << (WORD_BITS - rest);
    }
    bits->count -= distance;
}

void weir_bits_pack(const struct weir_bits *bits, struct weir_buf *out)
{
    size_t size = words_for(bits->count);
    while (size > 0 && bits->words[size - 1] == 0)
        size--;
    size *= sizeof(uint64_t);
    const uint8_t *bytes = (const uint8_t *)bits->words; /* little-endian, see bytes.c */
    while (size > 0 && bytes[size - 1] == 0)
        size--;
    weir_buf_append(out, bytes, size);
}

void weir_bits_unpack(struct weir_bits *bits, struct weir_bytes packed)
{
    weir_bits_clear(bits);
    while (packed.size > 0 && packed.at[packed.size - 1] == 0)
        packed.size--;
    if (packed.size == 0)
        return;
    hold(bits, packed.size * 8);
    memcpy(bits->words, packed.at, packed.size);
    while (!weir_bits_get(bits, bits->count - 1))
        bits->count--;
}

void weir_bits_copy(struct weir_bits *to, const struct weir_bits *from)
{
    weir_bits_clear(to);
    if (from->count == 0)
        return;
    hold(to, from->count);
    memcpy(to->words, from->words, words_for(from->count) * sizeof(*to->words));
}
