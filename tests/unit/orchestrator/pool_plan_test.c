/* Workers that are seen, missed, refused, drained, taken back and ended, by how many there should be. */
#include "orchestrator/pool/plan.h"

#include "core/base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { MAX = 6 };

/* A launcher and a dispatcher that do what they are told, at once. */
struct world {
    struct pool_members members;
    struct pool_sight sights[POOL_MEMBERS_MAX];
    int64_t now_ms;
    const char *launcher;
};

static const struct pool_sight RUNS = {.state = LAUNCHER_RUNNING, .reason = ""};
static const struct pool_sight IS_GONE = {.state = LAUNCHER_LOST, .reason = ""};

static void plan(struct world *world, uint32_t workers)
{
    const struct pool_view view = {
        .targets = {workers, 0},
        .max = {MAX, MAX},
        .now_ms = world->now_ms,
        .now_us = world->now_ms * 1000,
        .sights = world->sights,
        .launchers = {world->launcher, world->launcher},
    };
    orchestrator_pool_plan(&view, &world->members);
    for (size_t i = 0; i < world->members.count; i++)
        world->sights[i] = RUNS;
}

static struct world *begin(uint32_t workers)
{
    static struct world world;
    world = (struct world){.now_ms = 1000, .launcher = "local"};
    plan(&world, workers);
    plan(&world, workers); /* they run */
    return &world;
}

/* "worker-1 running 1, worker-2 …": of each, its group. */
static const char *text_of(const struct world *world)
{
    static char text[1024];
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < world->members.count; i++) {
        char name[POOL_NAME_SIZE];
        const struct pool_member *member = &world->members.at[i];
        orchestrator_pool_name(member, name);
        used +=
            (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %s %d", used > 0 ? ", " : "",
                             name, ORCHESTRATOR_POOL_STATES[member->state], (int)member->group);
    }
    return text;
}

static void workers_are_started_together_and_run_once_they_are_seen(void **state)
{
    (void)state;
    struct world world = {.now_ms = 1000, .launcher = "local"};
    plan(&world, 2);
    assert_string_equal(text_of(&world), "worker-1 starting 1, worker-2 starting 1");
    plan(&world, 2);
    assert_string_equal(text_of(&world), "worker-1 running 1, worker-2 running 1");
    plan(&world, 3);
    assert_string_equal(text_of(&world),
                        "worker-1 running 1, worker-2 running 1, worker-3 starting 2");
}

static void the_last_are_drained_and_ended_when_they_hold_nothing(void **state)
{
    (void)state;
    struct world *world = begin(3);
    plan(world, 1);
    assert_string_equal(text_of(world),
                        "worker-1 running 1, worker-2 draining 1, worker-3 draining 1");
    world->sights[2].is_drained = true;
    plan(world, 1);
    assert_string_equal(text_of(world),
                        "worker-1 running 1, worker-2 draining 1, worker-3 ending 1");
    world->sights[2] = IS_GONE;
    plan(world, 1);
    assert_string_equal(text_of(world), "worker-1 running 1, worker-2 draining 1");
}

static void who_works_is_not_ended_because_somebody_calls_it_drained(void **state)
{
    (void)state;
    struct world *world = begin(1);
    world->sights[0].is_drained = true;
    plan(world, 1);
    assert_string_equal(text_of(world), "worker-1 running 1");
}

static void patience_with_one_that_drains_ends(void **state)
{
    (void)state;
    struct world *world = begin(1);
    plan(world, 0);
    world->now_ms += POOL_DRAIN_MS - 1;
    plan(world, 0);
    assert_string_equal(text_of(world), "worker-1 draining 1");
    world->now_ms++;
    plan(world, 0);
    assert_string_equal(text_of(world), "worker-1 ending 1");
    assert_true(strstr(world->members.at[0].why, "patience") != NULL);
}

static void one_that_drains_is_taken_back_before_another_is_started(void **state)
{
    (void)state;
    struct world *world = begin(2);
    plan(world, 0);
    plan(world, 1);
    assert_string_equal(text_of(world), "worker-1 running 1, worker-2 draining 1");
    plan(world, 3);
    assert_string_equal(text_of(world),
                        "worker-1 running 1, worker-2 running 1, worker-3 starting 2");
}

static void one_that_is_gone_is_started_again_under_its_name(void **state)
{
    (void)state;
    struct world *world = begin(2);
    world->sights[1] = (struct pool_sight){.state = LAUNCHER_ENDED, .reason = "out of memory"};
    plan(world, 2);
    assert_string_equal(text_of(world), "worker-1 running 1, worker-2 lost 1");
    assert_string_equal(world->members.at[1].why, "out of memory");
    world->sights[1] = IS_GONE;
    world->now_ms += POOL_AGAIN_MS;
    plan(world, 2);
    assert_string_equal(text_of(world), "worker-1 running 1, worker-2 starting 2");
    assert_string_equal(world->members.at[1].why, "out of memory"); /* until it runs */
    plan(world, 2);
    assert_string_equal(world->members.at[1].why, "");
}

static void those_of_an_earlier_process_that_are_gone_are_started_again_at_once(void **state)
{
    (void)state;
    struct world *world = begin(2);
    for (size_t i = 0; i < 2; i++) {
        world->members.at[i].state = i == 0 ? POOL_LOST : POOL_DRAINING;
        world->members.at[i].since_ms = 0;
        world->sights[i] = IS_GONE;
    }
    plan(world, 1);
    assert_string_equal(text_of(world), "worker-1 starting 2");
}

static void one_that_is_refused_is_asked_for_again_and_dropped_first(void **state)
{
    (void)state;
    struct world *world = begin(3);
    world->sights[0] = (struct pool_sight){.state = LAUNCHER_REFUSED, .reason = "no such account"};
    plan(world, 3);
    assert_string_equal(text_of(world),
                        "worker-1 refused 1, worker-2 running 1, worker-3 running 1");
    plan(world, 2);
    assert_string_equal(text_of(world), "worker-2 running 1, worker-3 running 1");
}

static void there_are_never_more_processes_than_may_be(void **state)
{
    (void)state;
    struct world *world = begin(MAX);
    plan(world, 0);
    for (size_t i = 0; i < MAX; i++)
        world->sights[i].is_drained = true;
    plan(world, 0);
    plan(world, MAX); /* all are ending: their names and places are not free yet */
    assert_int_equal(world->members.count, MAX);
    assert_int_equal(orchestrator_pool_present(&world->members, POOL_PLACE_POOL), 0);
    for (size_t i = 0; i < MAX; i++)
        world->sights[i] = IS_GONE;
    plan(world, MAX);
    assert_int_equal(orchestrator_pool_present(&world->members, POOL_PLACE_POOL), MAX);
    assert_int_equal(world->members.groups, 2);
}

static void workers_beside_the_trainers_have_names_and_groups_of_their_own(void **state)
{
    (void)state;
    struct world world = {.now_ms = 1000, .launcher = "local"};
    const struct pool_view view = {
        .targets = {1, 2}, .max = {MAX, MAX}, .now_ms = 1000, .sights = world.sights};
    orchestrator_pool_plan(&view, &world.members);
    assert_string_equal(text_of(&world),
                        "worker-1 starting 1, host-1 starting 2, host-2 starting 2");
}

/* No number is had twice, and none beyond the most that there may be. */
static void check_numbers(const struct world *world)
{
    for (size_t i = 0; i < world->members.count; i++) {
        const struct pool_member *member = &world->members.at[i];
        assert_ptr_equal(orchestrator_pool_find(&world->members, member->place, member->number),
                         member);
        assert_in_range(member->number, 1, MAX);
        assert_true(member->group > 0 && member->group <= world->members.groups);
    }
}

static void whatever_happens_there_are_as_many_as_wanted_once_it_is_calm(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct weir_rng rng;
        weir_rng_init(&rng, seed);
        struct world world = {.now_ms = 1000, .launcher = "local"};
        for (int round = 0; round < 60; round++) {
            for (size_t i = 0; i < world.members.count; i++) {
                if (weir_rng_below(&rng, 4) == 0)
                    world.sights[i].state = (enum launcher_state)weir_rng_below(&rng, 6);
                world.sights[i].is_drained = weir_rng_below(&rng, 3) == 0;
            }
            world.now_ms += (int64_t)weir_rng_below(&rng, 3000);
            plan(&world, (uint32_t)weir_rng_below(&rng, MAX + 1));
            check_numbers(&world);
        }
        uint32_t wanted = (uint32_t)weir_rng_below(&rng, MAX + 1);
        for (int round = 0; round < 4; round++) {
            for (size_t i = 0; i < world.members.count; i++)
                world.sights[i] = world.members.at[i].state >= POOL_DRAINING ? IS_GONE : RUNS;
            world.now_ms += POOL_AGAIN_MS;
            plan(&world, wanted);
        }
        assert_int_equal(world.members.count, wanted);
        assert_int_equal(orchestrator_pool_present(&world.members, POOL_PLACE_POOL), wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_are_started_together_and_run_once_they_are_seen),
        cmocka_unit_test(the_last_are_drained_and_ended_when_they_hold_nothing),
        cmocka_unit_test(who_works_is_not_ended_because_somebody_calls_it_drained),
        cmocka_unit_test(patience_with_one_that_drains_ends),
        cmocka_unit_test(one_that_drains_is_taken_back_before_another_is_started),
        cmocka_unit_test(one_that_is_gone_is_started_again_under_its_name),
        cmocka_unit_test(those_of_an_earlier_process_that_are_gone_are_started_again_at_once),
        cmocka_unit_test(one_that_is_refused_is_asked_for_again_and_dropped_first),
        cmocka_unit_test(there_are_never_more_processes_than_may_be),
        cmocka_unit_test(workers_beside_the_trainers_have_names_and_groups_of_their_own),
        cmocka_unit_test(whatever_happens_there_are_as_many_as_wanted_once_it_is_calm),
    };
    return cmocka_run_group_tests_name("pool_plan", tests, NULL, NULL);
}
