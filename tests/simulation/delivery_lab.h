/* The delivery protocol in a simulated world: storage, dispatcher, workers and a trainer per rank around the four pure
 * state machines of the product, and the invariants that must hold whatever the world does to them. There may be
 * several jobs that make the same batches (C20), some of which begin later. Actors keep what is durable in their struct
 * and lose the rest when they are killed. */
#ifndef WEIR_TESTS_SIMULATION_DELIVERY_LAB_H
#define WEIR_TESTS_SIMULATION_DELIVERY_LAB_H

#include "core/base/memory.h"
#include "core/wire/delivery.h"
#include "preprocess/order/geometry.h"
#include "tests/simulation/world.h"

enum {
    LAB_WORKERS_MAX = 4,
    LAB_SAMPLES_MAX = 256,
    LAB_EPOCHS_MAX = 3,
    LAB_RANKS_MAX = 3,
    LAB_JOBS_MAX = 3,
    LAB_BATCHES_MAX = LAB_SAMPLES_MAX * LAB_EPOCHS_MAX,
    LAB_JOB = 17, /* number of the first */
    LAB_BATCH_BYTES = 1000,
    LAB_WINDOW_MAX = 40 * LAB_BATCH_BYTES,
    LAB_SLOW_EVERY = 20,
};

/* Actor numbers, in the order they are added. */
enum { LAB_STORAGE, LAB_DISPATCHER, LAB_CHAOS, LAB_POOL, LAB_FIRST_TRAINER };

/* Drawn from the seed. */
struct lab_plan {
    struct preprocess_geometry geometry;
    struct world_weather weather;
    size_t jobs;                    /* jobs with the same batches … */
    int64_t begin_ms[LAB_JOBS_MAX]; /* … and whose trainers come at these times */
    uint64_t shared_bytes;          /* of a worker's window */
    size_t workers;
    bool deterministic;
    enum weir_delivery delivery;
    /* a second process claims this rank of the first job at some time; LAB_RANKS_MAX: none does */
    uint32_t twin_of;
    bool names_state; /* a trainer that returns names the newest it has saved */
    uint64_t window_bytes;
    bool window_changes;         /* the window becomes another one again and again */
    uint32_t checkpoint_batches; /* between two checkpoints */
    int64_t chaos_ms;            /* mean time between two disasters */
    uint32_t disasters;          /* how many in all */
    uint32_t erasures;
    int64_t resize_ms; /* mean time until another worker is to end; 0: none is */
    int64_t sample_ms; /* time that a sample takes, during which a worker does nothing else … */
    int64_t slow_ms;   /* … and one in LAB_SLOW_EVERY */
};

/* Outcome of each (epoch, sample) along the surviving attempts. */
struct lab_ledger {
    uint8_t seen[LAB_EPOCHS_MAX][LAB_SAMPLES_MAX];
};

enum { LAB_STATES_MAX = 64 };

/* States that the trainers of a rank have saved on disk, fewest batches first. */
struct lab_disk {
    struct lab_state {
        uint64_t batches;
        struct weir_buf position;
        struct lab_ledger ledger; /* what went into the weights */
    } state[LAB_STATES_MAX];
    size_t count;
};

/* A job as its trainers and its dispatcher would tell of it. */
struct lab_job {
    struct lab_ledger ledger;              /* at_least_once: of the weights, which live elsewhere */
    struct lab_ledger made[LAB_RANKS_MAX]; /* otherwise: of each rank's part of the final model */
    bool done[LAB_RANKS_MAX];       /* the final commit was acknowledged, the process has ended */
    bool finished;                  /* what the dispatcher would say of the job */
    uint64_t holder[LAB_RANKS_MAX]; /* session that has the rank, as the dispatcher would say */
    struct lab_disk disk[LAB_RANKS_MAX];
    uint8_t handed[LAB_RANKS_MAX][LAB_BATCHES_MAX]; /* to a loop, in all its lives */
    struct lab_share {
        uint64_t attempt, samples, longest, total_samples, total_longest;
        double total_weight;
    } share[LAB_RANKS_MAX]
           [LAB_BATCHES_MAX]; /* of each rank in a batch, when it was last handed out */
};

struct lab {
    uint64_t seed;
    struct lab_plan plan;
    struct world *world;

    uint64_t erased_epoch[LAB_SAMPLES_MAX]; /* 0: not erased */
    size_t erase_wanted;                    /* samples storage is to erase next */
    uint64_t forced_epoch;                  /* newest epoch that was ever in force */
    bool twin_awake;
    struct lab_job jobs[LAB_JOBS_MAX];
    uint64_t kills, replayed, lost, duplicated;
    uint64_t drained;     /* workers that were told to end, and ended once they held nothing */
    uint64_t made, taken; /* batches that workers have made, and found made for another job */
};

/* Sample ids are LAB_FIRST_ID + 0 … n - 1. */
#define LAB_FIRST_ID ((uint64_t)1 << 44)

#define LAB_WEIGHT 0.25 /* of every sample */

/* The id at a position of an epoch: any bijection does here, the real one has its own tests. */
uint64_t lab_id_at(const struct lab_plan *plan, uint32_t epoch, uint64_t position);

/* Stops the process with the seed and the sentence when `holds` is false. */
void lab_check(const struct lab *lab, bool holds, const char *format, ...) WEIR_PRINTF(3, 4);

/* Returns the time that it takes to process the sample. */
int64_t lab_cost_ms(const struct lab_plan *plan, uint64_t id);

/* world_add() at the number it must get. */
void lab_add(struct lab *lab, size_t number, const struct world_actor *actor);

/* Each adds its actor to lab->world; `self` is owned by the returned pointer and freed with free(). */
void *lab_add_storage(struct lab *lab);
void *lab_add_dispatcher(struct lab *lab);
void *lab_add_worker(struct lab *lab, size_t index);
void *lab_add_trainer(struct lab *lab, size_t index); /* rank by rank, job by job; last the twin */
void *lab_add_chaos(struct lab *lab);
void *lab_add_pool(struct lab *lab);

/* Returns the name by which the dispatcher knows a worker, in the arena. */
const char *lab_worker_name(size_t worker, struct weir_arena *arena);

/* The audit of each finished job must say what its ledger says. */
void lab_dispatcher_check_audits(void *dispatcher);
/* Counts each sample of the set in an epoch, with the treatment of the last batch. */
void lab_expect(const struct lab_plan *plan, struct lab_ledger *ret_ledger);

static inline size_t lab_trainers(const struct lab_plan *plan)
{
    return plan->jobs * plan->geometry.ranks + (plan->twin_of < LAB_RANKS_MAX);
}

static inline size_t lab_first_worker(const struct lab_plan *plan)
{
    return LAB_FIRST_TRAINER + lab_trainers(plan);
}

/* Requests carry the time they were sent as payload, and replies echo it, as request numbers would. */
static inline struct weir_bytes lab_stamp(const int64_t *sent_ms)
{
    return weir_bytes(sent_ms, sizeof(*sent_ms));
}
int64_t lab_stamped(struct weir_bytes payload);

#endif
