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
    FILTER_BITS_MIN = 1 << 20,
    FILTER_BITS_EACH = 16,
    SMALL_PAGE_BYTES = 4096,
    LARGE_PAGE_BYTES = 2 << 20,
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
        *list = weir_realloc(*list, *count ? 2 * *count : 1, sizeof **list);
    (*list)[(*count)++] = value;
}

void storage_fingerprints_add(struct fingerprints *prints, const struct storage_secret *secret,
                              size_t passages, struct weir_bytes content)
{
    const struct key key = derive(secret);
    bool is_long = content.size >= PASSAGE_LONG;
    size_t window = is_long ? PASSAGE_LONG : PASSAGE_SHORT;
    size_t room = content.size >= window ? content.size - window : 0;
    size_t added = 0;

    if (content.size < window)
        return;
    for (size_t i = 0; i < PASSAGES_PER_SAMPLE && added < passages; i++) {
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
}

static void pack_list(const uint64_t *list, size_t count, struct weir_buf *out)
{
    uint8_t word[8];

    weir_put_u64(word, count);
    weir_buf_append(out, word, sizeof word);
    for (size_t i = 0; i < count; i++) {
        weir_put_u64(word, list[i]);
        weir_buf_append(out, word, sizeof word);
    }
}

void storage_fingerprints_pack(const struct fingerprints *prints, struct weir_buf *out)
{
    pack_list(prints->longs, prints->long_count, out);
    pack_list(prints->shorts, prints->short_count, out);
}

static bool unpack_list(struct weir_bytes *packed, uint64_t **list, size_t *count)
{
    uint64_t announced;

    if (packed->size < 8)
        return false;
    announced = weir_get_u64(packed->at);
    *packed = weir_bytes(packed->at + 8, packed->size - 8);
    if (announced > packed->size / 8)
        return false;
    for (size_t i = 0; i < announced; i++)
        append(list, count, weir_get_u64(packed->at + 8 * i));
    *packed = weir_bytes(packed->at + 8 * announced, packed->size - 8 * announced);
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
    uint64_t leaving; /* factor^(window - 1): weight of the byte that leaves */
    uint64_t sum;
};

struct matcher {
    struct key key;
    struct roller rollers[2];
    uint64_t *table; /* of both; open addressing; 0 is free */
    size_t mask, room;
    uint8_t *filter; /* one bit per low hash bits: most bytes are done with here */
    size_t filter_mask;
    uint8_t ring[PASSAGE_LONG]; /* the newest bytes */
    uint64_t seen;              /* of this stream */
};

static void open_roller(struct roller *roller, const struct key *key, size_t window)
{
    *roller = (struct roller){.window = window, .leaving = 1};
    for (size_t i = 1; i < window; i++)
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
    struct matcher *matcher = weir_calloc(1, sizeof *matcher);
    size_t size = power_from(2 * count), bits = power_from(FILTER_BITS_EACH * count);

    bits = bits < FILTER_BITS_MIN ? FILTER_BITS_MIN : bits;
    matcher->key = derive(secret);
    matcher->room = count;
    matcher->mask = size - 1;
    matcher->table = large_table(size, sizeof *matcher->table);
    matcher->filter_mask = bits - 1;
    matcher->filter = large_table(bits / 8, 1);
    open_roller(&matcher->rollers[0], &matcher->key, PASSAGE_LONG);
    open_roller(&matcher->rollers[1], &matcher->key, PASSAGE_SHORT);
    return matcher;
}

static void add_all(struct matcher *matcher, struct roller *roller, const uint64_t *list,
                    size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = list[i] & matcher->mask, bit = list[i] & matcher->filter_mask;

        while (matcher->table[at] && matcher->table[at] != list[i])
            at = (at + 1) & matcher->mask;
        matcher->table[at] = list[i];
        matcher->filter[bit / 8] |= (uint8_t)(1u << bit % 8);
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
    if (!matcher)
        return;
    free(matcher->table);
    free(matcher->filter);
    free(matcher);
}

void storage_matcher_reset(struct matcher *matcher)
{
    matcher->seen = 0;
    matcher->rollers[0].sum = matcher->rollers[1].sum = 0;
}

static bool holds(const struct matcher *matcher, uint64_t print)
{
    size_t at = print & matcher->mask, bit = print & matcher->filter_mask;

    if (!(matcher->filter[bit / 8] >> bit % 8 & 1))
        return false;
    while (matcher->table[at] && matcher->table[at] != print)
        at = (at + 1) & matcher->mask;
    return matcher->table[at] == print;
}

/* The fingerprint of the newest window, if it is searched for; else 0. */
static uint64_t advance(const struct matcher *matcher, struct roller *roller, uint8_t byte)
{
    uint64_t print;

    if (matcher->seen >= roller->window) {
        uint8_t leaving = matcher->ring[(matcher->seen - roller->window) % PASSAGE_LONG];

        roller->sum -= ((uint64_t)leaving + 1) * roller->leaving;
    }
    roller->sum = roller->sum * matcher->key.factor + byte + 1;
    if (matcher->seen + 1 < roller->window)
        return 0;
    print = weir_mix64(roller->sum ^ matcher->key.seed);
    return holds(matcher, print) ? print : 0;
}

void storage_matcher_feed(struct matcher *matcher, struct weir_bytes bytes,
                          storage_match_fn *on_match, void *owner)
{
    for (size_t i = 0; i < bytes.size; i++) {
        for (size_t r = 0; r < WEIR_COUNT(matcher->rollers); r++) {
            struct roller *roller = &matcher->rollers[r];
            uint64_t print = roller->count > 0 ? advance(matcher, roller, bytes.at[i]) : 0;

            if (print != 0)
                on_match(owner, matcher->seen + 1 - roller->window, roller->window, print);
        }
        matcher->ring[matcher->seen % PASSAGE_LONG] = bytes.at[i];
        matcher->seen++;
    }
}

/* Behind a whole passage of zeros nothing changes but the place. */
void storage_matcher_feed_zeros(struct matcher *matcher, uint64_t count, storage_match_fn *on_match,
                                void *owner)
{
    static const uint8_t ZEROS[PASSAGE_LONG];
    uint64_t fed = count < PASSAGE_LONG ? count : PASSAGE_LONG;

    storage_matcher_feed(matcher, weir_bytes(ZEROS, (size_t)fed), on_match, owner);
    matcher->seen += count - fed;
}
