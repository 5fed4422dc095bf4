/* Drawing tokens: see tokens.h. */
#include "cli/tokens.h"

#include "cli/arguments.h"
#include "cli/platform.h"
#include "core/base/bytes.h"
#include "core/base/rng.h"

#include <sodium.h>
#include <string.h>

enum { TOKEN_BYTES = 32, TOKEN_TEXT = 2 * TOKEN_BYTES };

/* BLAKE2b-256 of a text, in hexadecimal digits. */
static void hash_of(const char *text, char ret_hash[TOKEN_TEXT + 1])
{
    uint8_t hash[TOKEN_BYTES];
    (void)crypto_generichash(hash, sizeof(hash), (const uint8_t *)text, strlen(text), NULL, 0);
    weir_hex(hash, sizeof(hash), ret_hash);
}

static void draw(char ret_token[TOKEN_TEXT + 1])
{
    uint8_t bytes[TOKEN_BYTES];
    weir_random_bytes(bytes, sizeof(bytes));
    weir_hex(bytes, sizeof(bytes), ret_token);
    sodium_memzero(bytes, sizeof(bytes));
}

static enum weir_status order(const struct cli_call *call, const char *hash, json_t **ret_answer,
                              struct weir_error *err)
{
    struct cli_platform *platform = NULL;
    json_t *arguments = json_pack("{ss,ss}", "name", call->operands[0], "hash", hash);
    enum weir_status status = arguments == NULL
                                  ? weir_fail(err, WEIR_INVALID, "arguments are expected in UTF-8")
                                  : WEIR_OK;
    if (status == WEIR_OK)
        status = cli_platform_open(&call->options.place, &platform, err);
    if (status == WEIR_OK)
        status = cli_platform_request(platform, "tokens_add", arguments, ret_answer, err);
    json_decref(arguments);
    cli_platform_close(platform);
    return status;
}

enum weir_status cli_answer_tokens_new(const struct cli_call *call, json_t **ret_answer,
                                       struct weir_error *err)
{
    char token[TOKEN_TEXT + 1], hash[TOKEN_TEXT + 1];
    draw(token);
    hash_of(token, hash);
    enum weir_status status = order(call, hash, ret_answer, err);
    if (status == WEIR_OK)
        json_object_set_new(*ret_answer, "token", json_string(token));
    sodium_memzero(token, sizeof(token));
    return status;
}

json_t *cli_arguments_tokens_revoke(const struct cli_call *call, struct weir_error *err)
{
    return cli_arguments_finish(json_pack("{ss}", "name", call->operands[0]), true, err);
}
