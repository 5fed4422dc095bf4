/* Blocks of files in their order: the damaged ones, the open ones. */
#ifndef WEIR_STORAGE_BLOCK_SET_H
#define WEIR_STORAGE_BLOCK_SET_H

#include "storage/sums/block_sum.h"

enum { BLOCK_SET_MAX = 1 << 20 };

/* Zeroed is none. */
struct block_set {
    struct block_at *at;
    size_t count, capacity;
};

void storage_block_set_fini(struct block_set *set);
/* False when it is known already, or there are too many. */
bool storage_block_set_add(struct block_set *set, const struct block_at *at);
/* False when it was not known. */
bool storage_block_set_remove(struct block_set *set, const struct block_at *at);
/* The index of the first one at or after `at`; the count when there is none. */
size_t storage_block_set_from(const struct block_set *set, const struct block_at *at);
/* True when one of them lies in these bytes of the file. */
bool storage_block_set_touch(const struct block_set *set, uint32_t dataset, uint64_t file,
                             uint64_t offset, uint64_t length);

#endif
