/* Tokens of browsers that look at the live page from elsewhere. People make theirs with `weir tokens new`, which sends
 * the hash alone; a token may look at the whole platform, or at what is a tenant's, and order nothing. The list lies in
 * Postgres. */
#ifndef ORCHESTRATOR_KEYS_TOKENS_H
#define ORCHESTRATOR_KEYS_TOKENS_H

#include "orchestrator/context/context.h"

enum { TOKENS_MAX = 100 };

struct tokens;

/* Reads the list. `context` is borrowed. */
enum weir_status orchestrator_tokens_open(struct context *context, struct tokens **ret_tokens,
                                          struct weir_error *err) WEIR_MUST_USE;
void orchestrator_tokens_close(struct tokens *tokens);

struct token_order {
    const char *name;
    const char *tenant; /* at whose pipelines alone it may look; "": at all */
    const char *hash;
};

/* Lets a token in by its hash; the same one again changes nothing. EXISTS when another has the name; INVALID for a
 * name, tenant or hash that is none; LIMIT. */
enum weir_status orchestrator_tokens_add(struct tokens *tokens, const struct token_order *order,
                                         struct weir_error *err) WEIR_MUST_USE;
/* Lets it in no longer; again: changes nothing. NOT_FOUND when there was never one of that name. */
enum weir_status orchestrator_tokens_revoke(struct tokens *tokens, const char *name,
                                            struct weir_error *err) WEIR_MUST_USE;
/* Number of a token that is let in, from its text; 0: it is none. */
int64_t orchestrator_tokens_find(const struct tokens *tokens, const char *text);
/* True while the token of that number is let in. */
bool orchestrator_tokens_has(const struct tokens *tokens, int64_t number);
/* The tenant of a token that is let in; "": it is of none. Until the list changes. */
const char *orchestrator_tokens_tenant(const struct tokens *tokens, int64_t number);

#endif
