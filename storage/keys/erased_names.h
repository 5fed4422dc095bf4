/* Subjects and keys that erasures were asked for: a table by keyed hash, looked into for every record that comes in.
 * Names are added and never removed. */
#ifndef WEIR_STORAGE_ERASED_NAMES_H
#define WEIR_STORAGE_ERASED_NAMES_H

#include "core/base/index.h"
#include "storage/keys/key_names.h"

struct erased_name {
    struct key_name name;
    uint32_t dataset; /* 0: every one */
};

/* Zeroed is empty. */
struct erased_names {
    struct erased_name *at;
    size_t count, capacity;
    struct weir_index index; /* by hash */
};

void storage_erased_names_fini(struct erased_names *names);
void storage_erased_names_add(struct erased_names *names, uint32_t dataset,
                              const struct key_name *name);
/* False when no name has this hash: nothing else needs to be compared. */
bool storage_erased_names_may(const struct erased_names *names, enum storage_hash_domain domain,
                              uint64_t hash);
/* True when the name was erased in the dataset, or in every one: it may not come back there. */
bool storage_erased_names_have(const struct erased_names *names, uint32_t dataset,
                               const struct key_name *name);
/* True when an erasure was asked for the name before, of the dataset or, with 0, of any. */
bool storage_erased_names_know(const struct erased_names *names, uint32_t dataset,
                               const struct key_name *name);

#endif
