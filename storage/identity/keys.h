/* Keys that requests to an object store are signed with. */
#ifndef WEIR_STORAGE_IDENTITY_KEYS_H
#define WEIR_STORAGE_IDENTITY_KEYS_H

#include <stdint.h>

struct s3_credentials {
    char *key_id;
    char *secret;
    char *token;        /* of a session; NULL: none */
    int64_t expires_us; /* UTC; INT64_MAX or 0: never */
};

/* Frees its texts, wiped, and leaves it zeroed. */
void storage_s3_credentials_fini(struct s3_credentials *keys);

#endif
