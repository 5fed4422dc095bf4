/* Erased names by hash: see erased_names.h. */
#include "storage/keys/erased_names.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { CAPACITY_FIRST = 64 };

void storage_erased_names_fini(struct erased_names *names)
{
    free(names->slots);
    *names = (struct erased_names){0};
}

/* Hashes are keyed and even; their middle bits differ also where a test cuts them short. */
static size_t slot_of(const struct erased_names *names, uint64_t hash)
{
    return (size_t)(hash ^ hash >> 32) & (names->capacity - 1);
}

static bool is_equal(const struct erased_name *a, const struct erased_name *b)
{
    return a->dataset == b->dataset && a->name.domain == b->name.domain &&
           a->name.hash == b->name.hash && a->name.has_proof == b->name.has_proof &&
           memcmp(a->name.proof, b->name.proof, sizeof a->name.proof) == 0;
}

static void put(struct erased_names *names, const struct erased_name *added)
{
    size_t at = slot_of(names, added->name.hash);

    while (names->slots[at].is_used) {
        if (is_equal(&names->slots[at], added))
            return;
        at = (at + 1) & (names->capacity - 1);
    }
    names->slots[at] = *added;
    names->count++;
}

static void grow(struct erased_names *names)
{
    struct erased_names grown = {.capacity =
                                     names->capacity > 0 ? 2 * names->capacity : CAPACITY_FIRST};

    grown.slots = weir_calloc(grown.capacity, sizeof *grown.slots);
    for (size_t i = 0; i < names->capacity; i++) {
        if (names->slots[i].is_used)
            put(&grown, &names->slots[i]);
    }
    free(names->slots);
    *names = grown;
}

void storage_erased_names_add(struct erased_names *names, uint32_t dataset,
                              const struct key_name *name)
{
    const struct erased_name added = {.name = *name, .dataset = dataset, .is_used = true};

    if (2 * (names->count + 1) > names->capacity)
        grow(names);
    put(names, &added);
}

bool storage_erased_names_may(const struct erased_names *names, enum storage_hash_domain domain,
                              uint64_t hash)
{
    if (names->count == 0)
        return false;
    for (size_t at = slot_of(names, hash); names->slots[at].is_used;
         at = (at + 1) & (names->capacity - 1)) {
        if (names->slots[at].name.hash == hash && names->slots[at].name.domain == domain)
            return true;
    }
    return false;
}

static bool have(const struct erased_names *names, uint32_t dataset, bool in_any,
                 const struct key_name *name)
{
    if (names->count == 0)
        return false;
    for (size_t at = slot_of(names, name->hash); names->slots[at].is_used;
         at = (at + 1) & (names->capacity - 1)) {
        const struct erased_name *erased = &names->slots[at];

        if ((in_any || erased->dataset == 0 || erased->dataset == dataset) &&
            storage_key_name_is(&erased->name, name))
            return true;
    }
    return false;
}

bool storage_erased_names_have(const struct erased_names *names, uint32_t dataset,
                               const struct key_name *name)
{
    return have(names, dataset, false, name);
}

bool storage_erased_names_know(const struct erased_names *names, uint32_t dataset,
                               const struct key_name *name)
{
    return have(names, dataset, dataset == 0, name);
}
