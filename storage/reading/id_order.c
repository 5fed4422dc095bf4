/* Radix sort of the ids less their minimum: what is asked for together spans few bits. */
#include "storage/reading/id_order.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

struct place {
    uint64_t key;
    uint32_t number;
};

static uint64_t digit(uint64_t key, unsigned shift)
{
    return key >> shift & (DIGITS - 1);
}

/* One pass: by one digit, keeping the order of equals. */
static void pass(const struct place *from, struct place *to, uint32_t count, unsigned shift)
{
    uint32_t starts[DIGITS] = {0};
    uint32_t start = 0;

    for (uint32_t i = 0; i < count; i++)
        starts[digit(from[i].key, shift)]++;
    for (size_t d = 0; d < DIGITS; d++) {
        uint32_t held = starts[d];

        starts[d] = start;
        start += held;
    }
    for (uint32_t i = 0; i < count; i++)
        to[starts[digit(from[i].key, shift)]++] = from[i];
}

/* Less the minimum; returns the range. */
static uint64_t set_keys(struct place *places, const uint64_t *ids, uint32_t count,
                         bool *ret_is_sorted)
{
    uint64_t min = UINT64_MAX, max = 0;

    *ret_is_sorted = true;
    for (uint32_t i = 0; i < count; i++) {
        min = ids[i] < min ? ids[i] : min;
        *ret_is_sorted = *ret_is_sorted && ids[i] >= max;
        max = ids[i] > max ? ids[i] : max;
    }
    for (uint32_t i = 0; i < count; i++)
        places[i] = (struct place){.key = ids[i] - min, .number = i};
    return count > 0 ? max - min : 0;
}

const uint32_t *storage_id_order(const uint64_t *ids, uint32_t count, struct weir_arena *arena)
{
    uint32_t *order = weir_arena_alloc(arena, count * sizeof(*order) + 1);
    struct place *places = weir_arena_alloc(arena, count * sizeof(*places) + 1);
    struct place *others = weir_arena_alloc(arena, count * sizeof(*others) + 1);
    bool is_sorted;
    uint64_t range = set_keys(places, ids, count, &is_sorted);

    for (unsigned shift = 0; !is_sorted && shift < 64 && range >> shift != 0; shift += DIGIT_BITS) {
        struct place *sorted = others;

        pass(places, sorted, count, shift);
        others = places;
        places = sorted;
    }
    for (uint32_t i = 0; i < count; i++)
        order[i] = places[i].number;
    return order;
}
