/* The store's secret, and the keyed hashes made with it: all that is ever stored of a subject, of an
 * erased path or of erased content. */
#ifndef WEIR_STORAGE_SECRET_H
#define WEIR_STORAGE_SECRET_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/base/key_file.h"

enum { STORAGE_SECRET_BYTES = WEIR_KEY_BYTES, STORAGE_PROOF_BYTES = 16 };

struct weir_db;

struct storage_secret {
    uint8_t bytes[STORAGE_SECRET_BYTES];
    unsigned shift; /* bits that hashes of names lack: 0 but where a test wants collisions */
};

/* Domain of a hash: equal bytes in two domains have unrelated hashes. */
enum storage_hash_domain {
    HASH_SUBJECT = 1,  /* a data subject */
    HASH_PATH = 2,     /* path of an erased one-sample file, of an older Weir or in a bucket */
    HASH_RECORD = 3,   /* path and content of an erased record */
    HASH_PREFIX = 4,   /* beginning and end of what is indexed of a file */
    HASH_PROBE = 5,    /* seeds the search for erased content */
    HASH_KEY = 6,      /* what a sample is */
    HASH_ROW = 20,     /* what the manifest says of a file */
    HASH_CHECK = 30,   /* a constant: tells this secret from another */
    HASH_CONTENT = 40, /* what an erased record holds, wherever it is (storage/catalog/guard.h) */
    HASH_RETURN = 41,  /* what an erased record is, and whose */
    HASH_FILE = 43,  /* an erased one-sample file that has not changed: path, size, times, inode */
    HASH_BLOCK = 50, /* a block of a file that storage owns */
};

/* Reads DATA_DIR/secret, whose check value the database has, or draws it for a store that is empty.
 * CORRUPT when it is missing, or is another one. */
enum weir_status storage_secret_open(const char *data_dir, struct weir_db *db,
                                     struct storage_secret *ret_secret,
                                     struct weir_error *err) WEIR_MUST_USE;

/* BLAKE2b: what tells two values apart whose hashes are the same. */
void storage_proof(const struct storage_secret *secret, enum storage_hash_domain domain,
                   struct weir_bytes bytes, uint8_t *ret_proof);

/* SipHash-2-4. */
uint64_t storage_hash(const struct storage_secret *secret, enum storage_hash_domain domain,
                      struct weir_bytes bytes);

#endif
