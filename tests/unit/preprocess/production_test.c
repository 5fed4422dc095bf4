/* Which worker makes what of a production. */
#include "preprocess/dispatcher/production.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { KEY = 7, SESSION = 40, OTHER_SESSION, NOW_MS = 1000 };

struct fixture {
    struct productions productions;
    struct production *production; /* of two jobs */
};

static int begin(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){0};
    fixture.production = preprocess_production_join(&fixture.productions, KEY);
    assert_ptr_equal(preprocess_production_join(&fixture.productions, KEY), fixture.production);
    *state = &fixture;
    return 0;
}

static int end(void **state)
{
    struct fixture *fixture = *state;
    preprocess_productions_fini(&fixture->productions);
    return 0;
}

static void make_at(struct production *production, uint32_t worker, uint64_t session,
                    uint64_t group, int64_t now_ms)
{
    preprocess_production_note(
        production, &(struct production_maker){
                        .group = group, .worker = worker, .session = session, .leased_ms = now_ms});
}

static void make(struct production *production, uint32_t worker, uint64_t session, uint64_t group)
{
    make_at(production, worker, session, group, NOW_MS);
}

/* Returns the numbers of the groups that the worker makes, added up, and counts them. */
static uint64_t own(const struct production *production, uint32_t worker, uint64_t session,
                    int64_t now_ms, size_t *ret_count)
{
    const struct production_maker like = {.worker = worker, .session = session};
    const struct production_maker *maker = NULL;
    uint64_t sum = 0;
    *ret_count = 0;
    while ((maker = preprocess_production_own(production, maker, &like, now_ms)) != NULL) {
        sum += maker->group;
        ++*ret_count;
    }
    return sum;
}

static void a_worker_finds_what_it_makes_itself(void **state)
{
    struct fixture *fixture = *state;
    size_t count;
    for (uint64_t group = 1; group <= 9; group++)
        make(fixture->production, group % 3 == 0 ? 5 : 5 + PRODUCTION_BUCKETS, SESSION, group);
    assert_int_equal(own(fixture->production, 5, SESSION, NOW_MS, &count), 3 + 6 + 9);
    assert_int_equal(count, 3);
    assert_int_equal(own(fixture->production, 6, SESSION, NOW_MS, &count), 0);
}

static void what_another_makes_now_is_no_longer_its_own(void **state)
{
    struct fixture *fixture = *state;
    size_t count;
    make(fixture->production, 5, SESSION, 1);
    make(fixture->production, 5, SESSION, 1); /* said again */
    make(fixture->production, 5, SESSION, 2);
    make(fixture->production, 6, SESSION, 1);
    assert_int_equal(own(fixture->production, 5, SESSION, NOW_MS, &count), 2);
    assert_int_equal(own(fixture->production, 6, SESSION, NOW_MS, &count), 1);
}

static void a_restarted_worker_makes_nothing_of_its_former_self(void **state)
{
    struct fixture *fixture = *state;
    size_t count;
    make(fixture->production, 5, SESSION, 1);
    (void)own(fixture->production, 5, OTHER_SESSION, NOW_MS, &count);
    assert_int_equal(count, 0);
}

static void after_a_while_nobody_is_known(void **state)
{
    struct fixture *fixture = *state;
    size_t count;
    make(fixture->production, 5, SESSION, 1);
    (void)own(fixture->production, 5, SESSION, NOW_MS + PRODUCTION_KNOWN_MS, &count);
    assert_int_equal(count, 0);
    assert_null(
        preprocess_production_maker(fixture->production, 0, 1, NOW_MS + PRODUCTION_KNOWN_MS));
    assert_non_null(preprocess_production_maker(fixture->production, 0, 1, NOW_MS));
}

static void who_makes_it_again_is_known_for_as_long_again(void **state)
{
    struct fixture *fixture = *state;
    int64_t end_ms = NOW_MS + PRODUCTION_KNOWN_MS;
    size_t count;
    make(fixture->production, 5, SESSION, 1);
    make_at(fixture->production, 5, SESSION, 1,
            end_ms - 1); /* for another job: nobody waits longer */
    assert_null(preprocess_production_maker(fixture->production, 0, 1, end_ms));
    make_at(fixture->production, 5, SESSION, 1, end_ms);
    assert_non_null(preprocess_production_maker(fixture->production, 0, 1, end_ms));
    assert_int_equal(own(fixture->production, 5, SESSION, end_ms, &count), 1);
    assert_int_equal(count, 1);
}

static void one_job_alone_shares_nothing(void **state)
{
    struct fixture *fixture = *state;
    size_t count;
    make(fixture->production, 5, SESSION, 1);
    preprocess_production_leave(&fixture->productions, fixture->production);
    (void)own(fixture->production, 5, SESSION, NOW_MS, &count);
    assert_int_equal(count, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_worker_finds_what_it_makes_itself),
        TEST(what_another_makes_now_is_no_longer_its_own),
        TEST(a_restarted_worker_makes_nothing_of_its_former_self),
        TEST(after_a_while_nobody_is_known),
        TEST(who_makes_it_again_is_known_for_as_long_again),
        TEST(one_job_alone_shares_nothing),
    };
    return cmocka_run_group_tests_name("production", tests, NULL, NULL);
}
