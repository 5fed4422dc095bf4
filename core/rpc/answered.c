/* A table of hashes: see answered.h. */
#include "core/rpc/answered.h"

#include "core/base/hash.h"

static uint64_t key_of(const struct weir_route *route)
{
    return weir_hash64(weir_bytes(route->identity, route->identity_size), route->request) | 1;
}

void weir_answered_note(struct weir_answered *answered, const struct weir_route *route,
                        int64_t now_ms)
{
    uint64_t key = key_of(route);
    answered->at[key / 2 % WEIR_ANSWERED_MAX] =
        (struct weir_answered_request){.key = key, .at_ms = now_ms};
}

void weir_answered_begin(struct weir_answered *answered, const struct weir_route *route,
                         int64_t now_ms)
{
    weir_answered_note(answered, route, now_ms - WEIR_RPC_RESEND_MS / 2);
}

void weir_answered_forget(struct weir_answered *answered, const struct weir_route *route)
{
    uint64_t key = key_of(route);
    struct weir_answered_request *found = &answered->at[key / 2 % WEIR_ANSWERED_MAX];
    if (found->key == key)
        found->key = 0;
}

bool weir_answered_lately(const struct weir_answered *answered, const struct weir_route *route,
                          int64_t now_ms)
{
    uint64_t key = key_of(route);
    const struct weir_answered_request *found = &answered->at[key / 2 % WEIR_ANSWERED_MAX];
    return found->key == key && now_ms - found->at_ms < WEIR_RPC_RESEND_MS;
}
