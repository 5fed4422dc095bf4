/* Options of scaling policies: without any, a policy keeps to the defaults of its keys. */
#include "tests/support/scale_job.h"

enum { REPORTS = 200, MEASURED = 700 };

static double batch_s(const struct scale_job *job)
{
    double workers = scale_job_pool(job) + 0.5 * scale_job_host(job);
    return workers < 6.3 ? 6.3 / workers : 1;
}

static void expect_defaults(const char *name)
{
    const struct scale_setting setting = {
        .max.at = {64, 10}, .trainer_hour = 5, .worker_hour = {0.4}};
    struct scale_job given = {.setting = setting, .batches = MEASURED, .queued = 1};
    struct scale_job bare = given;
    scale_job_begin(&given, name);
    scale_job_begin(&bare, name);
    bare.setting.options = NULL;
    for (int i = 0; i < REPORTS; i++) {
        const char *why = scale_job_report(&given, batch_s(&given));
        assert_string_equal(scale_job_report(&bare, batch_s(&bare)), why);
        assert_int_equal(scale_job_pool(&bare), scale_job_pool(&given));
        assert_int_equal(scale_job_host(&bare), scale_job_host(&given));
    }
    scale_job_end(&given);
    scale_job_end(&bare);
}

static void without_options_the_defaults_of_the_keys_hold(void **state)
{
    (void)state;
    for (size_t i = 0; i < preprocess_scale_policy_count(); i++)
        expect_defaults(preprocess_scale_policy_at(i)->name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_options_the_defaults_of_the_keys_hold),
    };
    return cmocka_run_group_tests_name("scale_options", tests, NULL, NULL);
}
