/* A pool that grows and shrinks all the time, as an orchestrator would have it: workers are told to drain, end once
 * they are named as drained, and come back. What it knows is durable. */
#include "core/base/memory.h"
#include "tests/simulation/delivery_lab.h"

enum { ORDER_MS = 300, AWAY_MS = 4000 };

struct pool_actor {
    struct lab *lab;
    bool drains[LAB_WORKERS_MAX];
    int64_t asked_ms; /* of the newest order */
    int64_t resize_ms;
};

static void nothing(void *self)
{
    (void)self;
}

static void order(struct pool_actor *actor, int64_t now_ms)
{
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    const char *names[LAB_WORKERS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < actor->lab->plan.workers; i++) {
        if (actor->drains[i])
            names[count++] = lab_worker_name(lab_first_worker(&actor->lab->plan) + i, arena);
    }
    actor->asked_ms = now_ms;
    world_send(actor->lab->world, LAB_POOL, LAB_DISPATCHER, MSG_pool_order,
               &(struct msg_pool_order){.max = LAB_WORKERS_MAX, .drains = {names, count}},
               lab_stamp(&now_ms));
}

/* At least one stays: a pool of none makes nothing. */
static void shrink(struct pool_actor *actor)
{
    size_t workers = actor->lab->plan.workers, left = 0;
    for (size_t i = 0; i < workers; i++)
        left += !actor->drains[i];
    size_t chosen = weir_rng_below(world_rng(actor->lab->world), workers);
    if (left > 1)
        actor->drains[chosen] = true;
}

static int64_t tick(void *self)
{
    struct pool_actor *actor = self;
    struct lab *lab = actor->lab;
    int64_t now_ms = world_clock(lab->world, LAB_POOL), mean_ms = lab->plan.resize_ms;
    if (mean_ms == 0)
        return 1 << 30;
    if (now_ms >= actor->resize_ms) {
        shrink(actor);
        actor->resize_ms =
            now_ms + 1 + (int64_t)weir_rng_below(world_rng(lab->world), 2 * (uint64_t)mean_ms);
    }
    order(actor, now_ms);
    return ORDER_MS;
}

static void end_worker(struct pool_actor *actor, const char *name)
{
    struct lab *lab = actor->lab;
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    for (size_t i = 0; i < lab->plan.workers; i++) {
        size_t worker = lab_first_worker(&lab->plan) + i;
        if (!actor->drains[i] || !weir_str_equal(name, lab_worker_name(worker, arena)))
            continue;
        actor->drains[i] = false;
        lab->drained += world_alive(lab->world, worker);
        world_kill(lab->world, worker, (int64_t)weir_rng_below(world_rng(lab->world), AWAY_MS));
    }
}

static void receive(void *self, size_t from, enum weir_message type, const void *message,
                    struct weir_bytes payload)
{
    struct pool_actor *actor = self;
    const struct msg_pool_is *answer = message;
    (void)from;
    if (type != MSG_pool_is || lab_stamped(payload) != actor->asked_ms)
        return;
    for (size_t i = 0; i < answer->drained.count; i++)
        end_worker(actor, answer->drained.at[i]);
}

void *lab_add_pool(struct lab *lab)
{
    struct pool_actor *actor = weir_calloc(1, sizeof(*actor));
    actor->lab = lab;
    lab_add(lab, LAB_POOL,
            &(struct world_actor){.name = "pool",
                                  .self = actor,
                                  .start = nothing,
                                  .stop = nothing,
                                  .tick = tick,
                                  .receive = receive});
    return actor;
}
