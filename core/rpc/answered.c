/* A table of hashes: see answered.h. */
#include "core/rpc/answered.h"

#include "core/base/hash.h"

static uint64_t key_of(const struct weir_route *route)
{
    return weir_hash64(weir_bytes(route->identity, route->identity_size), route->request) | 1;
}

void weir_answered_begin(struct weir_answered *answered, const struct weir_route *route,
                         int64_t now_ms)
{
    uint64_t key = key_of(route);
    answered->at[key / 2 % WEIR_ANSWERED_MAX] = (struct weir_answered_request){
        .key = key, .begun_ms = now_ms, .until_ms = now_ms + WEIR_RPC_RESEND_MS / 2};
}

void weir_answered_note(struct weir_answered *answered, const struct weir_route *route,
                        int64_t now_ms)
{
    uint64_t key = key_of(route);
    struct weir_answered_request *found = &answered->at[key / 2 % WEIR_ANSWERED_MAX];
    int64_t took_ms = found->key == key ? now_ms - found->begun_ms : 0;
    if (took_ms > WEIR_ANSWERED_SLOW_MS)
        took_ms = WEIR_ANSWERED_SLOW_MS;
    *found = (struct weir_answered_request){
        .key = key, .begun_ms = now_ms, .until_ms = now_ms + WEIR_RPC_RESEND_MS + took_ms};
}

void weir_answered_forget(struct weir_answered *answered, const struct weir_route *route)
{
    uint64_t key = key_of(route);
    struct weir_answered_request *found = &answered->at[key / 2 % WEIR_ANSWERED_MAX];
    if (found->key == key)
        found->key = 0;
}

bool weir_answered_lately(const struct weir_answered *answered, const struct weir_route *route,
                          int64_t since_ms, int64_t now_ms)
{
    uint64_t key = key_of(route);
    const struct weir_answered_request *found = &answered->at[key / 2 % WEIR_ANSWERED_MAX];
    return found->key == key && since_ms < found->until_ms &&
           now_ms < found->until_ms + WEIR_ANSWERED_FULL_MS;
}
