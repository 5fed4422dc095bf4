/* Keyed rolling fingerprints (Karp and Rabin 1987, modulo 2^64): see fingerprint.h. */
#include "storage/erasure/fingerprint.h"

#include "core/base/memory.h"
#include "core/base/rng.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    DISTINCT_LONG_MIN = 10,
    DISTINCT_SHORT_MIN = 5,
    STRIDE = 7,
    FILTER_WORDS_MIN = 1 << 14,
    FILTER_COUNT_PER_WORD = 4,
    SLICE_BYTES = 256, /* looked up together */
    SMALL_PAGE_BYTES = 4096,
    LARGE_PAGE_BYTES = 2 << 20,
    WARM_BYTES = 4 << 20,
};

struct key {
    uint64_t factor; /* odd */
    uint64_t seed;
};

static struct key derive(const struct storage_secret *secret)
{
    return (struct key){
        .factor = storage_hash(secret, HASH_PROBE, weir_bytes_of("factor")) | 1,
        .seed = storage_hash(secret, HASH_PROBE, weir_bytes_of("seed")),
    };
}

static uint64_t roll_over(const struct key *key, const uint8_t *at, size_t size)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < size; i++)
        sum = sum * key->factor + at[i] + 1;
    return sum;
}

static bool is_telling(const uint8_t *at, size_t size, size_t distinct_min)
{
    bool seen[256] = {false};
    size_t distinct = 0;

    for (size_t i = 0; i < size; i++) {
        distinct += !seen[at[i]];
        seen[at[i]] = true;
    }
    return distinct >= distinct_min;
}

void storage_fingerprints_fini(struct fingerprints *prints)
{
    free(prints->longs);
    free(prints->shorts);
    *prints = (struct fingerprints){0};
}

static void append(uint64_t **list, size_t *count, uint64_t value)
{
    if ((*count & (*count - 1)) == 0) /* at powers of two the list doubles */
        *list = weir_realloc(*list, *count ? 2 * *count : 1, sizeof(**list));
    (*list)[(*count)++] = value;
}

void storage_fingerprints_add(struct fingerprints *prints, const struct storage_secret *secret,
                              size_t passages, struct weir_bytes content)
{
    const struct key key = derive(secret);
    bool is_long = content.size >= PASSAGE_LONG;
    size_t window = is_long ? PASSAGE_LONG : PASSAGE_SHORT;
    size_t room = content.size >= window ? content.size - window : 0;
    size_t added = 0, places = content.size >= window ? PASSAGES_PER_SAMPLE : 0;

    for (size_t i = 0; i < places && added < passages; i++) {
        size_t place = i * STRIDE % PASSAGES_PER_SAMPLE; /* few are as far apart as many */
        size_t at = room * place / (PASSAGES_PER_SAMPLE - 1);

        if ((place > 0 && at == room * (place - 1) / (PASSAGES_PER_SAMPLE - 1)) ||
            !is_telling(content.at + at, window, is_long ? DISTINCT_LONG_MIN : DISTINCT_SHORT_MIN))
            continue;
        added++;
        append(is_long ? &prints->longs : &prints->shorts,
               is_long ? &prints->long_count : &prints->short_count,
               weir_mix64(roll_over(&key, content.at + at, window) ^ key.seed));
    }
    prints->unsearched += added == 0 && content.size > 0;
}

static void pack_list(const uint64_t *list, size_t count, struct weir_buf *out)
{
    weir_buf_append_u64(out, count);
    for (size_t i = 0; i < count; i++)
        weir_buf_append_u64(out, list[i]);
}

void storage_fingerprints_pack(const struct fingerprints *prints, struct weir_buf *out)
{
    pack_list(prints->longs, prints->long_count, out);
    pack_list(prints->shorts, prints->short_count, out);
}

static bool unpack_list(struct weir_bytes *packed, uint64_t **list, size_t *count)
{
    uint64_t announced, value;

    if (!weir_take_u64(packed, &announced) || announced > packed->size / sizeof(value))
        return false;
    while (announced-- > 0 && weir_take_u64(packed, &value))
        append(list, count, value);
    return true;
}

bool storage_fingerprints_unpack(struct weir_bytes *packed, struct fingerprints *prints)
{
    return unpack_list(packed, &prints->longs, &prints->long_count) &&
           unpack_list(packed, &prints->shorts, &prints->short_count);
}

/* ---- matching ---- */

/* One window length, and the rolling sum of the newest bytes. */
struct roller {
    size_t window;
    size_t count;     /* fingerprints of this length */
    uint64_t leaving; /* factor^window: weight of the byte that leaves */
    uint64_t sum;
};

struct matcher {
    struct key key;
    struct roller rollers[2];
    uint64_t *table; /* of both; open addressing; 0 is free */
    size_t mask, room;
    uint64_t *filter; /* some bits of a word each, after Putze et al. 2007 (blocked) */
    size_t filter_mask;
    size_t warm; /* bytes of both that are in memory */
    /* The newest bytes and those that follow, each + 1; 0 before the first. */
    uint16_t text[PASSAGE_LONG + SLICE_BYTES];
    uint64_t seen; /* of this stream */
};

static void open_roller(struct roller *roller, const struct key *key, size_t window)
{
    *roller = (struct roller){.window = window, .leaving = 1};
    for (size_t i = 0; i < window; i++)
        roller->leaving *= key->factor;
}

static size_t power_from(size_t least)
{
    size_t power = 16;

    while (power < least)
        power *= 2;
    return power;
}

/* Zeroed, in large pages where the kernel has them: it is filled here and there, and each page that is touched for the
 * first time costs more than what is written to it. */
static void *large_table(size_t count, size_t size)
{
    uint8_t *table = weir_calloc(count, size);
    uintptr_t skipped = -(uintptr_t)table & (SMALL_PAGE_BYTES - 1);

    if (count * size >= LARGE_PAGE_BYTES)
        madvise(table + skipped, (count * size - skipped) & ~((size_t)SMALL_PAGE_BYTES - 1),
                MADV_HUGEPAGE);
    return table;
}

struct matcher *storage_matcher_new(size_t count, const struct storage_secret *secret)
{
    struct matcher *matcher = weir_calloc(1, sizeof(*matcher));
    size_t size = power_from(2 * count), words = power_from(count / FILTER_COUNT_PER_WORD);

    words = words < FILTER_WORDS_MIN ? FILTER_WORDS_MIN : words;
    matcher->key = derive(secret);
    matcher->room = count;
    matcher->mask = size - 1;
    matcher->table = large_table(size, sizeof(*matcher->table));
    matcher->filter_mask = words - 1;
    matcher->filter = large_table(words, sizeof(*matcher->filter));
    open_roller(&matcher->rollers[0], &matcher->key, PASSAGE_LONG);
    open_roller(&matcher->rollers[1], &matcher->key, PASSAGE_SHORT);
    return matcher;
}

static void touch(uint8_t *page)
{
    *(volatile uint8_t *)page = 0;
}

bool storage_matcher_warm(struct matcher *matcher)
{
    size_t table = (matcher->mask + 1) * sizeof(*matcher->table);
    size_t all = table + (matcher->filter_mask + 1) * sizeof(*matcher->filter);
    size_t to = matcher->warm + WARM_BYTES < all ? matcher->warm + WARM_BYTES : all;

    for (; matcher->warm < to; matcher->warm += SMALL_PAGE_BYTES)
        touch(matcher->warm < table ? (uint8_t *)matcher->table + matcher->warm
                                    : (uint8_t *)matcher->filter + (matcher->warm - table));
    return matcher->warm >= all;
}

/* Bits of a word by the high bits of a hash: the low ones choose the word. */
static uint64_t filter_bits(uint64_t print)
{
    return 1ull << (print >> 58) | 1ull << (print >> 52 & 63) | 1ull << (print >> 46 & 63);
}

static void add_all(struct matcher *matcher, struct roller *roller, const uint64_t *list,
                    size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = list[i] & matcher->mask;

        while (matcher->table[at] && matcher->table[at] != list[i])
            at = (at + 1) & matcher->mask;
        matcher->table[at] = list[i];
        matcher->filter[list[i] & matcher->filter_mask] |= filter_bits(list[i]);
    }
    roller->count += count;
}

bool storage_matcher_add(struct matcher *matcher, const struct fingerprints *prints)
{
    size_t count = prints->long_count + prints->short_count;

    if (matcher->rollers[0].count + matcher->rollers[1].count + count > matcher->room)
        return false;
    add_all(matcher, &matcher->rollers[0], prints->longs, prints->long_count);
    add_all(matcher, &matcher->rollers[1], prints->shorts, prints->short_count);
    return true;
}

void storage_matcher_free(struct matcher *matcher)
{
    if (matcher == NULL)
        return;
    free(matcher->table);
    free(matcher->filter);
    free(matcher);
}

void storage_matcher_reset(struct matcher *matcher)
{
    matcher->seen = 0;
    memset(matcher->text, 0, sizeof(matcher->text));
    matcher->rollers[0].sum = matcher->rollers[1].sum = 0;
}

static bool holds(const struct matcher *matcher, uint64_t print)
{
    size_t at = print & matcher->mask;

    if (~matcher->filter[print & matcher->filter_mask] & filter_bits(print))
        return false;
    while (matcher->table[at] && matcher->table[at] != print)
        at = (at + 1) & matcher->mask;
    return matcher->table[at] == print;
}

/* Fingerprints of the windows that end at each of `count` bytes. Fetches ahead what they are looked up in: of many
 * fingerprints, the filter is larger than any cache. */
static void roll(const struct matcher *matcher, struct roller *roller, size_t count,
                 uint64_t prints[SLICE_BYTES])
{
    const uint16_t *entering = matcher->text + PASSAGE_LONG, *leaving = entering - roller->window;
    uint64_t sum = roller->sum;

    for (size_t i = 0; i < count; i++) {
        sum = sum * matcher->key.factor + (entering[i] - leaving[i] * roller->leaving);
        prints[i] = weir_mix64(sum ^ matcher->key.seed);
        __builtin_prefetch(&matcher->filter[prints[i] & matcher->filter_mask]);
    }
    roller->sum = sum;
}

static void look_up(struct matcher *matcher, struct roller *roller, size_t count,
                    storage_match_fn *on_match, void *owner)
{
    uint64_t prints[SLICE_BYTES];
    size_t whole = roller->window - 1; /* bytes before the first window that is complete */
    size_t first = matcher->seen >= whole ? 0 : (size_t)(whole - matcher->seen);

    if (roller->count == 0)
        return;
    roll(matcher, roller, count, prints);
    for (size_t i = first; i < count; i++) {
        if (prints[i] != 0 && holds(matcher, prints[i]))
            on_match(owner, matcher->seen + i - whole, roller->window, prints[i]);
    }
}

static void feed_slice(struct matcher *matcher, const uint8_t *bytes, size_t count,
                       storage_match_fn *on_match, void *owner)
{
    for (size_t i = 0; i < count; i++)
        matcher->text[PASSAGE_LONG + i] = (uint16_t)(bytes[i] + 1);
    for (size_t r = 0; r < WEIR_COUNT(matcher->rollers); r++)
        look_up(matcher, &matcher->rollers[r], count, on_match, owner);
    memmove(matcher->text, matcher->text + count, PASSAGE_LONG * sizeof(*matcher->text));
    matcher->seen += count;
}

void storage_matcher_feed(struct matcher *matcher, struct weir_bytes bytes,
                          storage_match_fn *on_match, void *owner)
{
    for (size_t at = 0; at < bytes.size; at += SLICE_BYTES) {
        size_t left = bytes.size - at;

        feed_slice(matcher, bytes.at + at, left < SLICE_BYTES ? left : SLICE_BYTES, on_match,
                   owner);
    }
}

/* After a whole passage of zeros nothing changes but the place. */
void storage_matcher_feed_zeros(struct matcher *matcher, uint64_t count, storage_match_fn *on_match,
                                void *owner)
{
    static const uint8_t ZEROS[PASSAGE_LONG];
    uint64_t fed = count < PASSAGE_LONG ? count : PASSAGE_LONG;

    storage_matcher_feed(matcher, weir_bytes(ZEROS, (size_t)fed), on_match, owner);
    matcher->seen += count - fed;
}
