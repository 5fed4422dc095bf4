/* The simulated world: a heap of events and a seeded network. See world.h. */
#include "tests/simulation/world.h"

#include "core/base/heap.h"
#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { LIFE_SHIFT = 8 }; /* a route is life << 8 | actor */

#define UPTIME_MAX_MS (INT64_C(1) << 36) /* two years */

enum event_kind { EVENT_MESSAGE, EVENT_TICK, EVENT_START };

struct event {
    int64_t at_ms;
    uint64_t order; /* ties are settled by age, so that a seed has one history */
    enum event_kind kind;
    size_t from, to;
    uint64_t life; /* of the receiver; 0: any. For ticks: of which life of the actor */
    enum weir_message type;
    struct weir_buf message, payload;
};

struct slot {
    struct world_actor actor;
    uint64_t life;
    bool alive;
    int64_t frozen_until_ms;
    struct {
        int64_t begun_ms, began_at_ms; /* what it showed when this life began, and when that was */
        int64_t off;                   /* thousandths */
    } clock;
    uint64_t tick_order; /* the tick that counts; others still in the heap are stale */
};

struct world {
    int64_t now_ms;
    struct weir_rng rng;
    struct world_weather weather;
    struct slot slots[WORLD_ACTORS_MAX];
    int64_t cut_until_ms[WORLD_ACTORS_MAX][WORLD_ACTORS_MAX];
    size_t actors;
    struct event **heap;
    size_t count, capacity;
    uint64_t order;
};

static bool earlier(const void *a, const void *b, const void *owner)
{
    const struct event *x = *(struct event *const *)a, *y = *(struct event *const *)b;
    (void)owner;
    return x->at_ms < y->at_ms || (x->at_ms == y->at_ms && x->order < y->order);
}

static const struct weir_heap_order EARLIEST = {.element_bytes = sizeof(struct event *),
                                                .is_before = earlier};

static void insert(struct world *world, struct event *event)
{
    world->heap = weir_grow(world->heap, world->count, &world->capacity, sizeof(struct event *));
    world->heap[world->count] = event;
    weir_heap_rise(&EARLIEST, world->heap, world->count++, NULL);
}

static struct event *push(struct world *world, int64_t delay_ms, enum event_kind kind, size_t to)
{
    struct event *event = weir_calloc(1, sizeof(*event));
    *event = (struct event){.at_ms = world->now_ms + delay_ms,
                            .order = world->order++,
                            .kind = kind,
                            .to = to,
                            .life = world->slots[to].life};
    insert(world, event);
    return event;
}

static struct event *pop(struct world *world)
{
    struct event *first = world->heap[0];
    world->heap[0] = world->heap[--world->count];
    weir_heap_sink(&EARLIEST, world->heap, world->count, 0, NULL);
    return first;
}

static void free_event(struct event *event)
{
    weir_buf_fini(&event->message);
    weir_buf_fini(&event->payload);
    free(event);
}

struct world *world_new(uint64_t seed, struct world_weather weather)
{
    struct world *world = weir_calloc(1, sizeof(*world));
    world->weather = weather;
    world->now_ms = 1000;
    world->order = 1; /* 0: none */
    weir_rng_init(&world->rng, seed);
    return world;
}

void world_free(struct world *world)
{
    if (world == NULL)
        return;
    for (size_t i = 0; i < world->actors; i++)
        if (world->slots[i].alive)
            world->slots[i].actor.stop(world->slots[i].actor.self);
    for (size_t i = 0; i < world->count; i++)
        free_event(world->heap[i]);
    free(world->heap);
    free(world);
}

static void set_clock(struct world *world, struct slot *slot)
{
    slot->clock.began_at_ms = world->now_ms;
    slot->clock.begun_ms = 1 + (int64_t)weir_rng_below(&world->rng, UPTIME_MAX_MS);
    slot->clock.off =
        (int64_t)weir_rng_below(&world->rng, 2 * WORLD_CLOCK_OFF + 1) - WORLD_CLOCK_OFF;
}

static void start(struct world *world, size_t actor)
{
    struct slot *slot = &world->slots[actor];
    slot->alive = true;
    slot->life++;
    set_clock(world, slot);
    slot->actor.start(slot->actor.self);
    world_wake(world, actor);
}

size_t world_add(struct world *world, const struct world_actor *actor)
{
    weir_require(world->actors < WORLD_ACTORS_MAX);
    world->slots[world->actors].actor = *actor;
    start(world, world->actors);
    return world->actors++;
}

int64_t world_now(const struct world *world)
{
    return world->now_ms;
}

int64_t world_clock(const struct world *world, size_t actor)
{
    const struct slot *slot = &world->slots[actor];
    int64_t passed_ms = world->now_ms - slot->clock.began_at_ms;
    return slot->clock.begun_ms + passed_ms + passed_ms * slot->clock.off / 1000;
}

struct weir_rng *world_rng(struct world *world)
{
    return &world->rng;
}

bool world_alive(const struct world *world, size_t actor)
{
    return world->slots[actor].alive;
}

size_t world_actor_of(size_t address)
{
    return address & ((1 << LIFE_SHIFT) - 1);
}

static bool chance(struct world *world, uint32_t thousandths)
{
    return weir_rng_below(&world->rng, 1000) < thousandths;
}

void world_send(struct world *world, size_t from, size_t to, enum weir_message type,
                const void *message, struct weir_bytes payload)
{
    bool is_cut = world->now_ms < world->cut_until_ms[from][world_actor_of(to)];
    if (chance(world, world->weather.lost) || is_cut)
        return;
    for (int copies = chance(world, world->weather.doubled) ? 2 : 1; copies > 0; copies--) {
        int64_t delay_ms =
            1 + (int64_t)weir_rng_below(&world->rng, (uint64_t)world->weather.delay_max_ms);
        struct event *event = push(world, delay_ms, EVENT_MESSAGE, world_actor_of(to));
        event->life = to >> LIFE_SHIFT;
        event->from = world->slots[from].life << LIFE_SHIFT | from;
        event->type = type;
        weir_message_pack(type, message, &event->message);
        weir_buf_append(&event->payload, payload.at, payload.size);
    }
}

void world_wake(struct world *world, size_t actor)
{
    world->slots[actor].tick_order = push(world, 1, EVENT_TICK, actor)->order;
}

void world_kill(struct world *world, size_t actor, int64_t down_ms)
{
    struct slot *slot = &world->slots[actor];
    if (!slot->alive)
        return;
    slot->alive = false;
    slot->actor.stop(slot->actor.self);
    (void)push(world, down_ms, EVENT_START, actor);
}

void world_cut(struct world *world, size_t one, size_t other, int64_t span_ms)
{
    world->cut_until_ms[one][other] = world->now_ms + span_ms;
    world->cut_until_ms[other][one] = world->now_ms + span_ms;
}

void world_freeze(struct world *world, size_t actor, int64_t span_ms)
{
    world->slots[actor].frozen_until_ms = world->now_ms + span_ms;
}

bool world_is_frozen(const struct world *world, size_t actor)
{
    return world->slots[actor].frozen_until_ms > world->now_ms;
}

void world_calm(struct world *world)
{
    world->weather = (struct world_weather){.delay_max_ms = 2};
}

static void deliver(struct slot *slot, struct event *event)
{
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    void *message = weir_arena_alloc(arena, weir_message_info(event->type)->size + 1);
    struct weir_error err;
    weir_require(weir_message_unpack(event->type, weir_buf_view(&event->message), arena, message,
                                     &err) == WEIR_OK);
    slot->actor.receive(slot->actor.self, event->from, event->type, message,
                        weir_buf_view(&event->payload));
}

static void run(struct world *world, struct event *event)
{
    struct slot *slot = &world->slots[event->to];
    switch (event->kind) {
    case EVENT_START:
        start(world, event->to);
        return;
    case EVENT_MESSAGE:
        if (slot->alive && (event->life == 0 || event->life == slot->life))
            deliver(slot, event);
        return;
    case EVENT_TICK:
        if (!slot->alive || event->life != slot->life || event->order != slot->tick_order)
            return;
        slot->tick_order = 0; /* a wake from inside the tick wins over its own pace */
        int64_t next_ms = slot->actor.tick(slot->actor.self);
        if (slot->tick_order == 0)
            slot->tick_order = push(world, next_ms, EVENT_TICK, event->to)->order;
        return;
    }
}

static bool is_frozen(const struct world *world, const struct event *event)
{
    const struct slot *slot = &world->slots[event->to];
    return event->kind != EVENT_START && slot->alive && world->now_ms < slot->frozen_until_ms;
}

bool world_step(struct world *world)
{
    if (world->count == 0)
        return false;
    struct event *event = pop(world);
    world->now_ms = event->at_ms;
    if (is_frozen(world, event)) {
        event->at_ms = world->slots[event->to].frozen_until_ms;
        insert(world, event);
        return true;
    }
    run(world, event);
    free_event(event);
    return true;
}
