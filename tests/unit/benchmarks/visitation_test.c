/* The simulation of tf.data service's sharding policies keeps the guarantees that their documentation gives. */
#include "benchmarks/preprocess/visitation.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { SAMPLES = 1003, SPLIT = 10, WORKERS = 4, BUFFERED = 3, EPOCHS = 2 };

static struct visitation_audit run(enum visitation policy, size_t kill_after)
{
    return visitation_run(&(struct visitation_form){.policy = policy,
                                                    .samples = SAMPLES,
                                                    .split_samples = SPLIT,
                                                    .epochs = EPOCHS,
                                                    .workers = WORKERS,
                                                    .buffered = BUFFERED,
                                                    .kill_after = kill_after});
}

static void without_a_death_shares_are_visited_once_and_off_once_by_each_worker(void **state)
{
    (void)state;
    for (int policy = VISITATION_OFF; policy <= VISITATION_DYNAMIC; policy++) {
        struct visitation_audit audit = run((enum visitation)policy, 0);
        assert_int_equal(audit.set, EPOCHS * SAMPLES);
        assert_int_equal(audit.lost, 0);
        assert_int_equal(audit.repeated,
                         policy == VISITATION_OFF ? EPOCHS * (WORKERS - 1) * SAMPLES : 0);
    }
}

static void dynamic_loses_what_was_in_flight_and_repeats_nothing(void **state)
{
    (void)state;
    for (size_t after = 1; after < SAMPLES / SPLIT - WORKERS * BUFFERED; after++) {
        struct visitation_audit audit = run(VISITATION_DYNAMIC, after);
        assert_int_equal(audit.repeated, 0);
        assert_in_range(audit.lost, 0, BUFFERED * SPLIT);
        if (after >= WORKERS)
            assert_int_equal(audit.lost, BUFFERED * SPLIT);
    }
}

static void static_and_off_repeat_what_the_dead_worker_had_delivered_and_lose_nothing(void **state)
{
    (void)state;
    for (size_t after = 1; after < SAMPLES / SPLIT / 2; after++) {
        size_t delivered =
            (after + WORKERS - 1) / WORKERS * SPLIT; /* by worker 0, in turn with the others */
        struct visitation_audit shared = run(VISITATION_STATIC, after),
                                whole = run(VISITATION_OFF, after);
        assert_int_equal(shared.lost, 0);
        assert_int_equal(shared.repeated, delivered);
        assert_int_equal(whole.lost, 0);
        assert_int_equal(whole.repeated, EPOCHS * (WORKERS - 1) * SAMPLES + delivered);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_death_shares_are_visited_once_and_off_once_by_each_worker),
        cmocka_unit_test(dynamic_loses_what_was_in_flight_and_repeats_nothing),
        cmocka_unit_test(static_and_off_repeat_what_the_dead_worker_had_delivered_and_lose_nothing),
    };
    return cmocka_run_group_tests_name("benchmarks: visitation", tests, NULL, NULL);
}
