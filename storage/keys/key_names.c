/* Names by hash and proof: see key_names.h. Stored: domain u8, hash u64, proof. */
#include "storage/keys/key_names.h"

#include "core/base/bisect.h"
#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 1 + 8 + STORAGE_PROOF_BYTES };

void storage_key_names_add(struct key_names *names, const struct key_name *name)
{
    names->at = weir_grow(names->at, names->count, &names->capacity, sizeof(*names->at));
    names->at[names->count++] = *name;
}

struct key_name storage_key_name(const struct storage_secret *secret,
                                 enum storage_hash_domain domain, struct weir_bytes clear)
{
    struct key_name name = {
        .domain = domain, .has_proof = true, .hash = storage_hash(secret, domain, clear)};

    storage_proof(secret, domain, clear, name.proof);
    return name;
}

bool storage_key_name_is(const struct key_name *a, const struct key_name *b)
{
    return a->domain == b->domain && a->hash == b->hash &&
           (!a->has_proof || !b->has_proof || memcmp(a->proof, b->proof, sizeof(a->proof)) == 0);
}

static int by_hash(const void *a, const void *b)
{
    const struct key_name *x = a, *y = b;

    if (x->domain != y->domain)
        return x->domain < y->domain ? -1 : 1;
    return (x->hash > y->hash) - (x->hash < y->hash);
}

void storage_key_names_sort(struct key_names *names)
{
    if (names->count > 0)
        qsort(names->at, names->count, sizeof(*names->at), by_hash);
}

bool storage_key_names_have(const struct key_names *names, const struct key_name *name)
{
    size_t low = 0, high = names->count;

    /* the first that is not below */
    WEIR_BISECT(low, high, middle, by_hash(&names->at[middle], name) < 0);
    for (; low < names->count && by_hash(&names->at[low], name) == 0; low++) {
        if (storage_key_name_is(&names->at[low], name))
            return true;
    }
    return false;
}

void storage_key_names_pack(const struct key_names *names, struct weir_buf *out)
{
    for (size_t i = 0; i < names->count; i++) {
        uint8_t packed[NAME_BYTES] = {(uint8_t)names->at[i].domain};

        weir_put_u64(packed + 1, names->at[i].hash);
        memcpy(packed + 9, names->at[i].proof, STORAGE_PROOF_BYTES);
        weir_buf_append(out, packed, sizeof(packed));
    }
}

enum weir_status storage_key_names_unpack(struct weir_bytes packed, struct key_names *names,
                                          struct weir_error *err)
{
    if (packed.size % NAME_BYTES != 0)
        return weir_fail(err, WEIR_CORRUPT, "%zu bytes are not names of %d bytes each", packed.size,
                         NAME_BYTES);
    for (size_t at = 0; at < packed.size; at += NAME_BYTES) {
        struct key_name name = {.domain = (enum storage_hash_domain)packed.at[at],
                                .has_proof = true,
                                .hash = weir_get_u64(packed.at + at + 1)};

        memcpy(name.proof, packed.at + at + 9, STORAGE_PROOF_BYTES);
        storage_key_names_add(names, &name);
    }
    return WEIR_OK;
}
