/* Workers elsewhere: letting oneself in, and noticing those that cannot be reached. */
#include "core/base/clock.h"
#include "trainer_client/client_state.h"

#include <string.h>

static void on_reached(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct worker_peer *worker = owner;
    (void)err; /* it is asked again */
    worker->reach.is_asked = false;
    if (reply != NULL)
        worker->reach.heard_ms = weir_now_ms();
}

void trainer_client_seek_workers(struct weir_client *client, int64_t now_ms)
{
    for (size_t i = 0; i < DELIVERY_WORKERS_MAX; i++) {
        struct worker_peer *worker = &client->workers[i];
        if (worker->peer == NULL || !trainer_reach_is_due(&worker->reach, now_ms))
            continue;
        worker->reach.is_asked = true;
        weir_rpc_call(worker->peer, MSG_health, NULL, REACH_ANSWER_MS, on_reached, worker);
    }
}

struct weir_strs trainer_client_unreachable(const struct weir_client *client, int64_t now_ms,
                                            const char *endpoints[DELIVERY_WORKERS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < DELIVERY_WORKERS_MAX; i++) {
        const struct worker_peer *worker = &client->workers[i];
        if (worker->is_barred ||
            (worker->peer != NULL && trainer_reach_is_lost(&worker->reach, now_ms)))
            endpoints[count++] = worker->endpoint;
    }
    return (struct weir_strs){endpoints, count};
}

void trainer_client_take_pair(struct weir_client *client, const struct msg_client_opened *opened)
{
    if (client->has_pair || !weir_key_is_one(opened->pair_public) ||
        !weir_key_is_one(opened->pair_secret))
        return;
    memcpy(client->pair.public, opened->pair_public, sizeof(client->pair.public));
    memcpy(client->pair.secret, opened->pair_secret, sizeof(client->pair.secret));
    client->has_pair = true;
}
