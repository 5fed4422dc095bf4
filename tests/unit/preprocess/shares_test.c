/* Sharing the workers: the rules of preprocess/dispatcher/shares.h, over the state
 * machines of real jobs and workers that take their time. Everything is drawn from a seed. */
#include "core/base/rng.h"
#include "preprocess/dispatcher/barred.h"
#include "preprocess/dispatcher/leasing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum {
    WORKERS = 3,
    PIPELINES = 10,
    BATCHES = 200000, /* of a job: one a group, more than there is time for */
    WANTED = 4,
    BEAT_MS = 100,
    SECONDS = 60,
    NS_PER_MS = 1000000,
};

/* A lease as its worker has it. */
struct at_work {
    uint64_t group, fence;
    size_t pipeline;
    int64_t left_ns;
};

struct worker {
    struct at_work leases[PIPELINES * DISPATCHER_LEASES_MAX];
    size_t count;
    int64_t worked_ns;
};

struct pipeline {
    struct shares_quota quota;
    struct dispatcher_job job;
    struct shares_account *account;
    int64_t lease_ns;  /* what a group takes; 0: it has no job */
    bool is_held_up;   /* its consumer takes nothing */
    int64_t worked_ns; /* for it, in all */
    struct weir_bits received;
    uint64_t oldest, beats;
};

struct world {
    struct weir_rng rng;
    struct dispatcher_fences fences;
    struct shares shares;
    struct pipeline pipelines[PIPELINES];
    struct worker workers[WORKERS];
    int64_t now_ms;
};

/* ---- consumers ---- */

static void tell(struct world *world, struct pipeline *pipeline)
{
    struct weir_error err;
    struct msg_client_orders orders;
    WEIR_AUTO_BUF tally = {0};
    WEIR_AUTO_BUF received = {0};
    weir_bits_pack(&pipeline->received, &received);
    weir_tally_pack(&(struct weir_tally){.delivered = pipeline->oldest}, &tally);
    struct msg_client_beat beat = {.job = pipeline->quota.pipeline,
                                   .attempt = 1,
                                   .session = 1,
                                   .number = ++pipeline->beats,
                                   .oldest = pipeline->oldest,
                                   .received = weir_buf_view(&received),
                                   .tally = weir_buf_view(&tally)};
    assert_int_equal(
        preprocess_job_client_beat(&pipeline->job, &beat, world->now_ms, &orders, &err), WEIR_OK);
}

/* Its loop takes what it has in order. */
static void receive(struct pipeline *pipeline, uint64_t batch)
{
    weir_bits_set(&pipeline->received, batch - pipeline->oldest);
    while (weir_bits_get(&pipeline->received, 0)) {
        weir_bits_shift_down(&pipeline->received, 1);
        pipeline->oldest++;
    }
}

static void begin_job(struct world *world, size_t number, struct shares_quota quota,
                      int64_t lease_ns)
{
    struct weir_error err;
    struct dispatcher_opened opened;
    struct pipeline *pipeline = &world->pipelines[number];
    struct dispatcher_record empty = {0};
    struct dispatcher_about about = {
        .job = quota.pipeline,
        .geometry = preprocess_geometry_plan(BATCHES, 1, 1, PREPROCESS_LAST_SHORT, 1),
        .delivery = WEIR_EXACTLY_ONCE,
    };
    *pipeline = (struct pipeline){.quota = quota, .lease_ns = lease_ns};
    preprocess_job_init(&pipeline->job, &about, &world->fences);
    preprocess_job_restore(&pipeline->job, &empty, false);
    struct weir_position nothing = {0};
    assert_int_equal(
        preprocess_job_client_open(&pipeline->job,
                                   &(struct dispatcher_claim){.session = 1, .state = &nothing},
                                   &opened, &err),
        WEIR_OK);
    pipeline->account = preprocess_shares_join(&world->shares, &quota);
    tell(world, pipeline);
}

static void end_job(struct world *world, size_t number)
{
    struct pipeline *pipeline = &world->pipelines[number];
    if (pipeline->lease_ns == 0)
        return;
    preprocess_shares_leave(&world->shares, pipeline->account);
    preprocess_job_fini(&pipeline->job);
    weir_bits_fini(&pipeline->received);
    pipeline->lease_ns = 0;
}

/* ---- workers ---- */

static uint32_t want_of(const struct world *world, const struct worker *worker)
{
    uint32_t busy = 0;
    for (size_t i = 0; i < worker->count; i++)
        busy += worker->leases[i].left_ns > 0 &&
                !world->pipelines[worker->leases[i].pipeline].is_held_up;
    return busy < WANTED ? WANTED - busy : 0;
}

/* Leases in the order in which they were given, as far as the time goes. */
static void work(struct world *world, struct worker *worker, int64_t ns)
{
    for (size_t i = 0; i < worker->count && ns > 0; i++) {
        struct at_work *lease = &worker->leases[i];
        struct pipeline *pipeline = &world->pipelines[lease->pipeline];
        int64_t part = lease->left_ns < ns ? lease->left_ns : ns;
        if (pipeline->is_held_up || part == 0)
            continue;
        lease->left_ns -= part;
        pipeline->worked_ns += part;
        worker->worked_ns += part;
        preprocess_shares_spend(&world->shares, pipeline->account, part);
        ns -= part;
        if (lease->left_ns == 0)
            receive(pipeline, lease->group);
    }
}

static size_t held_by(const struct worker *worker, size_t pipeline,
                      struct dispatcher_held held[DISPATCHER_LEASES_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < worker->count; i++) {
        const struct at_work *lease = &worker->leases[i];
        if (lease->pipeline == pipeline)
            held[count++] =
                (struct dispatcher_held){lease->group, lease->fence, lease->left_ns == 0};
    }
    return count;
}

static bool has_lease(const struct worker *worker, uint64_t fence)
{
    for (size_t i = 0; i < worker->count; i++) {
        if (worker->leases[i].fence == fence)
            return true;
    }
    return false;
}

static int by_fence(const void *a, const void *b)
{
    const struct at_work *one = a, *other = b;
    return (one->fence > other->fence) - (one->fence < other->fence);
}

/* Drops the leases that the worker has done, and adds those it was given. */
static void take_orders(struct world *world, uint32_t number)
{
    struct worker *worker = &world->workers[number];
    size_t kept = 0;
    for (size_t i = 0; i < worker->count; i++) {
        if (worker->leases[i].left_ns > 0)
            worker->leases[kept++] = worker->leases[i];
    }
    worker->count = kept;
    for (size_t p = 0; p < PIPELINES; p++) {
        struct dispatcher_lease leases[DISPATCHER_LEASES_MAX];
        if (world->pipelines[p].lease_ns == 0)
            continue;
        size_t count = preprocess_job_leases(&world->pipelines[p].job, number, 1, leases);
        for (size_t i = 0; i < count; i++) {
            if (!has_lease(worker, leases[i].fence))
                worker->leases[worker->count++] = (struct at_work){leases[i].group, leases[i].fence,
                                                                   p, world->pipelines[p].lease_ns};
        }
    }
    qsort(worker->leases, worker->count, sizeof(*worker->leases), by_fence);
}

static void beat(struct world *world, uint32_t number)
{
    struct worker *worker = &world->workers[number];
    struct leasing_job jobs[PIPELINES];
    struct leasing leasing = {
        .shares = &world->shares,
        .visit = {.worker = number, .session = 1, .lease_ms = DISPATCHER_LEASE_MS},
        .now_ms = world->now_ms,
        .want = want_of(world, worker),
        .jobs = jobs,
    };
    size_t first = weir_rng_below(&world->rng, PIPELINES);
    for (size_t i = 0; i < PIPELINES; i++) {
        struct dispatcher_held held[DISPATCHER_LEASES_MAX];
        size_t p = (first + i) % PIPELINES;
        struct pipeline *pipeline = &world->pipelines[p];
        if (pipeline->lease_ns == 0)
            continue;
        leasing.visit.held = held;
        leasing.visit.held_count = held_by(worker, p, held);
        preprocess_leasing_visit(&leasing, &pipeline->job, pipeline->account, true);
    }
    preprocess_leasing_give(&leasing);
    take_orders(world, number);
}

static void check_bounds(const struct world *world)
{
    for (size_t p = 0; p < PIPELINES; p++) {
        uint32_t at = 0;
        for (size_t w = 0; w < WORKERS; w++) {
            struct dispatcher_held held[DISPATCHER_LEASES_MAX];
            at += held_by(&world->workers[w], p, held) > 0;
        }
        uint32_t bound = world->pipelines[p].quota.workers;
        assert_true(world->pipelines[p].lease_ns == 0 || bound == 0 || at <= bound);
    }
}

static void run(struct world *world, int64_t ms)
{
    for (int64_t end = world->now_ms + ms; world->now_ms < end; world->now_ms += BEAT_MS) {
        for (uint32_t w = 0; w < WORKERS; w++) {
            work(world, &world->workers[w], (int64_t)BEAT_MS * NS_PER_MS);
            beat(world, w);
        }
        for (size_t p = 0; p < PIPELINES; p++) {
            if (world->pipelines[p].lease_ns > 0)
                tell(world, &world->pipelines[p]);
        }
        check_bounds(world);
    }
}

static void begin(struct world *world, uint64_t seed)
{
    *world = (struct world){.fences = {(uint64_t)1 << 32}};
    weir_rng_init(&world->rng, seed);
}

static void end(struct world *world)
{
    for (size_t p = 0; p < PIPELINES; p++)
        end_job(world, p);
    preprocess_shares_fini(&world->shares);
}

/* Between 30 and 90 ms: no lease of more than a beat, and enough of them to fill one. */
static int64_t some_lease(struct world *world)
{
    return (int64_t)(30 + weir_rng_below(&world->rng, 60)) * NS_PER_MS;
}

static double worked_s(const struct pipeline *pipeline)
{
    return (double)pipeline->worked_ns / 1e9;
}

/* ---- what must hold ---- */

static void ten_pipelines_have_worker_time_by_their_shares(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        static struct world world;
        double of_share = 0;
        begin(&world, seed);
        for (size_t p = 0; p < PIPELINES; p++) {
            double share = (double)(1 << weir_rng_below(&world.rng, 3));
            of_share += share;
            begin_job(&world, p, (struct shares_quota){p + 1, share, 0}, some_lease(&world));
        }
        run(&world, SECONDS * 1000);
        for (size_t p = 0; p < PIPELINES; p++) {
            const struct pipeline *pipeline = &world.pipelines[p];
            double due = WORKERS * SECONDS * pipeline->quota.share / of_share;
            print_message("seed %lu: pipeline %zu has had %.1f s, due %.1f\n", seed, p,
                          worked_s(pipeline), due);
            assert_true(worked_s(pipeline) > 0.95 * due - 0.5);
            assert_true(worked_s(pipeline) < 1.05 * due + 0.5);
        }
        end(&world);
    }
}

static void who_is_alone_has_all_workers(void **unused)
{
    (void)unused;
    static struct world world;
    begin(&world, 1);
    begin_job(&world, 3, (struct shares_quota){4, 0.001, 0}, some_lease(&world));
    run(&world, SECONDS * 1000);
    assert_true(worked_s(&world.pipelines[3]) > 0.95 * WORKERS * SECONDS);
    end(&world);
}

static void a_bound_holds_though_workers_idle(void **unused)
{
    (void)unused;
    static struct world world;
    begin(&world, 1);
    begin_job(&world, 0, (struct shares_quota){1, 1, 1}, some_lease(&world));
    run(&world, SECONDS * 1000);
    assert_true(worked_s(&world.pipelines[0]) > 0.9 * SECONDS);
    assert_true(worked_s(&world.pipelines[0]) <= SECONDS);
    begin_job(&world, 1, (struct shares_quota){2, 1, 0}, some_lease(&world));
    run(&world, SECONDS * 1000);
    assert_true(worked_s(&world.pipelines[1]) > 1.4 * SECONDS);
    end(&world);
}

static void a_newcomer_has_its_share_from_the_first_second(void **unused)
{
    (void)unused;
    static struct world world;
    begin(&world, 1);
    for (size_t p = 0; p + 1 < PIPELINES; p++)
        begin_job(&world, p, (struct shares_quota){p + 1, 1, 0}, some_lease(&world));
    run(&world, SECONDS * 1000);
    begin_job(&world, PIPELINES - 1, (struct shares_quota){PIPELINES, 1, 0}, some_lease(&world));
    run(&world, 5000);
    double due = 5.0 * WORKERS / PIPELINES;
    assert_true(worked_s(&world.pipelines[PIPELINES - 1]) > 0.6 * due);
    assert_true(worked_s(&world.pipelines[PIPELINES - 1]) < due + 1.5); /* rule 3 */
    end(&world);
}

static void consumers_that_take_nothing_keep_nobody_from_working(void **unused)
{
    (void)unused;
    static struct world world;
    begin(&world, 1);
    for (size_t p = 0; p < PIPELINES; p++)
        begin_job(&world, p, (struct shares_quota){p + 1, 1, 0}, some_lease(&world));
    for (size_t p = 1; p < PIPELINES; p++)
        world.pipelines[p].is_held_up = true;
    run(&world, SECONDS * 1000);
    assert_true(worked_s(&world.pipelines[0]) > 0.9 * WORKERS * SECONDS);
    end(&world);
}

static void time_that_nobody_can_have_spent_costs_a_pipeline_its_turns_for_a_while(void **unused)
{
    (void)unused;
    static struct world world;
    const double ahead_s = (double)SHARES_AHEAD_NS / 1e9;
    begin(&world, 1);
    for (size_t p = 0; p < 2; p++)
        begin_job(&world, p, (struct shares_quota){p + 1, 1, 0}, some_lease(&world));
    run(&world, SECONDS * 1000);
    double before_s = worked_s(&world.pipelines[0]);
    for (size_t i = 0; i < 1000; i++)
        preprocess_shares_spend(&world.shares, world.pipelines[0].account, INT64_MAX);
    assert_int_equal(world.pipelines[0].account->cpu_ns, INT64_MAX);
    run(&world, 3 * SECONDS * 1000);
    double due = (3.0 * SECONDS * WORKERS - ahead_s) / 2;
    assert_true(worked_s(&world.pipelines[0]) - before_s > 0.8 * due);
    assert_true(worked_s(&world.pipelines[0]) - before_s < 1.05 * due + 1.5);
    end(&world);
}

static void a_worker_that_dies_frees_the_place_it_held(void **unused)
{
    (void)unused;
    static struct world world;
    struct leasing_job jobs[1];
    begin(&world, 1);
    begin_job(&world, 0, (struct shares_quota){1, 1, 1}, some_lease(&world));
    beat(&world, 0);
    struct shares_account *account = world.pipelines[0].account;
    assert_true(preprocess_shares_admit(account, 0, 0));
    assert_false(preprocess_shares_admit(account, 1, 0));
    assert_true(
        preprocess_shares_admit(account, 1, DISPATCHER_LEASE_MS)); /* killed: its leases are over */
    world.now_ms = DISPATCHER_LEASE_MS;
    tell(&world, &world.pipelines[0]);
    struct leasing leasing = {
        .shares = &world.shares,
        .visit = {.worker = 1, .session = 1, .lease_ms = DISPATCHER_LEASE_MS},
        .now_ms = world.now_ms,
        .want = 1,
        .jobs = jobs,
    };
    preprocess_leasing_visit(&leasing, &world.pipelines[0].job, account, true);
    preprocess_leasing_give(&leasing);
    assert_int_equal(jobs[0].has, 1);
    assert_false(preprocess_shares_admit(account, 0, world.now_ms));
    preprocess_shares_drop(&world.shares, 1); /* ended in order */
    assert_true(preprocess_shares_admit(account, 0, world.now_ms));
    end(&world);
}

static size_t leases_of(const struct world *world, uint32_t worker)
{
    struct dispatcher_lease leases[DISPATCHER_LEASES_MAX];
    return preprocess_job_leases(&world->pipelines[0].job, worker, 1, leases);
}

/* For as long as it is said again, and only to that session of the worker. */
static void a_worker_that_is_barred_from_a_job_is_leased_nothing_of_it(void **unused)
{
    (void)unused;
    static struct world world;
    struct barred barred = {0};
    const struct pool_worker worker = {.session = 1};
    begin(&world, 1);
    begin_job(&world, 0, (struct shares_quota){1, 1, 0}, some_lease(&world));
    world.pipelines[0].job.barred = &barred;
    assert_true(preprocess_barred_note(&barred, &worker, 0, world.now_ms, BARRED_UNREACHED_MS));
    assert_false(preprocess_barred_note(&barred, &worker, 0, world.now_ms, 1)); /* no news */
    beat(&world, 0);
    beat(&world, 1);
    assert_int_equal(leases_of(&world, 0), 0);
    assert_true(leases_of(&world, 1) > 0);
    assert_false(preprocess_barred_is(&barred, 0, 2, world.now_ms));
    world.now_ms += BARRED_UNREACHED_MS;
    tell(&world, &world.pipelines[0]);
    beat(&world, 0);
    assert_true(leases_of(&world, 0) > 0);
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_pipelines_have_worker_time_by_their_shares),
        cmocka_unit_test(who_is_alone_has_all_workers),
        cmocka_unit_test(a_bound_holds_though_workers_idle),
        cmocka_unit_test(a_newcomer_has_its_share_from_the_first_second),
        cmocka_unit_test(consumers_that_take_nothing_keep_nobody_from_working),
        cmocka_unit_test(time_that_nobody_can_have_spent_costs_a_pipeline_its_turns_for_a_while),
        cmocka_unit_test(a_worker_that_dies_frees_the_place_it_held),
        cmocka_unit_test(a_worker_that_is_barred_from_a_job_is_leased_nothing_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
