/* Worker slots: one name, one living session. */
#include "preprocess/dispatcher/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static int hear(struct pool *pool, const char *name, uint64_t session, int64_t now_ms, bool *known)
{
    struct pool_beat beat = {.name = name, .endpoint = "ipc://x", .session = session};
    return preprocess_pool_hear(pool, &beat, now_ms, known);
}

static void a_restarted_worker_replaces_its_former_self(void **state)
{
    (void)state;
    struct pool *pool = calloc(1, sizeof(*pool));
    bool known;
    assert_int_equal(hear(pool, "worker-1", 5, 0, &known), 0);
    assert_false(known);
    assert_int_equal(hear(pool, "worker-2", 6, 0, &known), 1);
    assert_int_equal(hear(pool, "worker-1", 5, 10, &known), 0);
    assert_true(known);
    assert_int_equal(hear(pool, "worker-1", 7, 20, &known), 0);
    assert_false(known);
    assert_int_equal(hear(pool, "worker-1", 5, 30, &known), -1); /* a beat that came late */
    preprocess_pool_fini(pool);
    free(pool);
}

/* Nobody who has another key voids the leases of a worker by its name. */
static void a_worker_keeps_its_name_from_who_has_another_key(void **state)
{
    (void)state;
    struct pool pool = {0};
    bool known;
    struct pool_beat beat = {.name = "w", .endpoint = "tcp://a", .session = 5, .key = "array-7"};
    assert_int_equal(preprocess_pool_hear(&pool, &beat, 0, &known), 0);
    beat = (struct pool_beat){.name = "w", .endpoint = "tcp://b", .session = 6, .key = "array-8"};
    assert_int_equal(preprocess_pool_hear(&pool, &beat, 10, &known), -1);
    beat.key = NULL;
    assert_int_equal(preprocess_pool_hear(&pool, &beat, 10, &known), -1);
    assert_string_equal(pool.worker[0].endpoint, "tcp://a");
    beat.key = "array-7"; /* a worker that was started again */
    assert_int_equal(preprocess_pool_hear(&pool, &beat, 20, &known), 0);
    beat.key = "array-8";
    assert_int_equal(preprocess_pool_hear(&pool, &beat, 20 + POOL_SILENT_MS, &known), 0);
    preprocess_pool_fini(&pool);
}

/* A beat of the former process that comes after those of the new one takes the slot; it is the last of its kind. */
static void who_goes_on_beating_gets_its_slot_back(void **state)
{
    (void)state;
    struct pool pool = {0};
    bool known;
    assert_int_equal(hear(&pool, "worker-1", 7, 0, &known), 0);
    assert_int_equal(hear(&pool, "worker-1", 5, 10, &known), 0);
    assert_int_equal(hear(&pool, "worker-1", 7, 10 + POOL_SILENT_MS - 1, &known), -1);
    assert_int_equal(hear(&pool, "worker-1", 7, 10 + POOL_SILENT_MS, &known), 0);
    assert_false(known);
    assert_int_equal(hear(&pool, "worker-1", 7, 20 + POOL_SILENT_MS, &known), 0);
    assert_true(known);
    assert_int_equal(hear(&pool, "worker-1", 5, 30 + POOL_SILENT_MS, &known), -1);
    preprocess_pool_fini(&pool);
}

static void a_silent_worker_is_not_shown(void **state)
{
    (void)state;
    struct pool *pool = calloc(1, sizeof(*pool));
    bool known;
    (void)hear(pool, "worker-1", 5, 1000, &known);
    assert_true(preprocess_pool_is_heard(pool, 0, 1000 + POOL_SILENT_MS - 1));
    assert_false(preprocess_pool_is_heard(pool, 0, 1000 + POOL_SILENT_MS));
    preprocess_pool_fini(pool);
    free(pool);
}

static void who_leaves_is_not_shown_until_it_is_back(void **state)
{
    (void)state;
    struct pool *pool = calloc(1, sizeof(*pool));
    bool known;
    assert_int_equal(preprocess_pool_leave(pool, "worker-1", 5), -1);
    (void)hear(pool, "worker-1", 5, 1000, &known);
    assert_int_equal(preprocess_pool_leave(pool, "worker-1", 4), -1);
    assert_int_equal(preprocess_pool_leave(pool, "worker-2", 5), -1);
    assert_true(preprocess_pool_is_heard(pool, 0, 1001));
    assert_int_equal(preprocess_pool_leave(pool, "worker-1", 5), 0);
    assert_false(preprocess_pool_is_heard(pool, 0, 1001));
    assert_int_equal(hear(pool, "worker-1", 5, 1002, &known), -1); /* a beat that came late */
    assert_int_equal(hear(pool, "worker-1", 6, 1003, &known), 0);
    assert_true(preprocess_pool_is_heard(pool, 0, 1003));
    preprocess_pool_fini(pool);
    free(pool);
}

/* Adds workers until there are so many, and lets all of them be heard. */
static void fill(struct pool *pool, size_t workers, int64_t now_ms)
{
    bool known;
    for (size_t i = 0; i < workers; i++) {
        char name[32];
        snprintf(name, sizeof(name), "worker-%zu", i);
        assert_int_equal(hear(pool, name, i + 1, now_ms, &known), (int)i);
    }
    preprocess_pool_look(pool, now_ms);
}

static void thousands_beat_less_often_and_lease_for_longer(void **state)
{
    (void)state;
    struct pool pool = {0};
    fill(&pool, 40, 0);
    assert_true(preprocess_pool_beat_ms(&pool) <= 20); /* as often as they would by themselves */
    assert_int_equal(preprocess_pool_lease_ms(&pool, 2000), 2000);
    fill(&pool, 10000, 10);
    assert_int_equal(pool.live, 10000);
    assert_int_equal(preprocess_pool_beat_ms(&pool), 10000 * 1000 / POOL_BEATS_A_SECOND);
    assert_true(preprocess_pool_lease_ms(&pool, 2000) >= 4 * preprocess_pool_beat_ms(&pool));
    preprocess_pool_fini(&pool);
}

static void a_slot_of_who_is_long_gone_is_anothers(void **state)
{
    (void)state;
    struct pool pool = {0};
    bool known;
    fill(&pool, 300, 0);
    for (size_t i = 1; i < 300; i++) {
        char name[32];
        snprintf(name, sizeof(name), "worker-%zu", i);
        (void)hear(&pool, name, i + 1, POOL_FORGET_MS, &known);
    }
    preprocess_pool_look(&pool, POOL_FORGET_MS);
    assert_int_equal(pool.live, 299);
    assert_int_equal(hear(&pool, "another", 900, POOL_FORGET_MS, &known), 0);
    assert_false(known);
    assert_int_equal(hear(&pool, "worker-299", 300, POOL_FORGET_MS, &known), 299);
    assert_int_equal(hear(&pool, "worker-0", 1, POOL_FORGET_MS, &known), 300);
    preprocess_pool_fini(&pool);
}

static void a_block_more_moves_few_jobs(void **state)
{
    (void)state;
    enum { JOBS = 1000, BLOCKS = 8 };
    struct pool few = {.count = BLOCKS * POOL_CREW}, more = {.count = few.count + 1};
    size_t moved = 0, of_block[BLOCKS] = {0};
    for (uint64_t job = 1; job <= JOBS; job++) {
        size_t first = preprocess_pool_crew_of(&few, job);
        assert_int_equal(first % POOL_CREW, 0);
        of_block[first / POOL_CREW]++;
        moved += preprocess_pool_crew_of(&more, job) != first;
    }
    assert_in_range(moved, JOBS / BLOCKS / 2, 2 * JOBS / BLOCKS);
    for (size_t i = 0; i < BLOCKS; i++)
        assert_in_range(of_block[i], JOBS / BLOCKS / 2, 2 * JOBS / BLOCKS);
    assert_int_equal(preprocess_pool_crew_of(&(struct pool){.count = POOL_CREW}, 77), 0);
}

/* Beats under new names until there is no room. Returns their number. */
static size_t take_all(struct pool *pool, const char *key, int64_t now_ms)
{
    bool known;
    char name[32];
    struct pool_beat beat = {.name = name, .endpoint = "tcp://a", .session = 5, .key = key};
    for (size_t count = 0;; count++) {
        (void)snprintf(name, sizeof(name), "%s-%zu", key, count);
        if (!preprocess_pool_has_room(pool, &beat)) {
            assert_int_equal(preprocess_pool_hear(pool, &beat, now_ms, &known), -1);
            return count;
        }
        assert_true(preprocess_pool_hear(pool, &beat, now_ms, &known) >= 0);
    }
}

static void a_key_leaves_slots_to_others(void **state)
{
    (void)state;
    struct pool pool = {0};
    bool known;
    assert_in_range(take_all(&pool, "mallory", 0), 10000, POOL_WORKERS_MAX - 5000);
    assert_true(take_all(&pool, "rosa", 0) > 1000);
    assert_true(hear(&pool, "worker-1", 5, 0, &known) >= 0);
    assert_true(hear(&pool, "mallory-1", 5, 0, &known) < 0); /* of a key */
    struct pool_beat old = {
        .name = "mallory-1", .endpoint = "tcp://a", .session = 5, .key = "mallory"};
    assert_true(preprocess_pool_hear(&pool, &old, 0, &known) >= 0);
    preprocess_pool_look(&pool, POOL_FORGET_MS);
    assert_in_range(take_all(&pool, "rosa", POOL_FORGET_MS), 10000, POOL_WORKERS_MAX - 5000);
    preprocess_pool_fini(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_restarted_worker_replaces_its_former_self),
        cmocka_unit_test(who_goes_on_beating_gets_its_slot_back),
        cmocka_unit_test(a_worker_keeps_its_name_from_who_has_another_key),
        cmocka_unit_test(a_silent_worker_is_not_shown),
        cmocka_unit_test(who_leaves_is_not_shown_until_it_is_back),
        cmocka_unit_test(thousands_beat_less_often_and_lease_for_longer),
        cmocka_unit_test(a_slot_of_who_is_long_gone_is_anothers),
        cmocka_unit_test(a_block_more_moves_few_jobs),
        cmocka_unit_test(a_key_leaves_slots_to_others),
    };
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
