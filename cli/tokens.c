/* Drawing tokens: see tokens.h. */
#include "cli/tokens.h"

#include "cli/arguments.h"
#include "cli/platform.h"
#include "core/service/token.h"

#include <sodium.h>

static enum weir_status order(const struct cli_call *call, const char *hash, json_t **ret_answer,
                              struct weir_error *err)
{
    struct cli_platform *platform = NULL;
    const char *tenant = call->options.tenant;
    json_t *arguments = json_pack("{ss,ss,ss}", "name", call->operands[0], "tenant",
                                  tenant == NULL ? "" : tenant, "hash", hash);
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
    char token[WEIR_TOKEN_TEXT + 1], hash[WEIR_TOKEN_TEXT + 1];
    weir_token_draw(token);
    weir_token_hash(token, hash);
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
