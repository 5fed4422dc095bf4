/* Erased names by hash: see erased_names.h. */
#include "storage/keys/erased_names.h"

#include "core/base/memory.h"
#include "core/base/rng.h"

#include <stdlib.h>
#include <string.h>

void storage_erased_names_fini(struct erased_names *names)
{
    free(names->at);
    weir_index_fini(&names->index);
    *names = (struct erased_names){0};
}

/* Strangers cannot choose the hashes, for they are keyed. Mixed, for tests cut them short. */
static struct weir_index_search search_for(const struct erased_names *names, uint64_t hash)
{
    return weir_index_search(&names->index, weir_mix64(hash));
}

static bool is_equal(const struct erased_name *a, uint32_t dataset, const struct key_name *name)
{
    return a->dataset == dataset && a->name.domain == name->domain && a->name.hash == name->hash &&
           a->name.has_proof == name->has_proof &&
           memcmp(a->name.proof, name->proof, sizeof(name->proof)) == 0;
}

void storage_erased_names_add(struct erased_names *names, uint32_t dataset,
                              const struct key_name *name)
{
    struct weir_index_search search = search_for(names, name->hash);
    uint32_t i;

    while (weir_index_next(&search, &i)) {
        if (is_equal(&names->at[i], dataset, name))
            return;
    }
    names->at = weir_grow(names->at, names->count, &names->capacity, sizeof(*names->at));
    names->at[names->count] = (struct erased_name){.name = *name, .dataset = dataset};
    weir_index_add(&names->index, weir_mix64(name->hash), (uint32_t)names->count++);
}

bool storage_erased_names_may(const struct erased_names *names, enum storage_hash_domain domain,
                              uint64_t hash)
{
    struct weir_index_search search = search_for(names, hash);
    uint32_t i;

    while (weir_index_next(&search, &i)) {
        if (names->at[i].name.hash == hash && names->at[i].name.domain == domain)
            return true;
    }
    return false;
}

static bool have(const struct erased_names *names, uint32_t dataset, bool in_any,
                 const struct key_name *name)
{
    struct weir_index_search search = search_for(names, name->hash);
    uint32_t i;

    while (weir_index_next(&search, &i)) {
        const struct erased_name *erased = &names->at[i];

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
