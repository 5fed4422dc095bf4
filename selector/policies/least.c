/* Radix selection, eight bits a pass. */
#include "selector/policies/least.h"

#include "core/base/memory.h"

#include <string.h>

enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS };

/* How many keys begin with `prefix` (everything above `shift` + DIGIT_BITS) and go on with each
 * digit. */
static void count_digits(const uint64_t *keys, size_t count, uint64_t prefix, unsigned shift,
                         size_t *counts)
{
    uint64_t mask = shift + DIGIT_BITS == 64 ? 0 : UINT64_MAX << (shift + DIGIT_BITS);
    memset(counts, 0, DIGITS * sizeof *counts);
    for (size_t i = 0; i < count; i++)
        if ((keys[i] & mask) == prefix)
            counts[keys[i] >> shift & (DIGITS - 1)]++;
}

uint64_t selector_least(const uint64_t *keys, size_t count, size_t rank)
{
    weir_require(rank > 0 && rank <= count);
    WEIR_AUTO_FREE size_t *counts = weir_calloc(DIGITS, sizeof *counts);
    uint64_t prefix = 0;
    for (unsigned shift = 64 - DIGIT_BITS;; shift -= DIGIT_BITS) {
        uint64_t digit = 0;
        count_digits(keys, count, prefix, shift, counts);
        for (; rank > counts[digit]; digit++)
            rank -= counts[digit];
        prefix |= digit << shift;
        if (shift == 0)
            return prefix;
    }
}

void selector_take_least(const uint64_t *keys, size_t count, size_t wanted,
                         struct selection_output *output)
{
    if (wanted == 0)
        return;
    uint64_t bound = selector_least(keys, count, wanted);
    size_t below = 0;
    size_t equal = 0;
    for (size_t i = 0; i < count; i++) {
        below += keys[i] < bound;
        equal += keys[i] == bound;
    }
    size_t skipped = equal - (wanted - below);
    for (size_t i = 0; i < count; i++) {
        if (keys[i] > bound || (keys[i] == bound && skipped > 0 && skipped-- > 0))
            continue;
        output->chosen[output->count++] = i;
    }
}
