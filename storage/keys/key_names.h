/* The subjects and keys that erasures were asked for. A name is never kept: its 64-bit hash finds samples,
 * its 128-bit proof tells the person meant from another whose hash happens to be the same. Both are keyed
 * by the store's secret. */
#ifndef WEIR_STORAGE_KEY_NAMES_H
#define WEIR_STORAGE_KEY_NAMES_H

#include "storage/keys/secret.h"

struct key_name {
    enum storage_hash_domain domain; /* HASH_SUBJECT or HASH_KEY */
    bool has_proof;                  /* false: asked for before there were proofs */
    uint64_t hash;
    uint8_t proof[STORAGE_PROOF_BYTES];
};

/* Zeroed is empty; the owner frees `at`. */
struct key_names {
    struct key_name *at;
    size_t count, capacity;
};

void storage_key_names_add(struct key_names *names, const struct key_name *name);
struct key_name storage_key_name(const struct storage_secret *secret,
                                 enum storage_hash_domain domain, struct weir_bytes clear);
/* True when both are the same name, as far as is known. */
bool storage_key_name_is(const struct key_name *a, const struct key_name *b);
/* Sorts by domain and hash. */
void storage_key_names_sort(struct key_names *names);
/* In sorted names. */
bool storage_key_names_have(const struct key_names *names, const struct key_name *name);

/* As bytes, for Postgres. Damaged ones are CORRUPT. */
void storage_key_names_pack(const struct key_names *names, struct weir_buf *out);
enum weir_status storage_key_names_unpack(struct weir_bytes packed, struct key_names *names,
                                          struct weir_error *err) WEIR_MUST_USE;

#endif
