/* Classes of characters, for operators that cut texts into pieces. */
#include "preprocess/operators/text/unicode.h"

#include "core/base/attributes.h"

#include "preprocess/operators/text/unicode_tables.inc"

/* Hangul syllables are taken apart by arithmetic (Unicode 15, section 3.12). */
enum {
    SYLLABLE_FIRST = 0xac00,
    SYLLABLES = 11172,
    LEAD_FIRST = 0x1100,
    VOWEL_FIRST = 0x1161,
    TAIL_BEFORE = 0x11a7,
    VOWELS = 21,
    TAILS = 28,
};

/* The last of `count` rising numbers that is at most `wanted`; the first one is (required). */
static size_t last_up_to(const uint32_t *numbers, size_t count, uint32_t wanted)
{
    size_t first = 0;
    while (count > 1) {
        size_t half = count / 2;
        first = numbers[first + half] <= wanted ? first + half : first;
        count -= half;
    }
    return first;
}

enum unicode_kind preprocess_unicode_kind_of(uint32_t code)
{
    return (enum unicode_kind)(RUNS[last_up_to(RUNS, WEIR_COUNT(RUNS), code << 3 | 7)] & 7);
}

static size_t fold_syllable(uint32_t index, uint32_t *ret_codes)
{
    ret_codes[0] = LEAD_FIRST + index / (VOWELS * TAILS);
    ret_codes[1] = VOWEL_FIRST + index / TAILS % VOWELS;
    ret_codes[2] = TAIL_BEFORE + index % TAILS;
    return index % TAILS > 0 ? 3 : 2;
}

size_t preprocess_unicode_fold(uint32_t code, uint32_t ret_codes[UNICODE_FOLD_MAX])
{
    if (code - SYLLABLE_FIRST < SYLLABLES)
        return fold_syllable(code - SYLLABLE_FIRST, ret_codes);
    ret_codes[0] = code >= 'A' && code <= 'Z' ? code + 0x20 : code;
    if (code < FOLDING[0])
        return 1;
    size_t place = last_up_to(FOLDING, WEIR_COUNT(FOLDING), code);
    if (FOLDING[place] != code)
        return 1;
    size_t count = 0;
    for (size_t i = FOLDED_AT[place]; i < FOLDED_AT[place + 1]; i++)
        ret_codes[count++] = FOLDED[i];
    return count;
}
