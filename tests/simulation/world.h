/* A world with its own time and a bad network, all from one seed: events in time order, messages that are lost,
 * doubled, delayed and overtaken, actors that die and come back without their memory, and each with a clock of its own.
 * Messages pass through the real codecs. Nothing here knows what the actors do. */
#ifndef WEIR_TESTS_SIMULATION_WORLD_H
#define WEIR_TESTS_SIMULATION_WORLD_H

#include "core/base/bytes.h"
#include "core/base/rng.h"
#include "core/wire/wire.h"

enum {
    WORLD_ACTORS_MAX = 24,
    /* storage's margin is a tenth, between two of them (storage/reading/use_leases.h) */
    WORLD_CLOCK_OFF = 45,
};

struct world;

/* An actor as the world sees it. All functions run at world_now(), which it cannot know: see world_clock(). */
struct world_actor {
    const char *name;
    void *self;
    void (*start)(void *self);   /* with no memory but what it made durable */
    void (*stop)(void *self);    /* killed: everything volatile goes */
    int64_t (*tick)(void *self); /* does what is due; returns ms until the next tick, >= 1 */
    void (*receive)(void *self, size_t from, enum weir_message type, const void *message,
                    struct weir_bytes payload); /* valid during the call */
};

/* Faults of the network, in thousandths, and its delay. */
struct world_weather {
    uint32_t lost;
    uint32_t doubled;
    int64_t delay_max_ms;
};

struct world *world_new(uint64_t seed, struct world_weather weather);
void world_free(struct world *world);

/* Actors are numbered in the order they are added; they start at once. */
size_t world_add(struct world *world, const struct world_actor *actor);
int64_t world_now(const struct world *world);
/* Returns the time by the actor's own clock. Each life has another one, as after a boot of its host: it began at any
 * time, and goes too fast or too slow by up to WORLD_CLOCK_OFF thousandths. */
int64_t world_clock(const struct world *world, size_t actor);
struct weir_rng *world_rng(struct world *world);
bool world_alive(const struct world *world, size_t actor);

/* Addresses: an actor's number is its endpoint and reaches whichever life of it is alive. What receive() gets as
 * `from` is a route: it reaches the very life that sent the message, and nobody after it. */
size_t world_actor_of(size_t address);

/* `payload` stands for the frames. Sending to the dead is like losing it. */
void world_send(struct world *world, size_t from, size_t to, enum weir_message type,
                const void *message, struct weir_bytes payload);
/* Lets the actor's tick run at the next instant. */
void world_wake(struct world *world, size_t actor);
/* kill -9 now, and a new start `down_ms` later. */
void world_kill(struct world *world, size_t actor, int64_t down_ms);
/* For so long nothing passes between the two, in either direction. */
void world_cut(struct world *world, size_t one, size_t other, int64_t span_ms);
/* For so long the actor does nothing, as if stopped by a signal; what reaches it waits. */
void world_freeze(struct world *world, size_t actor, int64_t span_ms);
bool world_is_frozen(const struct world *world, size_t actor);
/* From now on nothing is lost, doubled or slow. */
void world_calm(struct world *world);

/* Runs the next event. False when there is none. */
bool world_step(struct world *world);

#endif
