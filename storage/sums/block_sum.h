/* Checksums of the files that storage owns: one of each block of 128 KiB, keyed with the store's secret, so that
 * nobody who lacks it can tell by a sum what a block held. A row of storage.block_sum has those of up to 128 blocks:
 * the first blocks of files share rows, so that a million small files are some thousand, and what follows in a large
 * file has rows of its own. Pure. */
#ifndef WEIR_STORAGE_BLOCK_SUM_H
#define WEIR_STORAGE_BLOCK_SUM_H

#include "storage/keys/secret.h"

enum { SUM_BLOCK_BYTES = 128 << 10, SUM_SLOTS = 128, SUM_ENTRY_BYTES = 12 };

struct block_at {
    uint32_t dataset;
    uint64_t file; /* its number */
    uint64_t block;
};

/* The sum of the first `length` bytes of a block; that of a growing file's last block covers the bytes there were. */
struct block_sum {
    uint64_t sum;
    uint32_t length; /* 0: none */
    /* Some of its bytes had no sum when the store was copied, restored or moved: a sum that was made later only says
     * that they have not changed since. */
    bool is_unproven;
};
/* The length of a block that was found damaged when something else in it had to be overwritten: no sum can
 * tell of it after that. */
#define SUM_DAMAGED UINT32_MAX

/* True for the same block of the same file. */
bool storage_block_equal(const struct block_at *a, const struct block_at *b);

struct sum_key {
    uint32_t dataset;
    uint64_t file;
    uint64_t part; /* 0: first blocks of the files from `file` on */
};

struct sum_key storage_sum_key(const struct block_at *at);
size_t storage_sum_slot(const struct block_at *at);
/* The other way round. */
struct block_at storage_sum_block(const struct sum_key *key, size_t slot);
bool storage_sum_key_equal(const struct sum_key *a, const struct sum_key *b);

uint64_t storage_block_sum(const struct storage_secret *secret, const struct block_at *at,
                           struct weir_bytes bytes);
/* Number of bytes of a block among the first `bytes` of its file. */
uint32_t storage_block_length(uint64_t block, uint64_t bytes);

/* Without the empty entries at the end: no bytes when there is no other. */
void storage_sums_pack(const struct block_sum sums[SUM_SLOTS], struct weir_buf *out);
/* CORRUPT when the bytes are no row. */
enum weir_status storage_sums_unpack(struct weir_bytes packed, struct block_sum ret_sums[SUM_SLOTS],
                                     struct weir_error *err) WEIR_MUST_USE;

#endif
