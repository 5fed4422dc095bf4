/* Cachew's scaling policy, by sequences worked out by hand from the published rule. */
#include "tests/support/scale_job.h"

#include <math.h>

enum {
    MEASURED = 650, /* 150 batches after a change, and 500 that are measured */
    FIRST = 700,    /* 200 after the start */
};

static struct scale_job begun(const char *section)
{
    struct scale_job job = {
        .setting = {.min.at = {1}, .max.at = {128}},
        .batches = FIRST,
        .queued = 1,
    };
    scale_job_begin(&job, section);
    assert_int_equal(scale_job_pool(&job), 1);
    return job;
}

/* Seconds of a batch where `need` workers suffice. */
static double ideal_s(double need, uint32_t workers)
{
    return fmax(1, need / workers);
}

static uint32_t report_ideal(struct scale_job *job, double need)
{
    scale_job_report(job, ideal_s(need, scale_job_pool(job)));
    job->batches = MEASURED;
    return scale_job_pool(job);
}

static unsigned reports_until_settled(const char *section, double need, uint32_t expected)
{
    struct scale_job job = begun(section);
    unsigned reports = 0;
    for (; !job.decision.is_settled && reports < 1000; reports++)
        (void)report_ideal(&job, need);
    assert_int_equal(scale_job_pool(&job), expected);
    scale_job_end(&job);
    return reports;
}

static void one_worker_is_added_while_it_saves_more_than_the_threshold(void **state)
{
    (void)state;
    struct scale_job job = begun("cachew");
    for (uint32_t workers = 1; workers < 9; workers++)
        assert_int_equal(report_ideal(&job, 8), workers + 1);
    assert_false(job.decision.is_settled);
    assert_int_equal(report_ideal(&job, 8), 8); /* the ninth saved nothing */
    assert_string_equal(job.decision.why, "back");
    assert_true(job.decision.is_settled);
    scale_job_end(&job);
}

/* Worker n saves 1 / n of the batch time: 1 / 14 is above 7 %, 1 / 15 is not. */
static void it_never_passes_fourteen_workers_at_seven_percent(void **state)
{
    (void)state;
    for (double need = 15; need <= 100; need += 5)
        assert_int_equal(reports_until_settled("cachew", need, 14), 15);
}

static void it_never_passes_thirty_three_workers_at_three_percent(void **state)
{
    (void)state;
    static const char SECTION[] = "{policy: cachew, threshold_up: 0.03}";
    assert_int_equal(reports_until_settled(SECTION, 18, 18), 19);
    assert_int_equal(reports_until_settled(SECTION, 90, 33), 34);
}

/* Epoch times of Cachew's figure 6a, by 1 to 8 workers, in seconds. The fifth worker saves 7.3 %, which is as near to
 * the threshold as the figure can be read: the published run stopped at four. */
static void it_stops_at_five_workers_on_the_published_curve(void **state)
{
    (void)state;
    static const double EPOCH_S[] = {1730, 870, 645, 550, 510, 500, 495, 495};
    struct scale_job job = begun("cachew");
    unsigned reports = 0;
    for (; !job.decision.is_settled; reports++) {
        scale_job_report(&job, EPOCH_S[scale_job_pool(&job) - 1] / 1000);
        job.batches = MEASURED;
    }
    assert_int_equal(reports, 6);
    assert_int_equal(scale_job_pool(&job), 5);
    scale_job_end(&job);
}

static void batches_after_a_start_and_after_a_change_are_not_measured(void **state)
{
    (void)state;
    struct scale_job job = begun("cachew");
    job.batches = 200;
    assert_string_equal(scale_job_report(&job, 50), "measuring"); /* as if it took for ever */
    job.batches = 499;
    assert_string_equal(scale_job_report(&job, 8), "measuring");
    job.batches = 1;
    assert_string_equal(scale_job_report(&job, 8), "up");
    job.batches = 150;
    assert_string_equal(scale_job_report(&job, 50), "measuring");
    job.batches = 500;
    assert_string_equal(scale_job_report(&job, 4), "up");
    scale_job_end(&job);
}

static void a_report_of_other_workers_than_the_target_changes_nothing(void **state)
{
    (void)state;
    struct scale_job job = begun("cachew");
    scale_job_report(&job, 8);
    assert_int_equal(scale_job_pool(&job), 2);
    job.decision.size.at[SCALE_POOL] = 1; /* the second one has not come yet */
    assert_string_equal(scale_job_report(&job, 8), "waiting");
    assert_int_equal(scale_job_pool(&job), 2);
    scale_job_end(&job);
}

static void a_batch_time_that_more_than_doubles_is_not_believed(void **state)
{
    (void)state;
    struct scale_job job = begun("cachew");
    (void)report_ideal(&job, 8);
    assert_string_equal(scale_job_report(&job, 8 * 2.21), "outlier"); /* below -1.2 */
    assert_int_equal(scale_job_pool(&job), 2);
    assert_string_equal(scale_job_report(&job, 8 * 2.19), "back");
    assert_int_equal(scale_job_pool(&job), 1);
    scale_job_end(&job);
}

static struct scale_job settled(void)
{
    struct scale_job job = begun("cachew");
    while (!job.decision.is_settled)
        (void)report_ideal(&job, 4);
    return job;
}

static void watch(struct scale_job *job, double batch_s, const char *why)
{
    for (int i = 0; i < 20; i++)
        assert_string_equal(scale_job_report(job, batch_s), "stable");
    assert_string_equal(scale_job_report(job, batch_s), why);
}

static void it_looks_again_after_twenty_measurements(void **state)
{
    (void)state;
    struct scale_job job = settled();
    watch(&job, 1.49, "stable");
    watch(&job, 1.51, "up");
    assert_int_equal(scale_job_pool(&job), 5);
    assert_false(job.decision.is_settled);
    scale_job_end(&job);
}

static void a_queue_that_grew_lets_workers_go_until_it_is_slower(void **state)
{
    (void)state;
    struct scale_job job = settled();
    job.queued = 1.6;
    watch(&job, 1, "down");
    assert_int_equal(scale_job_pool(&job), 3);
    assert_string_equal(scale_job_report(&job, 1.02), "down"); /* 2 % slower: no loss */
    assert_int_equal(scale_job_pool(&job), 2);
    assert_string_equal(scale_job_report(&job, 1.1), "back");
    assert_int_equal(scale_job_pool(&job), 3);
    assert_true(job.decision.is_settled);
    scale_job_end(&job);
}

static void bounds_hold(void **state)
{
    (void)state;
    struct scale_job job = begun("cachew");
    job.setting.max.at[SCALE_POOL] = 3;
    for (int i = 0; i < 10; i++)
        assert_true(report_ideal(&job, 8) <= 3);
    scale_job_end(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_worker_is_added_while_it_saves_more_than_the_threshold),
        cmocka_unit_test(it_never_passes_fourteen_workers_at_seven_percent),
        cmocka_unit_test(it_never_passes_thirty_three_workers_at_three_percent),
        cmocka_unit_test(it_stops_at_five_workers_on_the_published_curve),
        cmocka_unit_test(batches_after_a_start_and_after_a_change_are_not_measured),
        cmocka_unit_test(a_report_of_other_workers_than_the_target_changes_nothing),
        cmocka_unit_test(a_batch_time_that_more_than_doubles_is_not_believed),
        cmocka_unit_test(it_looks_again_after_twenty_measurements),
        cmocka_unit_test(a_queue_that_grew_lets_workers_go_until_it_is_slower),
        cmocka_unit_test(bounds_hold),
    };
    return cmocka_run_group_tests_name("scale_cachew", tests, NULL, NULL);
}
