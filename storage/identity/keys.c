/* Keys, wiped when they are let go. */
#include "storage/identity/keys.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

static void let_go(char *text)
{
    if (text != NULL)
        sodium_memzero(text, strlen(text));
    free(text);
}

void storage_s3_credentials_fini(struct s3_credentials *keys)
{
    let_go(keys->key_id);
    let_go(keys->secret);
    let_go(keys->token);
    *keys = (struct s3_credentials){0};
}
