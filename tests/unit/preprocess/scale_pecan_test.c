/* Pecan's AutoPlacement, by sequences worked out by hand from the published rule. */
#include "tests/support/scale_job.h"

enum { MEASURED = 650, FIRST = 700, LOCAL_MAX = 10 };

static const struct scale_setting PRICED = {
    .min.at = {0, 0},
    .max.at = {128, LOCAL_MAX},
    .trainer_hour = 4.96, /* a TPU v2-8 */
    .worker_hour = {0.427, 0},
};

static struct scale_job begun(const char *section)
{
    struct scale_job job = {.setting = PRICED, .batches = FIRST, .queued = 1};
    scale_job_begin(&job, section);
    assert_int_equal(scale_job_pool(&job), 1);
    assert_int_equal(scale_job_host(&job), 0);
    return job;
}

static void expect(struct scale_job *job, double batch_s, const char *why, uint32_t remote,
                   uint32_t local)
{
    assert_string_equal(scale_job_report(job, batch_s), why);
    assert_int_equal(scale_job_pool(job), remote);
    assert_int_equal(scale_job_host(job), local);
    job->batches = MEASURED;
}

/* With one worker a batch costs 4.96 + 0.427 an hour's worth; a second one pays if 5.387 x gain > 0.427 x (1 - gain),
 * which is from 7.35 % on. */
static void a_remote_worker_has_to_pay_for_itself(void **state)
{
    (void)state;
    struct scale_job job = begun("pecan");
    expect(&job, 1, "remote_up", 2, 0);
    expect(&job, 1 - 0.0736, "remote_up", 3, 0);
    scale_job_end(&job);
    job = begun("pecan");
    expect(&job, 1, "remote_up", 2, 0);
    expect(&job, 1 - 0.0734, "local_up", 1, 1); /* one back, and the first local one */
    scale_job_end(&job);
}

static void in_performance_mode_a_remote_worker_has_to_save_three_percent(void **state)
{
    (void)state;
    struct scale_job job = begun("{policy: pecan, mode: performance}");
    expect(&job, 1, "remote_up", 2, 0);
    expect(&job, 0.969, "remote_up", 3, 0);
    expect(&job, 0.969 * 0.971, "local_up", 2, 1);
    scale_job_end(&job);
}

static void without_prices_time_decides(void **state)
{
    (void)state;
    struct scale_job job = begun("pecan");
    job.setting.trainer_hour = job.setting.worker_hour[SCALE_POOL] = 0;
    expect(&job, 1, "remote_up", 2, 0);
    expect(&job, 0.969, "remote_up", 3, 0);
    scale_job_end(&job);
}

static void up_to_two_remote(struct scale_job *job)
{
    expect(job, 2, "remote_up", 2, 0);
    expect(job, 1, "remote_up", 3, 0);
    expect(job, 0.99, "local_up", 2, 1);
}

/* Remote 1 2 3 2; local 1 2 3 2, as the third slows the job down; remote 1, which pays, 0, which does not, 1; local 3,
 * which slows it down, 2. */
static void the_four_states_follow_one_another(void **state)
{
    (void)state;
    struct scale_job job = begun("pecan");
    up_to_two_remote(&job);
    expect(&job, 0.9, "local_up", 2, 2);
    expect(&job, 0.8, "local_up", 2, 3);
    expect(&job, 0.9, "remote_down", 1, 2); /* 12.5 % slower: two local ones, and the next state */
    expect(&job, 0.91, "remote_down", 0, 2);
    expect(&job, 1.5, "local_up", 1, 3);
    assert_false(job.decision.is_settled);
    expect(&job, 1.7, "stable", 1, 2);
    assert_true(job.decision.is_settled);
    scale_job_end(&job);
}

static void a_local_worker_is_added_until_it_slows_the_job_down_by_a_tenth(void **state)
{
    (void)state;
    struct scale_job job = begun("pecan");
    up_to_two_remote(&job);
    double batch_s = 0.99;
    for (uint32_t local = 2; local <= LOCAL_MAX; local++)
        expect(&job, batch_s *= 1.099, "local_up", 2, local);
    expect(&job, batch_s, "remote_down", 1, LOCAL_MAX); /* no more: the next state */
    scale_job_end(&job);
}

static void with_all_local_workers_it_settles_where_a_remote_one_pays(void **state)
{
    (void)state;
    struct scale_job job = begun("pecan");
    up_to_two_remote(&job);
    for (uint32_t local = 2; local <= LOCAL_MAX; local++)
        expect(&job, 1, "local_up", 2, local);
    expect(&job, 1, "remote_down", 1, LOCAL_MAX);
    expect(&job, 1.2, "stable", 2, LOCAL_MAX); /* 0.427 is less than 20 % of 5.387 */
    assert_true(job.decision.is_settled);
    scale_job_end(&job);
}

static void remote_workers_that_save_nothing_all_go(void **state)
{
    (void)state;
    struct scale_job job = begun("pecan");
    up_to_two_remote(&job);
    for (uint32_t local = 2; local <= LOCAL_MAX; local++)
        expect(&job, 1, "local_up", 2, local);
    expect(&job, 1, "remote_down", 1, LOCAL_MAX);
    expect(&job, 1, "remote_down", 0, LOCAL_MAX);
    expect(&job, 1, "stable", 0, LOCAL_MAX);
    scale_job_end(&job);
}

static void twenty_remote_workers_are_the_most(void **state)
{
    (void)state;
    struct scale_job job = begun("pecan");
    double batch_s = 1;
    for (uint32_t remote = 2; remote <= 20; remote++)
        expect(&job, batch_s *= 0.8, "remote_up", remote, 0);
    expect(&job, batch_s * 0.8, "local_up", 20, 1);
    scale_job_end(&job);
}

static void a_pool_without_a_host_settles_where_no_remote_worker_pays(void **state)
{
    (void)state;
    struct scale_job job = begun("pecan");
    job.setting.max.at[SCALE_HOST] = 0;
    expect(&job, 1, "remote_up", 2, 0);
    expect(&job, 1, "stable", 1, 0);
    assert_true(job.decision.is_settled);
    scale_job_end(&job);
}

static void a_stable_job_that_slows_down_by_half_starts_again(void **state)
{
    (void)state;
    struct scale_job job = begun("pecan");
    job.setting.max.at[SCALE_HOST] = 0;
    expect(&job, 1, "remote_up", 2, 0);
    expect(&job, 1, "stable", 1, 0);
    for (int i = 0; i < 20; i++)
        expect(&job, 1.51, "stable", 1, 0);
    expect(&job, 1.51, "remote_up", 2, 0);
    assert_false(job.decision.is_settled);
    scale_job_end(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_remote_worker_has_to_pay_for_itself),
        cmocka_unit_test(in_performance_mode_a_remote_worker_has_to_save_three_percent),
        cmocka_unit_test(without_prices_time_decides),
        cmocka_unit_test(the_four_states_follow_one_another),
        cmocka_unit_test(a_local_worker_is_added_until_it_slows_the_job_down_by_a_tenth),
        cmocka_unit_test(with_all_local_workers_it_settles_where_a_remote_one_pays),
        cmocka_unit_test(remote_workers_that_save_nothing_all_go),
        cmocka_unit_test(twenty_remote_workers_are_the_most),
        cmocka_unit_test(a_pool_without_a_host_settles_where_no_remote_worker_pays),
        cmocka_unit_test(a_stable_job_that_slows_down_by_half_starts_again),
    };
    return cmocka_run_group_tests_name("scale_pecan", tests, NULL, NULL);
}
