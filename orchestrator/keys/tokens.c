/* The list of tokens in memory, as it is committed: see tokens.h. */
#include "orchestrator/keys/tokens.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/rpc/keyring.h"
#include "core/service/token.h"
#include "orchestrator/values/name.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct token {
    int64_t number;
    char name[WEIR_KEYRING_WORD_MAX + 1];
    char tenant[WEIR_KEYRING_WORD_MAX + 1]; /* "": none */
    char hash[WEIR_TOKEN_TEXT + 1];
};

struct tokens {
    struct context *context;
    struct token at[TOKENS_MAX];
    size_t count;
};

static void take(struct tokens *tokens, int64_t number, const struct token_order *order)
{
    struct token *token = &tokens->at[tokens->count++];
    token->number = number;
    (void)snprintf(token->name, sizeof(token->name), "%s", order->name);
    (void)snprintf(token->tenant, sizeof(token->tenant), "%s", order->tenant);
    (void)snprintf(token->hash, sizeof(token->hash), "%s", order->hash);
}

enum weir_status orchestrator_tokens_open(struct context *context, struct tokens **ret_tokens,
                                          struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(context->db, Q_tokens_in_force, &rows, err);
    if (status != WEIR_OK)
        return status;
    struct tokens *tokens = weir_calloc(1, sizeof(*tokens));
    tokens->context = context;
    for (size_t i = 0; i < weir_rows_count(rows) && i < TOKENS_MAX; i++)
        take(tokens, weir_rows_i64(rows, i, "id"),
             &(struct token_order){.name = weir_rows_text(rows, i, "name"),
                                   .tenant = weir_rows_text(rows, i, "tenant"),
                                   .hash = weir_rows_text(rows, i, "hash")});
    *ret_tokens = tokens;
    return WEIR_OK;
}

void orchestrator_tokens_close(struct tokens *tokens)
{
    free(tokens);
}

static bool is_word(const char *text)
{
    return orchestrator_is_name(text) && strlen(text) <= WEIR_KEYRING_WORD_MAX;
}

static struct token *named(struct tokens *tokens, const char *name)
{
    for (size_t i = 0; i < tokens->count; i++)
        if (strcmp(tokens->at[i].name, name) == 0)
            return &tokens->at[i];
    return NULL;
}

static bool is_hash(const char *text)
{
    return strlen(text) == WEIR_TOKEN_TEXT && strspn(text, "0123456789abcdef") == WEIR_TOKEN_TEXT;
}

static enum weir_status check(const struct tokens *tokens, const struct token_order *order,
                              struct weir_error *err)
{
    if (!is_word(order->name) || (order->tenant[0] != '\0' && !is_word(order->tenant)))
        return weir_fail(err, WEIR_INVALID,
                         "tokens: expected a %s of at most %d letters, digits, - and _, a letter "
                         "or digit first, found '%.80s'",
                         is_word(order->name) ? "tenant" : "name", WEIR_KEYRING_WORD_MAX,
                         is_word(order->name) ? order->tenant : order->name);
    if (!is_hash(order->hash))
        return weir_fail(err, WEIR_INVALID, "tokens: expected a hash of %d hexadecimal digits",
                         WEIR_TOKEN_TEXT);
    if (tokens->count == TOKENS_MAX)
        return weir_fail(err, WEIR_LIMIT,
                         "tokens: there are %d already, which is the most: weir tokens revoke NAME",
                         TOKENS_MAX);
    return WEIR_OK;
}

enum weir_status orchestrator_tokens_add(struct tokens *tokens, const struct token_order *order,
                                         struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    const char *name = order->name;
    const struct token *known = named(tokens, name);
    if (known != NULL && strcmp(known->hash, order->hash) == 0 &&
        strcmp(known->tenant, order->tenant) == 0)
        return WEIR_OK;
    if (known != NULL)
        return weir_fail(err, WEIR_EXISTS,
                         "token '%s' is let in already: weir tokens revoke %s, or another name",
                         name, name);
    enum weir_status status = check(tokens, order, err);
    if (status == WEIR_OK)
        status = DB_RUN(tokens->context->db, Q_token_add, &rows, err, DB_TEXT(name),
                        DB_TEXT(order->tenant), DB_TEXT(order->hash), DB_I64(weir_now_wall_us()));
    if (status == WEIR_OK)
        take(tokens, weir_rows_i64(rows, 0, "id"), order);
    return status;
}

enum weir_status orchestrator_tokens_revoke(struct tokens *tokens, const char *name,
                                            struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(tokens->context->db, Q_token_revoke, &rows, err, DB_TEXT(name),
                                     DB_I64(weir_now_wall_us()));
    if (status == WEIR_OK && weir_rows_count(rows) == 0)
        status = weir_fail(err, WEIR_NOT_FOUND,
                           "token '%.80s': there is none; weir tokens list shows them", name);
    struct token *token = status == WEIR_OK ? named(tokens, name) : NULL;
    if (token != NULL)
        *token = tokens->at[--tokens->count];
    return status;
}

int64_t orchestrator_tokens_find(const struct tokens *tokens, const char *text)
{
    char hash[WEIR_TOKEN_TEXT + 1];
    int64_t found = 0;
    weir_token_hash(text, hash);
    for (size_t i = 0; i < tokens->count; i++)
        if (sodium_memcmp(hash, tokens->at[i].hash, WEIR_TOKEN_TEXT) == 0)
            found = tokens->at[i].number;
    return found;
}

static const struct token *numbered(const struct tokens *tokens, int64_t number)
{
    for (size_t i = 0; i < tokens->count; i++)
        if (tokens->at[i].number == number)
            return &tokens->at[i];
    return NULL;
}

bool orchestrator_tokens_has(const struct tokens *tokens, int64_t number)
{
    return numbered(tokens, number) != NULL;
}

const char *orchestrator_tokens_tenant(const struct tokens *tokens, int64_t number)
{
    const struct token *token = numbered(tokens, number);
    weir_require(token != NULL);
    return token->tenant;
}
