/* The delivery protocol under seeded disasters. Each seed draws one or several equal jobs with their ranks and their
 * promise, a network and a run of deaths and erasures, and must end with a model that holds what
 * was promised and an audit that says so.
 *
 *     delivery_simulation                 700 seeds
 *     delivery_simulation --seeds 100000  more
 *     delivery_simulation --seed 4711     one, with its plan printed
 *     delivery_simulation --slow          what samples that take much longer than others cost
 *     delivery_simulation --drain         nothing is made twice by a pool that shrinks and grows */
#include "tests/simulation/delivery_lab.h"

#include "core/base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS = 700, SLOW_SEEDS = 5, DRAIN_SEEDS = 20, PATIENCE_MS = 30 * 60 * 1000 };

void lab_check(const struct lab *lab, bool holds, const char *format, ...)
{
    if (holds)
        return;
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    fprintf(stderr, "seed %llu at %lld ms: ", (unsigned long long)lab->seed,
            (long long)world_now(lab->world));
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\nagain with: delivery_simulation --seed %llu\n",
            (unsigned long long)lab->seed);
    va_end(arguments);
    abort();
}

int64_t lab_stamped(struct weir_bytes payload)
{
    int64_t stamp;
    weir_require(payload.size == sizeof(stamp));
    memcpy(&stamp, payload.at, sizeof(stamp));
    return stamp;
}

uint64_t lab_id_at(const struct lab_plan *plan, uint32_t epoch, uint64_t position)
{
    uint64_t samples = plan->geometry.samples;
    uint64_t turned = (position % samples + (uint64_t)7 * epoch) % samples;
    return LAB_FIRST_ID + (epoch % 2 == 0 ? turned : samples - 1 - turned);
}

void lab_add(struct lab *lab, size_t number, const struct world_actor *actor)
{
    weir_require(world_add(lab->world, actor) == number);
}

static struct lab_plan draw_plan(uint64_t seed)
{
    struct weir_rng rng;
    weir_rng_init(&rng, weir_mix64(seed));
    uint64_t samples = 1 + weir_rng_below(&rng, LAB_SAMPLES_MAX - 1);
    uint32_t batch = (uint32_t)(1 + weir_rng_below(&rng, 12));
    uint32_t epochs = (uint32_t)(1 + weir_rng_below(&rng, LAB_EPOCHS_MAX));
    uint32_t group = (uint32_t)weir_rng_below(&rng, 5);
    bool rough = weir_rng_below(&rng, 4) > 0;
    enum preprocess_last last = (enum preprocess_last)weir_rng_below(&rng, 3);
    struct lab_plan plan = {
        .geometry = preprocess_geometry_plan(samples, epochs, batch, last, group),
        .weather = {.lost = rough ? (uint32_t)weir_rng_below(&rng, 150) : 0,
                    .doubled = rough ? (uint32_t)weir_rng_below(&rng, 100) : 0,
                    .delay_max_ms = rough ? 2 + (int64_t)weir_rng_below(&rng, 300) : 2},
        .workers = 1 + weir_rng_below(&rng, LAB_WORKERS_MAX),
        .deterministic = weir_rng_below(&rng, 2) == 0,
        .window_bytes =
            LAB_BATCH_BYTES * (1 + weir_rng_below(&rng, LAB_WINDOW_MAX / LAB_BATCH_BYTES)),
        .checkpoint_batches = (uint32_t)(1 + weir_rng_below(&rng, 20)),
        .chaos_ms = 50 + (int64_t)weir_rng_below(&rng, 1500),
        .disasters = (uint32_t)weir_rng_below(&rng, 25),
        .erasures = (uint32_t)weir_rng_below(&rng, 4),
        .delivery = (enum weir_delivery)weir_rng_below(&rng, 3),
        .twin_of = LAB_RANKS_MAX,
        .names_state = weir_rng_below(&rng, 2) == 0,
    };
    plan.geometry.ranks = (uint32_t)(1 + weir_rng_below(&rng, LAB_RANKS_MAX));
    if (weir_rng_below(&rng, 4) == 0)
        plan.twin_of = (uint32_t)weir_rng_below(&rng, plan.geometry.ranks);
    plan.jobs = weir_rng_below(&rng, 2) == 0 ? 1 : 2 + weir_rng_below(&rng, LAB_JOBS_MAX - 1);
    plan.shared_bytes = LAB_BATCH_BYTES * weir_rng_below(&rng, 100);
    for (size_t i = 1; i < plan.jobs; i++)
        plan.begin_ms[i] = (int64_t)weir_rng_below(&rng, 2) * (int64_t)weir_rng_below(&rng, 8000);
    if (weir_rng_below(&rng, 2) == 0)
        plan.resize_ms = 200 + (int64_t)weir_rng_below(&rng, 3000);
    plan.window_changes = weir_rng_below(&rng, 2) == 0;
    return plan;
}

void lab_expect(const struct lab_plan *plan, struct lab_ledger *ret_ledger)
{
    *ret_ledger = (struct lab_ledger){0};
    for (uint32_t epoch = 0; epoch < plan->geometry.epochs; epoch++)
        for (uint64_t p = 0; p < preprocess_epoch_positions(&plan->geometry); p++)
            ret_ledger->seen[epoch][lab_id_at(plan, epoch, p) - LAB_FIRST_ID]++;
}

static const char *const MODES[] = {"exactly once", "at least once", "at most once"};

static void print_plan(const struct lab *lab)
{
    const struct lab_plan *plan = &lab->plan;
    printf(
        "seed %llu: %zu equal jobs, %s, %u ranks%s, %llu samples x %u epochs in batches of %u, "
        "groups of %u, %zu workers, %s, "
        "window %llu B%s, loss %u doubling %u per mille, delay <= %lld ms, %u disasters, %u erasures, "
        "a worker ends every %lld ms\n",
        (unsigned long long)lab->seed, plan->jobs, MODES[plan->delivery], plan->geometry.ranks,
        plan->twin_of < LAB_RANKS_MAX ? ", one of them twice" : "",
        (unsigned long long)plan->geometry.samples, plan->geometry.epochs,
        plan->geometry.batch_samples, plan->geometry.group_batches, plan->workers,
        plan->deterministic ? "deterministic" : "relaxed", (unsigned long long)plan->window_bytes,
        plan->window_changes ? " at first" : "", plan->weather.lost, plan->weather.doubled,
        (long long)plan->weather.delay_max_ms, plan->disasters, plan->erasures,
        (long long)plan->resize_ms);
}

static bool is_trained(const struct lab *lab)
{
    for (size_t job = 0; job < lab->plan.jobs; job++)
        for (uint32_t rank = 0; rank < lab->plan.geometry.ranks; rank++)
            if (!lab->jobs[job].done[rank])
                return false;
    return true;
}

static void free_disks(struct lab *lab)
{
    for (size_t job = 0; job < LAB_JOBS_MAX; job++)
        for (size_t rank = 0; rank < LAB_RANKS_MAX; rank++)
            for (size_t i = 0; i < LAB_STATES_MAX; i++)
                weir_buf_fini(&lab->jobs[job].disk[rank].state[i].position);
}

/* One world from beginning to end; returns how long it took in there. */
static int64_t simulate(uint64_t seed, const struct lab_plan *plan, bool loud, struct lab *lab)
{
    *lab = (struct lab){.seed = seed, .plan = *plan};
    lab->world = world_new(seed, lab->plan.weather);
    if (loud)
        print_plan(lab);
    void *actors[WORLD_ACTORS_MAX] = {lab_add_storage(lab), lab_add_dispatcher(lab),
                                      lab_add_chaos(lab), lab_add_pool(lab)};
    for (size_t i = 0; i < lab_trainers(&lab->plan); i++)
        actors[LAB_FIRST_TRAINER + i] = lab_add_trainer(lab, i);
    for (size_t i = 0; i < lab->plan.workers; i++)
        actors[lab_first_worker(&lab->plan) + i] = lab_add_worker(lab, i);
    while (!is_trained(lab) && world_step(lab->world))
        lab_check(lab, world_now(lab->world) < PATIENCE_MS, "not done after %d minutes",
                  PATIENCE_MS / 60000);
    lab_dispatcher_check_audits(actors[LAB_DISPATCHER]);
    int64_t took_ms = world_now(lab->world);
    if (loud)
        printf(
            "done after %lld ms: %llu kills, %llu samples replayed, %llu lost, %llu duplicated, erasure epoch %llu "
            "in force\n",
            (long long)took_ms, (unsigned long long)lab->kills, (unsigned long long)lab->replayed,
            (unsigned long long)lab->lost, (unsigned long long)lab->duplicated,
            (unsigned long long)lab->forced_epoch);
    world_free(lab->world);
    free_disks(lab);
    for (size_t i = 0; i < WEIR_COUNT(actors); i++)
        free(actors[i]);
    return took_ms;
}

int64_t lab_cost_ms(const struct lab_plan *plan, uint64_t id)
{
    return id % LAB_SLOW_EVERY == 0 ? plan->slow_ms : plan->sample_ms;
}

/* Returns the time that four workers take at `sample_ms` a sample, with room for a few batches at the consumer. */
static int64_t work_through(struct lab *lab, uint64_t seed, bool is_deterministic,
                            int64_t sample_ms, int64_t slow_ms)
{
    const struct lab_plan plan = {
        .geometry =
            preprocess_geometry_plan(LAB_SAMPLES_MAX, LAB_EPOCHS_MAX, 2, PREPROCESS_LAST_SHORT, 1),
        .weather = {.delay_max_ms = 2},
        .jobs = 1,
        .workers = LAB_WORKERS_MAX,
        .deterministic = is_deterministic,
        .twin_of = LAB_RANKS_MAX,
        .window_bytes = (uint64_t)LAB_BATCH_BYTES * 8,
        .checkpoint_batches = 20,
        .sample_ms = sample_ms,
        .slow_ms = slow_ms,
    };
    return simulate(seed, &plan, false, lab);
}

/* 5 % of the samples take 20 times as long: in relaxed order they delay only themselves, so that the same work takes as
 * long as if it were evenly spread; in deterministic order everything waits for them. */
static int slow_samples(struct lab *lab)
{
    enum { MS = 50, SLOW_MS = 20 * MS, EVEN_MS = (19 * MS + SLOW_MS) / LAB_SLOW_EVERY };
    for (uint64_t seed = 1; seed <= SLOW_SEEDS; seed++) {
        double even = (double)work_through(lab, seed, false, EVEN_MS, EVEN_MS);
        double relaxed = even / (double)work_through(lab, seed, false, MS, SLOW_MS);
        double deterministic = even / (double)work_through(lab, seed, true, MS, SLOW_MS);
        printf("seed %lu: relaxed keeps %.2f of the rate of even work, deterministic %.2f\n", seed,
               relaxed, deterministic);
        if (relaxed < 0.9 || deterministic > relaxed)
            return 1;
    }
    return 0;
}

/* A calm world, in which workers do nothing but end and come back: each batch is made once, and once alone. */
static int draining(struct lab *lab)
{
    uint64_t drained = 0;
    for (uint64_t seed = 1; seed <= DRAIN_SEEDS; seed++) {
        const struct lab_plan plan = {
            .geometry = preprocess_geometry_plan(LAB_SAMPLES_MAX, LAB_EPOCHS_MAX, 2,
                                                 PREPROCESS_LAST_SHORT, 1 + seed % 4),
            .weather = {.delay_max_ms = 2},
            .jobs = 1,
            .workers = LAB_WORKERS_MAX,
            .deterministic = seed % 2 == 0,
            .twin_of = LAB_RANKS_MAX,
            .window_bytes = (uint64_t)LAB_BATCH_BYTES * 8,
            .checkpoint_batches = 20,
            .resize_ms = 400,
            .sample_ms = 20,
            .slow_ms = 20,
        };
        (void)simulate(seed, &plan, false, lab);
        drained += lab->drained;
        if (lab->made == preprocess_batches(&plan.geometry) && lab->replayed == 0)
            continue;
        printf("seed %llu: %llu batches were made of %llu, %llu samples replayed\n",
               (unsigned long long)seed, (unsigned long long)lab->made,
               (unsigned long long)preprocess_batches(&plan.geometry),
               (unsigned long long)lab->replayed);
        return 1;
    }
    printf("%d seeds: %llu workers drained, every batch made once\n", DRAIN_SEEDS,
           (unsigned long long)drained);
    return drained < DRAIN_SEEDS;
}

static uint64_t number(int argc, char **argv, const char *option, uint64_t otherwise)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], option) == 0)
            return strtoull(argv[i + 1], NULL, 10);
    return otherwise;
}

int main(int argc, char **argv)
{
    static struct lab lab;
    uint64_t seed = number(argc, argv, "--seed", 0);
    if (seed != 0) {
        struct lab_plan plan = draw_plan(seed);
        (void)simulate(seed, &plan, true, &lab);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--slow") == 0)
        return slow_samples(&lab);
    if (argc == 2 && strcmp(argv[1], "--drain") == 0)
        return draining(&lab);
    uint64_t seeds = number(argc, argv, "--seeds", SEEDS), kills = 0, replayed = 0, forced = 0;
    uint64_t lost = 0, duplicated = 0, made = 0, taken = 0, drained = 0;
    for (seed = 1; seed <= seeds; seed++) {
        struct lab_plan plan = draw_plan(seed);
        (void)simulate(seed, &plan, false, &lab);
        kills += lab.kills;
        replayed += lab.replayed;
        forced += lab.forced_epoch;
        lost += lab.lost;
        duplicated += lab.duplicated;
        made += lab.made;
        taken += lab.taken;
        drained += lab.drained;
    }
    printf(
        "%llu seeds: %llu kills, %llu samples replayed, %llu lost at most once, %llu duplicated at least once, "
        "%llu erasure epochs in force, %llu batches made and %llu found made, "
        "%llu workers drained, every audit true\n",
        (unsigned long long)seeds, (unsigned long long)kills, (unsigned long long)replayed,
        (unsigned long long)lost, (unsigned long long)duplicated, (unsigned long long)forced,
        (unsigned long long)made, (unsigned long long)taken, (unsigned long long)drained);
    return 0;
}
