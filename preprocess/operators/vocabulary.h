/* Keys with a number each, in the order they came: what the operator `vocab` counts while it is
 * fitted, and looks up afterwards. A key is bytes in a column of a tensor: the words of one column
 * know nothing of those of another.
 *
 * The entries lie end to end in one buffer, which is also how they travel and are stored:
 *     0  u32 column    4  u32 size    8  u64 number    16  the key, filled up to 8 bytes */
#ifndef WEIR_PREPROCESS_OPERATORS_VOCABULARY_H
#define WEIR_PREPROCESS_OPERATORS_VOCABULARY_H

#include "core/base/bytes.h"
#include "core/base/index.h"

enum { VOCABULARY_KEY_MAX = 256, VOCABULARY_NONE = -1 };

struct vocabulary_entry {
    uint32_t column;
    struct weir_bytes key;
    uint64_t number;
};

/* Zeroed is empty. */
struct vocabulary {
    struct weir_buf pool;    /* the entries */
    struct weir_buf places;  /* u32 per entry: where it begins, in units of 8 bytes */
    struct weir_index index; /* of entries by column and key */
};

void preprocess_vocabulary_fini(struct vocabulary *vocabulary);
/* Empties it, keeping its memory. */
void preprocess_vocabulary_clear(struct vocabulary *vocabulary);
size_t preprocess_vocabulary_size(const struct vocabulary *vocabulary);
struct vocabulary_entry preprocess_vocabulary_at(const struct vocabulary *vocabulary, size_t entry);

/* The entry of a key, or VOCABULARY_NONE. */
int64_t preprocess_vocabulary_find(const struct vocabulary *vocabulary, uint32_t column,
                                   struct weir_bytes key);
/* Adds `number` to that of the key, which is appended when it is new. False when it is longer than
 * VOCABULARY_KEY_MAX, or new while the pool has grown to `bytes_max`. */
bool preprocess_vocabulary_count(struct vocabulary *vocabulary,
                                 const struct vocabulary_entry *entry, size_t bytes_max);
/* Returns a bound of the numbers of all entries; an empty one has 1, as if it had an entry of number 0. */
uint64_t preprocess_vocabulary_bound(const struct vocabulary *vocabulary);
/* Finds its way again in a pool that came from elsewhere (taken over by the caller into
 * vocabulary->pool). False, and empty, when the bytes are not whole entries with columns below
 * `columns`, or a key is there twice. */
bool preprocess_vocabulary_index(struct vocabulary *vocabulary, uint32_t columns);

#endif
