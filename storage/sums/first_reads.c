/* Bits by rows of sums, found by a table of their keys: see first_reads.h. */
#include "storage/sums/first_reads.h"

#include "core/base/index.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "storage/keys/id_list.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS = SUM_SLOTS / 64 };

struct seen_row {
    struct sum_key key;
    uint64_t asked[WORDS];   /* since the start */
    uint64_t waiting[WORDS]; /* of them */
    bool is_listed;          /* in `waiting` of first_reads */
};

struct first_reads {
    struct seen_row *rows;
    size_t count, capacity;
    struct weir_index index; /* of rows by key */
    struct id_list waiting;  /* rows that may have a block that waits, */
    size_t waiting_at;       /* from this one on */
    size_t last;             /* the row that was looked at last */
};

struct first_reads *storage_first_reads_new(void)
{
    return weir_calloc(1, sizeof(struct first_reads));
}

void storage_first_reads_clear(struct first_reads *reads)
{
    free(reads->rows);
    weir_index_fini(&reads->index);
    free(reads->waiting.at);
    *reads = (struct first_reads){0};
}

void storage_first_reads_free(struct first_reads *reads)
{
    if (reads == NULL)
        return;
    storage_first_reads_clear(reads);
    free(reads);
}

/* ---- rows ---- */

static uint64_t hash_of(const struct sum_key *key)
{
    return weir_mix64(weir_mix64(key->file ^ (uint64_t)key->dataset << 44) ^ key->part);
}

static size_t find_row(const struct first_reads *reads, const struct sum_key *key)
{
    struct weir_index_search search = weir_index_search(&reads->index, hash_of(key));
    uint32_t row;

    while (weir_index_next(&search, &row)) {
        if (storage_sum_key_equal(&reads->rows[row].key, key))
            return row;
    }
    return reads->count;
}

static void add_row(struct first_reads *reads, const struct sum_key *key)
{
    reads->rows = weir_grow(reads->rows, reads->count, &reads->capacity, sizeof(*reads->rows));
    reads->rows[reads->count] = (struct seen_row){.key = *key};
    weir_index_add(&reads->index, hash_of(key), (uint32_t)reads->count++);
}

/* Blocks that are asked for one after the other lie in the same row. */
static size_t row_of(struct first_reads *reads, const struct block_at *at)
{
    struct sum_key key = storage_sum_key(at);

    if (reads->last < reads->count && storage_sum_key_equal(&reads->rows[reads->last].key, &key))
        return reads->last;
    if (reads->count == FIRST_READS_ROWS_MAX)
        storage_first_reads_clear(reads);
    reads->last = find_row(reads, &key);
    if (reads->last == reads->count)
        add_row(reads, &key);
    return reads->last;
}

/* ---- blocks ---- */

static uint64_t bit_of(const struct block_at *at)
{
    return UINT64_C(1) << storage_sum_slot(at) % 64;
}

static void list(struct first_reads *reads, size_t row)
{
    if (!reads->rows[row].is_listed)
        storage_id_list_add(&reads->waiting, row);
    reads->rows[row].is_listed = true;
}

bool storage_first_reads_want(struct first_reads *reads, const struct block_at *at)
{
    size_t row = row_of(reads, at), word = storage_sum_slot(at) / 64;

    if (reads->rows[row].asked[word] & bit_of(at))
        return false;
    storage_first_reads_again(reads, at);
    return true;
}

void storage_first_reads_again(struct first_reads *reads, const struct block_at *at)
{
    size_t row = row_of(reads, at), word = storage_sum_slot(at) / 64;

    reads->rows[row].asked[word] |= bit_of(at);
    reads->rows[row].waiting[word] |= bit_of(at);
    list(reads, row);
}

void storage_first_reads_saw(struct first_reads *reads, const struct block_at *at)
{
    size_t row = row_of(reads, at), word = storage_sum_slot(at) / 64;

    reads->rows[row].asked[word] |= bit_of(at);
    reads->rows[row].waiting[word] &= ~bit_of(at);
}

static bool take(struct seen_row *row, struct block_at *ret_at)
{
    for (size_t word = 0; word < WORDS; word++) {
        if (row->waiting[word] == 0)
            continue;
        *ret_at =
            storage_sum_block(&row->key, 64 * word + (size_t)__builtin_ctzll(row->waiting[word]));
        row->waiting[word] &= row->waiting[word] - 1;
        return true;
    }
    return false;
}

bool storage_first_reads_next(struct first_reads *reads, struct block_at *ret_at)
{
    while (reads->waiting_at < reads->waiting.count) {
        struct seen_row *row = &reads->rows[reads->waiting.at[reads->waiting_at]];

        if (take(row, ret_at))
            return true;
        row->is_listed = false;
        reads->waiting_at++;
    }
    reads->waiting.count = reads->waiting_at = 0;
    return false;
}
