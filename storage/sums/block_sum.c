/* Checksums of blocks: see block_sum.h. */
#include "storage/sums/block_sum.h"

#include "core/base/hash.h"

#include <string.h>

bool storage_block_equal(const struct block_at *a, const struct block_at *b)
{
    return a->dataset == b->dataset && a->file == b->file && a->block == b->block;
}

struct sum_key storage_sum_key(const struct block_at *at)
{
    if (at->block == 0)
        return (struct sum_key){at->dataset, at->file - at->file % SUM_SLOTS, 0};
    return (struct sum_key){at->dataset, at->file, 1 + (at->block - 1) / SUM_SLOTS};
}

size_t storage_sum_slot(const struct block_at *at)
{
    return (size_t)(at->block == 0 ? at->file % SUM_SLOTS : (at->block - 1) % SUM_SLOTS);
}

struct block_at storage_sum_block(const struct sum_key *key, size_t slot)
{
    if (key->part == 0)
        return (struct block_at){key->dataset, key->file + slot, 0};
    return (struct block_at){key->dataset, key->file, 1 + (key->part - 1) * SUM_SLOTS + slot};
}

bool storage_sum_key_equal(const struct sum_key *a, const struct sum_key *b)
{
    return a->dataset == b->dataset && a->file == b->file && a->part == b->part;
}

uint64_t storage_block_sum(const struct storage_secret *secret, const struct block_at *at,
                           struct weir_bytes bytes)
{
    struct weir_digest digest = weir_digest_of(bytes);
    uint8_t keyed[4 * 8 + WEIR_DIGEST_BYTES];

    weir_put_u64(keyed, at->dataset);
    weir_put_u64(keyed + 8, at->file);
    weir_put_u64(keyed + 16, at->block);
    weir_put_u64(keyed + 24, bytes.size);
    memcpy(keyed + 32, digest.bytes, sizeof(digest.bytes));
    return storage_hash(secret, HASH_BLOCK, weir_bytes(keyed, sizeof(keyed)));
}

uint32_t storage_block_length(uint64_t block, uint64_t bytes)
{
    uint64_t from = block * SUM_BLOCK_BYTES;

    if (bytes <= from)
        return 0;
    return bytes - from < SUM_BLOCK_BYTES ? (uint32_t)(bytes - from) : SUM_BLOCK_BYTES;
}

enum { UNPROVEN = 1 << 30 }; /* in the stored length */

static bool is_empty(const struct block_sum *sum)
{
    return sum->length == 0 && !sum->is_unproven;
}

static uint32_t stored_length(const struct block_sum *sum)
{
    return sum->length == SUM_DAMAGED || !sum->is_unproven ? sum->length : sum->length | UNPROVEN;
}

static struct block_sum stored_sum(uint64_t sum, uint32_t length)
{
    bool is_unproven = length != SUM_DAMAGED && (length & UNPROVEN) != 0;

    return (struct block_sum){sum, is_unproven ? length & ~(uint32_t)UNPROVEN : length,
                              is_unproven};
}

void storage_sums_pack(const struct block_sum sums[SUM_SLOTS], struct weir_buf *out)
{
    size_t count = SUM_SLOTS;

    while (count > 0 && is_empty(&sums[count - 1]))
        count--;
    for (size_t i = 0; i < count; i++) {
        uint8_t entry[SUM_ENTRY_BYTES];

        weir_put_u64(entry, sums[i].sum);
        weir_put_u32(entry + 8, stored_length(&sums[i]));
        weir_buf_append(out, entry, sizeof(entry));
    }
}

enum weir_status storage_sums_unpack(struct weir_bytes packed, struct block_sum ret_sums[SUM_SLOTS],
                                     struct weir_error *err)
{
    size_t count = packed.size / SUM_ENTRY_BYTES;

    if (packed.size % SUM_ENTRY_BYTES != 0 || count > SUM_SLOTS)
        return weir_fail(err, WEIR_CORRUPT, "table block_sum: found a row of %zu bytes",
                         packed.size);
    memset(ret_sums, 0, SUM_SLOTS * sizeof(*ret_sums));
    for (size_t i = 0; i < count; i++) {
        const uint8_t *entry = packed.at + i * SUM_ENTRY_BYTES;

        ret_sums[i] = stored_sum(weir_get_u64(entry), weir_get_u32(entry + 8));
        if (ret_sums[i].length > SUM_BLOCK_BYTES && ret_sums[i].length != SUM_DAMAGED)
            return weir_fail(err, WEIR_CORRUPT, "table block_sum: found a block of %u bytes",
                             (unsigned)ret_sums[i].length);
    }
    return WEIR_OK;
}
