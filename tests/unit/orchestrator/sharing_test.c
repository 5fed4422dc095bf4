/* The next pipeline to train: by shares, never too many at once, and none waits for ever. */
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "orchestrator/sharing/quotas.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PIPELINES = 10, SLOTS = 2, LONG_MS = 400000, NS_PER_MS = 1000000 };

/* Pipelines that always want to train; runs are numbered pipeline * 1000000 + n. */
struct world {
    struct arbiter *arbiter;
    struct weir_rng rng;
    struct arbiter_quota quotas[PIPELINES];
    int64_t mean_ms[PIPELINES];
    int64_t had_ms[PIPELINES], waited_ms[PIPELINES], begun[PIPELINES];
    size_t holds[PIPELINES];
    int64_t asked_ms[PIPELINES];
    int64_t ends_ms[SLOTS], runs[SLOTS]; /* run 0: the slot is free */
    int64_t now_ms;
};

static void claim(struct arbiter *arbiter, int64_t run, int64_t pipeline,
                  const struct arbiter_quota *quota, bool is_urgent)
{
    assert_true(orchestrator_arbiter_claim(
        arbiter, &(struct arbiter_claim){
                     .run = run, .pipeline = pipeline, .quota = *quota, .is_urgent = is_urgent}));
}

static int64_t ask(struct world *world, size_t pipeline)
{
    int64_t run = (int64_t)(pipeline + 1) * 1000000 + ++world->begun[pipeline];
    claim(world->arbiter, run, (int64_t)pipeline, &world->quotas[pipeline], true);
    world->asked_ms[pipeline] = world->now_ms;
    return run;
}

static size_t owner_of(int64_t run)
{
    return (size_t)(run / 1000000) - 1;
}

static void grant(struct world *world)
{
    int64_t run = 0;
    while (orchestrator_arbiter_grant(world->arbiter, world->now_ms * NS_PER_MS, &run)) {
        size_t pipeline = owner_of(run), slot = 0;
        while (world->runs[slot] != 0)
            assert_true(++slot < SLOTS);
        int64_t took = world->mean_ms[pipeline] / 2 +
                       (int64_t)weir_rng_below(&world->rng, (uint64_t)world->mean_ms[pipeline]);
        int64_t waited = world->now_ms - world->asked_ms[pipeline];
        world->waited_ms[pipeline] =
            waited > world->waited_ms[pipeline] ? waited : world->waited_ms[pipeline];
        world->runs[slot] = run;
        world->ends_ms[slot] = world->now_ms + took;
        world->had_ms[pipeline] += took;
        world->holds[pipeline]++;
    }
}

/* To the end of the run that ends first, whose pipeline asks again. */
static void step(struct world *world)
{
    size_t first = SLOTS;
    for (size_t i = 0; i < SLOTS; i++)
        if (world->runs[i] != 0 && (first == SLOTS || world->ends_ms[i] < world->ends_ms[first]))
            first = i;
    assert_true(first < SLOTS);
    world->now_ms = world->ends_ms[first];
    size_t pipeline = owner_of(world->runs[first]);
    orchestrator_arbiter_release(world->arbiter, world->runs[first], world->now_ms * NS_PER_MS);
    world->runs[first] = 0;
    world->holds[pipeline]--;
    (void)ask(world, pipeline);
    grant(world);
}

static void make(struct world *world, size_t claims)
{
    *world = (struct world){.arbiter = orchestrator_arbiter_new(SLOTS, 0)};
    weir_rng_init(&world->rng, 7);
    for (size_t i = 0; i < PIPELINES; i++) {
        world->quotas[i] = (struct arbiter_quota){.share = 1};
        world->mean_ms[i] = 100;
        for (size_t n = 0; n < claims; n++)
            (void)ask(world, i);
    }
}

static void run_until(struct world *world, int64_t end_ms)
{
    grant(world);
    while (world->now_ms < end_ms)
        step(world);
}

static void ten_pipelines_have_the_same_time_however_long_their_runs_are(void **state)
{
    struct world world;
    (void)state;
    make(&world, 2);
    for (size_t i = 0; i < PIPELINES; i++)
        world.mean_ms[i] = 50 << (i % 5); /* 50 ms to 800 ms */
    run_until(&world, LONG_MS);
    for (size_t i = 0; i < PIPELINES; i++) {
        assert_in_range(world.had_ms[i], SLOTS * LONG_MS / PIPELINES * 95 / 100,
                        SLOTS * LONG_MS / PIPELINES * 105 / 100);
        assert_true(world.waited_ms[i] < 20000);
    }
    orchestrator_arbiter_free(world.arbiter);
}

static void a_share_of_three_has_three_times_as_much(void **state)
{
    struct world world;
    (void)state;
    make(&world, 2);
    world.quotas[4].share = 3;
    run_until(&world, LONG_MS);
    assert_in_range(world.had_ms[4], world.had_ms[0] * 28 / 10, world.had_ms[0] * 32 / 10);
    orchestrator_arbiter_free(world.arbiter);
}

static void no_pipeline_has_more_trainers_than_its_quota_says(void **state)
{
    struct world world;
    (void)state;
    make(&world, 1);
    for (size_t n = 0; n < 50; n++)
        (void)ask(&world, 3);
    world.quotas[3].trainers = 1;
    (void)ask(&world, 3);
    grant(&world);
    while (world.now_ms < LONG_MS / 10) {
        assert_true(world.holds[3] <= 1);
        assert_true(orchestrator_arbiter_look(world.arbiter).busy == SLOTS);
        step(&world);
    }
    orchestrator_arbiter_free(world.arbiter);
}

static void whoever_comes_late_does_not_make_up_for_it(void **state)
{
    struct world world;
    int64_t run = 0, of_late = 0;
    (void)state;
    make(&world, 2);
    run_until(&world, LONG_MS / 2);
    const struct arbiter_quota quota = {.share = 1};
    claim(world.arbiter, 77, 99, &quota, true);
    claim(world.arbiter, 78, 99, &quota, true);
    claim(world.arbiter, 79, 99, &quota, true);
    for (size_t i = 0; i < SLOTS; i++)
        orchestrator_arbiter_release(world.arbiter, world.runs[i], world.now_ms * NS_PER_MS);
    for (int n = 0; n < PIPELINES; n++) {
        assert_true(orchestrator_arbiter_grant(world.arbiter, world.now_ms * NS_PER_MS, &run));
        of_late += run < 100;
        orchestrator_arbiter_release(world.arbiter, run, (world.now_ms + 100) * NS_PER_MS);
    }
    assert_in_range(of_late, 1, 2);
    orchestrator_arbiter_free(world.arbiter);
}

/* The third pipeline had ten times as much as the others before: it comes once they have had that, too. */
static void what_pipelines_have_had_outlives_the_arbiter(void **state)
{
    struct arbiter *arbiter = orchestrator_arbiter_new(1, 0);
    const struct arbiter_quota quota = {.share = 1};
    int64_t run = 0, now_ms = 0;
    (void)state;
    for (int64_t i = 0; i < PIPELINES; i++)
        orchestrator_arbiter_recall(arbiter, i, &quota, (i == 3 ? 1000 : 100) * NS_PER_MS);
    for (int64_t i = 0; i < 20 * PIPELINES; i++)
        claim(arbiter, i, i % PIPELINES, &quota, true);
    for (int64_t i = 0; i < 9 * (PIPELINES - 1); i++) {
        assert_true(orchestrator_arbiter_grant(arbiter, now_ms * NS_PER_MS, &run));
        assert_int_not_equal(run % PIPELINES, 3);
        orchestrator_arbiter_release(arbiter, run, (now_ms += 100) * NS_PER_MS);
    }
    for (int64_t i = 0; i < PIPELINES && run % PIPELINES != 3; i++) {
        assert_true(orchestrator_arbiter_grant(arbiter, now_ms * NS_PER_MS, &run));
        orchestrator_arbiter_release(arbiter, run, (now_ms += 100) * NS_PER_MS);
    }
    assert_int_equal(run % PIPELINES, 3);
    orchestrator_arbiter_free(arbiter);
}

static void gpus_are_held_by_one_run_each_and_waited_for(void **state)
{
    struct arbiter *arbiter = orchestrator_arbiter_new(0, 3);
    struct arbiter_claim two = {.run = 1, .pipeline = 1, .quota = {.share = 1}, .gpus = 2};
    struct arbiter_claim more = {.run = 2, .pipeline = 2, .quota = {.share = 1}, .gpus = 2};
    struct arbiter_claim none = {.run = 3, .pipeline = 3, .quota = {.share = 1}};
    struct arbiter_claim one = {.run = 4, .pipeline = 4, .quota = {.share = 1}, .gpus = 1};
    int64_t run = 0;
    (void)state;
    assert_true(orchestrator_arbiter_claim(arbiter, &two) &&
                orchestrator_arbiter_grant(arbiter, 0, &run) && run == 1);
    assert_int_equal(orchestrator_arbiter_gpus(arbiter, 1), 3);
    assert_true(orchestrator_arbiter_claim(arbiter, &more));
    assert_false(orchestrator_arbiter_grant(arbiter, 0, &run));
    assert_true(orchestrator_arbiter_claim(arbiter, &one) &&
                orchestrator_arbiter_claim(arbiter, &none));
    assert_true(orchestrator_arbiter_grant(arbiter, 0, &run) &&
                run == 3); /* it wants none; run 4 is behind run 2 */
    assert_false(orchestrator_arbiter_grant(arbiter, 0, &run));
    assert_int_equal(orchestrator_arbiter_bill(arbiter, 1, 500), 500);
    assert_int_equal(orchestrator_arbiter_bill(arbiter, 1, 700), 200);
    orchestrator_arbiter_release(arbiter, 1, 700);
    assert_true(orchestrator_arbiter_grant(arbiter, 700, &run) && run == 2);
    assert_true(orchestrator_arbiter_grant(arbiter, 700, &run) && run == 4);
    assert_int_equal(orchestrator_arbiter_gpus(arbiter, 2) | orchestrator_arbiter_gpus(arbiter, 4),
                     7);
    assert_int_equal(orchestrator_arbiter_look(arbiter).gpus_busy, 3);
    one = (struct arbiter_claim){.run = 5, .quota = {.share = 1, .gpus = 1}, .gpus = 2};
    assert_false(orchestrator_arbiter_claim(arbiter, &one)); /* its quota would never let it */
    one = (struct arbiter_claim){.run = 5, .quota = {.share = 1}, .gpus = 4};
    assert_false(orchestrator_arbiter_claim(arbiter, &one));
    orchestrator_arbiter_free(arbiter);
}

static void what_is_seen_of_one_pipeline_are_its_own_claims(void **state)
{
    struct arbiter *arbiter = orchestrator_arbiter_new(2, 0);
    const struct arbiter_quota quota = {.share = 1};
    int64_t run = 0;
    (void)state;
    claim(arbiter, 1, 1, &quota, false);
    claim(arbiter, 2, 7, &quota, false);
    claim(arbiter, 3, 7, &quota, false);
    while (orchestrator_arbiter_grant(arbiter, 0, &run))
        ;
    struct arbiter_view view = orchestrator_arbiter_look_at(arbiter, 7);
    assert_true(view.slots == 2 && view.busy == 1 && view.waiting == 1);
    view = orchestrator_arbiter_look_at(arbiter, 1);
    assert_true(view.slots == 2 && view.busy == 1 && view.waiting == 0);
    view = orchestrator_arbiter_look_at(arbiter, 2);
    assert_true(view.slots == 2 && view.busy == 0 && view.waiting == 0);
    orchestrator_arbiter_free(arbiter);
}

static void trainings_come_before_measurements_of_the_same_pipeline(void **state)
{
    struct arbiter *arbiter = orchestrator_arbiter_new(1, 0);
    const struct arbiter_quota quota = {.share = 1};
    int64_t run = 0;
    (void)state;
    claim(arbiter, 1, 1, &quota, false);
    claim(arbiter, 2, 1, &quota, false);
    claim(arbiter, 3, 1, &quota, true);
    claim(arbiter, 3, 1, &quota, true);
    assert_int_equal(orchestrator_arbiter_look(arbiter).waiting, 3);
    assert_true(orchestrator_arbiter_grant(arbiter, 0, &run) && run == 3);
    assert_true(orchestrator_arbiter_holds(arbiter, 3) && !orchestrator_arbiter_holds(arbiter, 1));
    assert_false(orchestrator_arbiter_grant(arbiter, 0, &run));
    orchestrator_arbiter_release(arbiter, 1, 0); /* withdrawn */
    orchestrator_arbiter_release(arbiter, 3, 10);
    assert_true(orchestrator_arbiter_grant(arbiter, 10, &run) && run == 2);
    orchestrator_arbiter_release(arbiter, 4, 10); /* nobody */
    orchestrator_arbiter_free(arbiter);
}

static void quotas_are_read_by_name(void **state)
{
    struct weir_error err;
    struct weir_yaml *document = NULL;
    const char *text = "{clicks: {share: 2.5, trainers: 1, workers: 2}, default: {trainers: 3}}";
    (void)state;
    assert_int_equal(weir_yaml_parse("s.yaml", weir_bytes_of(text), &document, &err), WEIR_OK);
    const struct orchestrator_sharing sharing = {.quotas = weir_yaml_root(document)};
    assert_int_equal(orchestrator_quotas_check(sharing.quotas, &err), WEIR_OK);
    assert_true(orchestrator_quota_of(&sharing, "clicks").share == 2.5);
    assert_int_equal(orchestrator_quota_of(&sharing, "clicks").trainers, 1);
    assert_int_equal(orchestrator_quota_of(&sharing, "clicks").workers, 2);
    assert_true(orchestrator_quota_of(&sharing, "other").share == 1);
    assert_int_equal(orchestrator_quota_of(&sharing, "other").workers, 0);
    assert_int_equal(orchestrator_quota_of(&sharing, "other").trainers, 3);
    weir_yaml_free(document);
    assert_int_equal(weir_yaml_parse("s.yaml", weir_bytes_of("{p: {shares: 2}}"), &document, &err),
                     WEIR_OK);
    assert_int_equal(orchestrator_quotas_check(weir_yaml_root(document), &err), WEIR_INVALID);
    assert_non_null(strstr(err.text, "s.yaml:1:6: quotas.p.shares"));
    weir_yaml_free(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_pipelines_have_the_same_time_however_long_their_runs_are),
        cmocka_unit_test(a_share_of_three_has_three_times_as_much),
        cmocka_unit_test(no_pipeline_has_more_trainers_than_its_quota_says),
        cmocka_unit_test(whoever_comes_late_does_not_make_up_for_it),
        cmocka_unit_test(what_pipelines_have_had_outlives_the_arbiter),
        cmocka_unit_test(gpus_are_held_by_one_run_each_and_waited_for),
        cmocka_unit_test(what_is_seen_of_one_pipeline_are_its_own_claims),
        cmocka_unit_test(trainings_come_before_measurements_of_the_same_pipeline),
        cmocka_unit_test(quotas_are_read_by_name),
    };
    return cmocka_run_group_tests_name("sharing", tests, NULL, NULL);
}
