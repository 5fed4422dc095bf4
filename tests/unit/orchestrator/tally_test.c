/* Counts of runs, which only grow. */
#include "orchestrator/runs/tally.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void a_trainer_that_begins_again_is_not_counted_twice(void **state)
{
    (void)state;
    struct run_tally tally = {.samples = 0};
    struct run_counted run = {.samples = 0}, other = {.samples = 0};
    orchestrator_tally_samples(&tally, &run, 100);
    orchestrator_tally_samples(&tally, &run, 40); /* from its checkpoint */
    orchestrator_tally_samples(&tally, &run, 90);
    assert_int_equal(tally.samples, 100);
    orchestrator_tally_samples(&tally, &run, 130);
    orchestrator_tally_samples(&tally, &other, 7);
    assert_int_equal(tally.samples, 137);
}

static void a_run_of_an_earlier_process_is_counted_from_its_first_figure(void **state)
{
    (void)state;
    struct run_tally tally = {.samples = 0};
    struct run_counted run = {.skips_samples = true, .skips_work = true};
    orchestrator_tally_samples(&tally, &run, 500);
    orchestrator_tally_samples(&tally, &run, 510);
    orchestrator_tally_work(&tally, &run, &(struct run_work){.cpu_ns = 9, .bytes_read = 80});
    orchestrator_tally_work(&tally, &run,
                            &(struct run_work){.cpu_ns = 11, .bytes_read = 85, .batches = 3});
    assert_int_equal(tally.samples, 10);
    assert_int_equal(tally.work.cpu_ns, 2);
    assert_int_equal(tally.work.bytes_read, 5);
    assert_int_equal(tally.work.batches, 3);
}

static void work_that_is_told_late_or_twice_counts_once(void **state)
{
    (void)state;
    struct run_tally tally = {.samples = 0};
    struct run_counted run = {.samples = 0};
    const struct run_work audit = {
        .cpu_ns = 20, .bytes_read = 200, .bytes_sent = 100, .batches = 8, .failed = 1};
    const struct run_work before = {.cpu_ns = 15, .bytes_read = 150, .batches = 6};
    orchestrator_tally_work(&tally, &run, &audit);
    orchestrator_tally_work(&tally, &run, &before);
    orchestrator_tally_work(&tally, &run, &audit);
    assert_int_equal(tally.work.cpu_ns, 20);
    assert_int_equal(tally.work.bytes_read, 200);
    assert_int_equal(tally.work.bytes_sent, 100);
    assert_int_equal(tally.work.batches, 8);
    assert_int_equal(tally.work.failed, 1);
}

static void times_of_each_process_are_added_by_stage(void **state)
{
    (void)state;
    struct run_tally tally = {.samples = 0};
    const struct run_times none = {0, 0}, first = {10, 4}, later = {25, 4}, again = {3, 2};
    orchestrator_tally_times(&tally, none, first, orchestrator_run_stage_of("read"));
    orchestrator_tally_times(&tally, first, later, orchestrator_run_stage_of("read"));
    orchestrator_tally_times(&tally, later, again, orchestrator_run_stage_of("operators"));
    assert_int_equal(tally.busy_ns, 28);
    assert_int_equal(tally.stalled_ns[RUN_STAGE_READ], 4);
    assert_int_equal(tally.stalled_ns[RUN_STAGE_OPERATORS], 2);
}

static void stages_that_are_unknown_are_the_other(void **state)
{
    (void)state;
    for (int i = 0; i < RUN_STAGES; i++)
        assert_int_equal(orchestrator_run_stage_of(orchestrator_run_stage_name((enum run_stage)i)),
                         i);
    assert_int_equal(orchestrator_run_stage_of(""), RUN_STAGE_OTHER);
    assert_int_equal(orchestrator_run_stage_of("trainer"), RUN_STAGE_OTHER);
}

static void each_pipeline_has_one(void **state)
{
    (void)state;
    struct run_tallies tallies = LIST_HEAD_INITIALIZER(tallies);
    struct run_tally *first = orchestrator_tally_of(&tallies, 1);
    first->done = 4;
    assert_ptr_not_equal(orchestrator_tally_of(&tallies, 2), first);
    assert_int_equal(orchestrator_tally_of(&tallies, 1)->done, 4);
    orchestrator_tallies_free(&tallies);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trainer_that_begins_again_is_not_counted_twice),
        cmocka_unit_test(a_run_of_an_earlier_process_is_counted_from_its_first_figure),
        cmocka_unit_test(work_that_is_told_late_or_twice_counts_once),
        cmocka_unit_test(times_of_each_process_are_added_by_stage),
        cmocka_unit_test(stages_that_are_unknown_are_the_other),
        cmocka_unit_test(each_pipeline_has_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
