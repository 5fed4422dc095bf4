/* A key is an entry of the cache for as long as it has something. */
#include "core/base/quota.h"

#include "core/base/bytes.h"
#include "core/base/hash.h"
#include "core/base/memory.h"

#include <stdlib.h>

void weir_quota_fini(struct weir_quota *quota)
{
    for (struct weir_cache_entry *entry; (entry = weir_cache_oldest(&quota->keys)) != NULL;) {
        weir_cache_remove(&quota->keys, entry);
        free(entry);
    }
    weir_cache_fini(&quota->keys);
}

uint64_t weir_quota_key(const char *name)
{
    return name != NULL && name[0] != '\0' ? weir_hash64(weir_bytes_of(name), 0) : 0;
}

size_t weir_quota_has(const struct weir_quota *quota, uint64_t key)
{
    const struct weir_cache_entry *entry = weir_cache_find(&quota->keys, key);

    return entry != NULL ? entry->size : 0;
}

bool weir_quota_allows(const struct weir_quota *quota, uint64_t key, size_t amount, size_t whole)
{
    return weir_quota_allows_times(quota, key, amount, whole, 1);
}

bool weir_quota_allows_times(const struct weir_quota *quota, uint64_t key, size_t amount,
                             size_t whole, size_t times)
{
    size_t has = weir_quota_has(quota, key), taken = quota->keys.size;
    bool is_there = taken <= whole && amount <= whole - taken;

    return is_there && (key == 0 || has + amount <= times * (whole - taken - amount));
}

void weir_quota_take(struct weir_quota *quota, uint64_t key, size_t amount)
{
    struct weir_cache_entry *entry = weir_cache_find(&quota->keys, key);

    if (entry == NULL) {
        entry = weir_calloc(1, sizeof(*entry));
        weir_cache_add(&quota->keys, entry, key, 0, entry);
    }
    entry->size += amount;
    quota->keys.size += amount;
}

void weir_quota_give(struct weir_quota *quota, uint64_t key, size_t amount)
{
    struct weir_cache_entry *entry = weir_cache_find(&quota->keys, key);

    entry->size -= amount;
    quota->keys.size -= amount;
    if (entry->size > 0)
        return;
    weir_cache_remove(&quota->keys, entry);
    free(entry);
}
