/* See token.h. */
#include "core/service/token.h"

#include "core/base/bytes.h"
#include "core/base/rng.h"

#include <sodium.h>
#include <string.h>

enum { TOKEN_BYTES = WEIR_TOKEN_TEXT / 2 };

void weir_token_draw(char ret_token[WEIR_TOKEN_TEXT + 1])
{
    uint8_t bytes[TOKEN_BYTES];
    weir_random_bytes(bytes, sizeof(bytes));
    weir_hex(bytes, sizeof(bytes), ret_token);
    sodium_memzero(bytes, sizeof(bytes));
}

void weir_token_hash(const char *text, char ret_hash[WEIR_TOKEN_TEXT + 1])
{
    uint8_t hash[TOKEN_BYTES];
    (void)crypto_generichash(hash, sizeof(hash), (const uint8_t *)text, strlen(text), NULL, 0);
    weir_hex(hash, sizeof(hash), ret_hash);
}
