/* Handing keys on. */
#include "preprocess/dispatcher/keys.h"

void preprocess_dispatcher_keys(void *state, const struct weir_keyring *keyring)
{
    struct dispatcher *dispatcher = state;
    const struct pool *pool = &dispatcher->pool;
    const struct msg_worker_hint now = {.job = 0};
    int64_t now_ms = weir_loop_now_ms(dispatcher->loop);
    (void)keyring;
    for (size_t i = 0; i < pool->count; i++)
        if (preprocess_pool_is_heard(pool, i, now_ms) && pool->worker[i].key[0] != '\0')
            (void)weir_rpc_push(dispatcher->server, &pool->worker[i].route, MSG_worker_hint, &now,
                                NULL); /* lost, the next beat asks all the same */
}

void preprocess_dispatcher_tell_keys(const struct dispatcher *dispatcher,
                                     const struct weir_request *beat,
                                     struct msg_worker_orders *answer)
{
    const struct weir_keyring *keyring = weir_rpc_keyring(dispatcher->server);
    const struct msg_worker_beat *said = beat->message;
    if (weir_rpc_role(beat) != WEIR_ROLE_WORKER || said->keys >= keyring->number)
        return;
    const struct msg_keys_set keys = weir_keyring_tell(keyring, WEIR_ROLE_TRAINER, beat->arena);
    answer->keys = keys.number;
    answer->key_publics = keys.publics;
    answer->key_names = keys.names;
    answer->key_roles = keys.roles;
    answer->key_tenants = keys.tenants;
}
