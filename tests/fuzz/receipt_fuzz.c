/* Receipts of erasures that somebody was given: JSON from anywhere. As it comes, and signed as a platform would. */
#include "orchestrator/erasures/signing.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool check(struct weir_bytes text, struct receipt_claims *claims)
{
    struct weir_error err;
    if (orchestrator_receipt_read(text, claims, &err) != WEIR_OK)
        return false;
    weir_require(strlen(claims->hash) == RECEIPT_HASH_MAX - 1);
    weir_require(strlen(claims->previous) < RECEIPT_HASH_MAX);
    weir_require(strlen(claims->key) < RECEIPT_KEY_MAX);
    return true;
}

/* Checks that the claims of a signed receipt are those that were signed. */
static void check_signed(struct weir_bytes text)
{
    static const uint8_t SEED[WEIR_KEY_BYTES] = {1};
    struct receipt_key key;
    struct receipt_claims claims;
    char hash[RECEIPT_HASH_MAX];
    json_t *body = json_loadb((const char *)text.at, text.size, 0, NULL);
    if (json_is_object(body)) {
        orchestrator_receipt_key_derive(SEED, &key);
        orchestrator_receipt_sign(body, &key, hash);
        char *made = json_dumps(body, 0);
        weir_require(made != NULL);
        if (check(weir_bytes_of(made), &claims))
            weir_require(strcmp(claims.key, key.text) == 0 && strcmp(claims.hash, hash) == 0);
        free(made);
        orchestrator_receipt_key_fini(&key);
    }
    json_decref(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct receipt_claims claims;
    (void)check(weir_bytes(data, size), &claims);
    if (size > 0)
        check_signed(weir_bytes(data, size));
    return 0;
}
