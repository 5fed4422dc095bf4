/* Faults of the simulated world: processes die and come back, samples are erased; then it grows calm, so that
 * whatever still does not finish has hung. */
#include "core/base/memory.h"
#include "tests/simulation/delivery_lab.h"

struct chaos_actor {
    struct lab *lab;
    uint32_t disasters, erasures;
};

static void nothing(void *self)
{
    (void)self;
}

static size_t somebody(struct lab *lab)
{
    struct weir_rng *rng = world_rng(lab->world);
    size_t trainer = LAB_FIRST_TRAINER + weir_rng_below(rng, lab_trainers(&lab->plan));
    size_t worker = lab_first_worker(&lab->plan) + weir_rng_below(rng, lab->plan.workers);
    const size_t ONES[] = {LAB_STORAGE, LAB_DISPATCHER, trainer, worker, worker};
    return ONES[weir_rng_below(rng, WEIR_COUNT(ONES))];
}

/* A death, a broken link, or a process that stands still: the last two outlive every lease at times. */
static void strike(struct lab *lab)
{
    struct weir_rng *rng = world_rng(lab->world);
    size_t victim = somebody(lab), other = somebody(lab);
    int64_t span_ms = 1 + (int64_t)weir_rng_below(rng, 5000);
    switch (weir_rng_below(rng, 4)) {
    case 0:
        world_cut(lab->world, victim, other, span_ms);
        return;
    case 1:
        world_freeze(lab->world, victim, span_ms);
        return;
    default:
        lab->kills += world_alive(lab->world, victim);
        world_kill(lab->world, victim, span_ms / 2);
    }
}

static int64_t tick(void *self)
{
    struct chaos_actor *actor = self;
    struct lab *lab = actor->lab;
    struct weir_rng *rng = world_rng(lab->world);
    if (actor->disasters > 0 && --actor->disasters > 0)
        strike(lab);
    lab->twin_awake |= weir_rng_below(rng, 8) == 0;
    if (actor->erasures > 0 && weir_rng_below(rng, 3) == 0) {
        actor->erasures--;
        lab->erase_wanted += 1 + weir_rng_below(rng, 6);
    }
    if (actor->disasters == 0 && actor->erasures == 0) {
        world_calm(lab->world);
        return 1 << 30;
    }
    return 1 + (int64_t)weir_rng_below(rng, 2 * (uint64_t)lab->plan.chaos_ms);
}

static void receive(void *self, size_t from, enum weir_message type, const void *message,
                    struct weir_bytes payload)
{
    (void)self, (void)from, (void)type, (void)message, (void)payload;
}

void *lab_add_chaos(struct lab *lab)
{
    struct chaos_actor *actor = weir_calloc(1, sizeof(*actor));
    *actor = (struct chaos_actor){
        .lab = lab, .disasters = lab->plan.disasters, .erasures = lab->plan.erasures};
    lab_add(lab, LAB_CHAOS,
            &(struct world_actor){.name = "chaos",
                                  .self = actor,
                                  .start = nothing,
                                  .stop = nothing,
                                  .tick = tick,
                                  .receive = receive});
    return actor;
}
