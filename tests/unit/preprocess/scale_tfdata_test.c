/* The worker count of tf.data service, by sequences worked out by hand from the published rule. */
#include "tests/support/scale_job.h"

enum { MAKERS_MAX = 8 };

struct rates {
    double worker[MAKERS_MAX]; /* batches a second; ends with 0 */
    double consumer[MAKERS_MAX];
};

static struct scale_job begun(void)
{
    struct scale_job job = {.setting = {.min.at = {1}, .max.at = {100}}};
    scale_job_begin(&job, "tfdata");
    assert_int_equal(scale_job_pool(&job), 1);
    assert_string_equal(job.decision.why, "measuring");
    return job;
}

/* Workers are busy for 4 of 10 seconds, consumers do not wait for 5. */
static void report(struct scale_job *job, struct rates rates)
{
    struct scale_maker makers[MAKERS_MAX];
    struct scale_taker takers[MAKERS_MAX];
    struct scale_report report = {.span_s = 10, .makers = makers, .takers = takers};
    for (size_t i = 0; i < MAKERS_MAX && rates.worker[i] > 0; i++)
        makers[report.maker_count++] =
            (struct scale_maker){.batches = 4 * rates.worker[i], .busy_s = 4};
    for (size_t i = 0; i < MAKERS_MAX && rates.consumer[i] > 0; i++)
        takers[report.taker_count++] =
            (struct scale_taker){.batches = 5 * rates.consumer[i], .wait_s = 5};
    job->policy->report(job->state, &job->setting, &report, &job->decision);
}

static uint32_t estimate(struct rates rates)
{
    struct scale_job job = begun();
    report(&job, rates);
    uint32_t workers = scale_job_pool(&job);
    assert_string_equal(job.decision.why, "estimate");
    scale_job_end(&job);
    return workers;
}

static void it_is_the_consumers_rate_by_the_mean_of_the_workers_rounded_up(void **state)
{
    (void)state;
    assert_int_equal(estimate((struct rates){.worker = {2}, .consumer = {16}}), 8);
    assert_int_equal(estimate((struct rates){.worker = {2}, .consumer = {16.1}}), 9);
    assert_int_equal(estimate((struct rates){.worker = {2, 4}, .consumer = {10, 20}}), 10);
    assert_int_equal(estimate((struct rates){.worker = {2}, .consumer = {0.1}}), 1);
}

/* Mean 4, standard deviation of the sample 4.47 (of all of them 4): 10 lies above 8.47 and counts as 2, the median.
 * Then the workers make 2 on average. */
static void a_worker_more_than_a_deviation_from_the_mean_counts_as_the_median(void **state)
{
    (void)state;
    assert_int_equal(estimate((struct rates){.worker = {2, 2, 2, 2, 12}, .consumer = {20}}), 10);
    /* The other way: mean 8.4, deviation 3.58: 2 counts as 10. */
    assert_int_equal(estimate((struct rates){.worker = {10, 2, 10, 10, 10}, .consumer = {20}}), 2);
}

static void a_consumer_more_than_a_deviation_from_the_mean_counts_as_the_median(void **state)
{
    (void)state;
    assert_int_equal(estimate((struct rates){.worker = {1}, .consumer = {2, 2, 2, 2, 12}}), 10);
}

/* Of two, both lie within a deviation of the sample: 0.7 of their distance. */
static void of_two_neither_is_an_outlier(void **state)
{
    (void)state;
    assert_int_equal(estimate((struct rates){.worker = {1, 3}, .consumer = {20}}), 10);
}

/* 1 1 3 3 3 7: mean 3, deviation 2.19; 7 counts as 3, the higher one in the middle, and the mean is 14 / 6. */
static void of_an_even_number_the_higher_one_in_the_middle_is_the_median(void **state)
{
    (void)state;
    assert_int_equal(estimate((struct rates){.worker = {1, 1, 3, 3, 3, 7}, .consumer = {14}}), 6);
}

static void a_report_without_a_rate_changes_nothing(void **state)
{
    (void)state;
    struct scale_job job = begun();
    report(&job, (struct rates){.worker = {2}});
    assert_int_equal(scale_job_pool(&job), 1);
    report(&job, (struct rates){.worker = {2}, .consumer = {16}});
    report(&job, (struct rates){.consumer = {32}});
    assert_int_equal(scale_job_pool(&job), 8);
    scale_job_end(&job);
}

static void bounds_hold(void **state)
{
    (void)state;
    struct scale_job job = begun();
    job.setting.max.at[SCALE_POOL] = 5;
    report(&job, (struct rates){.worker = {2}, .consumer = {16}});
    assert_int_equal(scale_job_pool(&job), 5);
    assert_true(job.decision.need > 7.99); /* what it would need is told all the same */
    scale_job_end(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_consumers_rate_by_the_mean_of_the_workers_rounded_up),
        cmocka_unit_test(a_worker_more_than_a_deviation_from_the_mean_counts_as_the_median),
        cmocka_unit_test(a_consumer_more_than_a_deviation_from_the_mean_counts_as_the_median),
        cmocka_unit_test(of_two_neither_is_an_outlier),
        cmocka_unit_test(of_an_even_number_the_higher_one_in_the_middle_is_the_median),
        cmocka_unit_test(a_report_without_a_rate_changes_nothing),
        cmocka_unit_test(bounds_hold),
    };
    return cmocka_run_group_tests_name("scale_tfdata", tests, NULL, NULL);
}
