/* Shares of a bounded whole, by key. One key leaves as much to others as it then has: alone it ends with half
 * of the whole, two that want all of it with a third each, and whoever comes finds some. Pure; all take O(1),
 * amortised. */
#ifndef WEIR_BASE_QUOTA_H
#define WEIR_BASE_QUOTA_H

#include "core/base/cache.h"

/* Zeroed is empty. */
struct weir_quota {
    struct weir_cache keys; /* those that have something; `size` is what is taken in all */
};

void weir_quota_fini(struct weir_quota *quota);
/* Returns the number that stands for a key; 0 for "" or NULL: it is on this host, and may take all that is left. */
uint64_t weir_quota_key(const char *name);
/* Returns what the key has taken. */
size_t weir_quota_has(const struct weir_quota *quota, uint64_t key);
/* True when there are `amount` of `whole` for the key. */
bool weir_quota_allows(const struct weir_quota *quota, uint64_t key, size_t amount, size_t whole);
/* The same of a key that may have `times` as much as it leaves. */
bool weir_quota_allows_times(const struct weir_quota *quota, uint64_t key, size_t amount,
                             size_t whole, size_t times);
/* Whatever was taken has to be given back. */
void weir_quota_take(struct weir_quota *quota, uint64_t key, size_t amount);
void weir_quota_give(struct weir_quota *quota, uint64_t key, size_t amount);

#endif
