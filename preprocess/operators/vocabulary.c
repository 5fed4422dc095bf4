/* Keys with a number each. */
#include "preprocess/operators/vocabulary.h"

#include "core/base/error.h"
#include "core/base/hash.h"

#include <string.h>

enum { ENTRY_HEAD_BYTES = 16, UNIT = 8 };

void preprocess_vocabulary_fini(struct vocabulary *vocabulary)
{
    weir_buf_fini(&vocabulary->pool);
    weir_buf_fini(&vocabulary->places);
    weir_index_fini(&vocabulary->index);
    *vocabulary = (struct vocabulary){0};
}

static void forget_index(struct vocabulary *vocabulary)
{
    weir_buf_clear(&vocabulary->places);
    weir_index_clear(&vocabulary->index);
}

void preprocess_vocabulary_clear(struct vocabulary *vocabulary)
{
    weir_buf_clear(&vocabulary->pool);
    forget_index(vocabulary);
}

size_t preprocess_vocabulary_size(const struct vocabulary *vocabulary)
{
    return vocabulary->places.size / sizeof(uint32_t);
}

static size_t bytes_of(size_t key_bytes)
{
    return ENTRY_HEAD_BYTES + (key_bytes + UNIT - 1) / UNIT * UNIT;
}

static uint8_t *place_of(const struct vocabulary *vocabulary, size_t entry)
{
    const uint32_t *places = (const uint32_t *)(const void *)vocabulary->places.at;
    return vocabulary->pool.at + (size_t)places[entry] * UNIT;
}

static struct vocabulary_entry read_entry(const uint8_t *at)
{
    return (struct vocabulary_entry){
        .column = weir_get_u32(at),
        .key = weir_bytes(at + ENTRY_HEAD_BYTES, weir_get_u32(at + 4)),
        .number = weir_get_u64(at + 8),
    };
}

struct vocabulary_entry preprocess_vocabulary_at(const struct vocabulary *vocabulary, size_t entry)
{
    weir_require(entry < preprocess_vocabulary_size(vocabulary));
    return read_entry(place_of(vocabulary, entry));
}

/* ---- the index ---- */

static uint64_t hash_of(const struct vocabulary *vocabulary, uint32_t column, struct weir_bytes key)
{
    return weir_hash64(key, vocabulary->index.seed + column);
}

static int64_t find(const struct vocabulary *vocabulary, uint32_t column, struct weir_bytes key,
                    uint64_t hash)
{
    struct weir_index_search search = weir_index_search(&vocabulary->index, hash);
    uint32_t found;
    while (weir_index_next(&search, &found)) {
        struct vocabulary_entry entry = read_entry(place_of(vocabulary, found));
        if (entry.column == column && weir_bytes_equal(entry.key, key))
            return found;
    }
    return VOCABULARY_NONE;
}

int64_t preprocess_vocabulary_find(const struct vocabulary *vocabulary, uint32_t column,
                                   struct weir_bytes key)
{
    return find(vocabulary, column, key, hash_of(vocabulary, column, key));
}

/* Indexes the entry that begins at byte `place`. False when its key is there already. */
static bool index_entry(struct vocabulary *vocabulary, size_t place)
{
    struct vocabulary_entry entry = read_entry(vocabulary->pool.at + place);
    weir_index_draw_seed(&vocabulary->index);
    uint64_t hash = hash_of(vocabulary, entry.column, entry.key);
    if (find(vocabulary, entry.column, entry.key, hash) != VOCABULARY_NONE)
        return false;
    weir_index_add(&vocabulary->index, hash, (uint32_t)preprocess_vocabulary_size(vocabulary));
    weir_buf_append(&vocabulary->places, &(uint32_t){(uint32_t)(place / UNIT)}, sizeof(uint32_t));
    return true;
}

bool preprocess_vocabulary_count(struct vocabulary *vocabulary,
                                 const struct vocabulary_entry *entry, size_t bytes_max)
{
    int64_t found = preprocess_vocabulary_find(vocabulary, entry->column, entry->key);
    if (found != VOCABULARY_NONE) {
        uint8_t *at = place_of(vocabulary, (size_t)found);
        weir_put_u64(at + 8, weir_get_u64(at + 8) + entry->number);
        return true;
    }
    size_t place = vocabulary->pool.size, bytes = bytes_of(entry->key.size);
    if (entry->key.size > VOCABULARY_KEY_MAX || place + bytes > bytes_max)
        return false;
    weir_buf_reserve(&vocabulary->pool, bytes);
    uint8_t *at = vocabulary->pool.at + place;
    memset(at, 0, bytes);
    weir_put_u32(at, entry->column);
    weir_put_u32(at + 4, (uint32_t)entry->key.size);
    weir_put_u64(at + 8, entry->number);
    if (entry->key.size > 0)
        memcpy(at + ENTRY_HEAD_BYTES, entry->key.at, entry->key.size);
    vocabulary->pool.size += bytes;
    return index_entry(vocabulary, place);
}

/* The bytes of the entry at the front of `rest`; 0 when there is no whole one. */
static size_t entry_bytes(struct weir_bytes rest, uint32_t columns)
{
    if (rest.size < ENTRY_HEAD_BYTES || weir_get_u32(rest.at) >= columns ||
        weir_get_u32(rest.at + 4) > VOCABULARY_KEY_MAX)
        return 0;
    size_t bytes = bytes_of(weir_get_u32(rest.at + 4));
    return bytes <= rest.size ? bytes : 0;
}

uint64_t preprocess_vocabulary_bound(const struct vocabulary *vocabulary)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < preprocess_vocabulary_size(vocabulary); i++) {
        uint64_t number = preprocess_vocabulary_at(vocabulary, i).number;
        largest = number > largest ? number : largest;
    }
    return largest + 1;
}

bool preprocess_vocabulary_index(struct vocabulary *vocabulary, uint32_t columns)
{
    forget_index(vocabulary);
    for (size_t at = 0, bytes; at < vocabulary->pool.size; at += bytes) {
        bytes =
            entry_bytes(weir_bytes(vocabulary->pool.at + at, vocabulary->pool.size - at), columns);
        if (bytes == 0 || !index_entry(vocabulary, at)) {
            preprocess_vocabulary_clear(vocabulary);
            return false;
        }
    }
    return true;
}
