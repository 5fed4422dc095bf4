/* The pool divided among jobs. */
#include "preprocess/scale/division.h"

#include "core/base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const double NEAR = 1e-6;

static const struct division_bounds WIDE = {.min = 0, .max = 100};

static struct division_job asking(uint64_t pipeline, double share, double asked)
{
    return (struct division_job){.pipeline = pipeline, .share = share, .asked = asked};
}

static void expect_near(double found, double expected)
{
    if (fabs(found - expected) > NEAR)
        fail_msg("expected %g, found %g", expected, found);
}

static void the_sum_decides_and_not_each_job(void **state)
{
    (void)state;
    struct division division = {0};
    struct division_job jobs[] = {asking(1, 1, 0.4), asking(2, 1, 0.5)};
    assert_int_equal(preprocess_division_divide(&division, &WIDE, jobs, 2, 0), 1);
    expect_near(jobs[0].given, 0.4);
    expect_near(jobs[1].given, 0.5);
}

static void a_scarce_pool_is_divided_by_share_and_what_one_leaves_the_others_have(void **state)
{
    (void)state;
    struct division division = {0};
    struct division_bounds bounds = {.max = 10};
    struct division_job jobs[] = {asking(1, 3, 20), asking(2, 1, 20), asking(3, 10, 2)};
    assert_int_equal(preprocess_division_divide(&division, &bounds, jobs, 3, 0), 10);
    expect_near(jobs[0].given, 6);
    expect_near(jobs[1].given, 2);
    expect_near(jobs[2].given, 2);
}

static void jobs_of_one_pipeline_have_its_share_and_its_bound_together(void **state)
{
    (void)state;
    struct division division = {0};
    struct division_bounds bounds = {.max = 6};
    struct division_job jobs[] = {asking(1, 1, 9), asking(2, 1, 9), asking(1, 1, 9)};
    assert_int_equal(preprocess_division_divide(&division, &bounds, jobs, 3, 0), 6);
    expect_near(jobs[0].given + jobs[2].given, 3);
    expect_near(jobs[1].given, 3);
    for (size_t i = 0; i < 3; i++)
        jobs[i].max = 2;
    assert_int_equal(preprocess_division_divide(&division, &bounds, jobs, 3, 0), 4);
    expect_near(jobs[0].given, 1);
    expect_near(jobs[1].given, 2);
}

static void a_new_job_has_a_worker_at_once(void **state)
{
    (void)state;
    struct division division = {0};
    struct division_bounds bounds = {.max = 4};
    struct division_job jobs[] = {asking(1, 100, 50), asking(2, 1, 0)};
    jobs[1].is_new = true;
    assert_int_equal(preprocess_division_divide(&division, &bounds, jobs + 1, 1, 0), 1);
    assert_int_equal(preprocess_division_divide(&division, &bounds, jobs, 2, 0), 4);
    expect_near(jobs[0].given, 3);
    expect_near(jobs[1].given, 1);
}

static void a_pipeline_with_a_job_has_its_minimum(void **state)
{
    (void)state;
    struct division division = {0};
    struct division_bounds bounds = {.max = 8};
    struct division_job jobs[] = {asking(1, 9, 50), asking(2, 1, 0.5)};
    jobs[1].min = 3;
    assert_int_equal(preprocess_division_divide(&division, &bounds, jobs, 2, 0), 8);
    expect_near(jobs[0].given, 5);
    expect_near(jobs[1].given, 3);
}

static void an_idle_pool_shrinks_to_its_minimum_after_a_while(void **state)
{
    (void)state;
    struct division division = {0};
    struct division_bounds bounds = {.min = 1, .max = 8};
    struct division_job job = asking(1, 1, 6);
    assert_int_equal(preprocess_division_divide(&division, &bounds, &job, 1, 1000), 6);
    preprocess_division_close(&division, job.given, 2000);
    assert_int_equal(preprocess_division_divide(&division, &bounds, NULL, 0, 2000), 6);
    int64_t last_ms = 2000 + DIVISION_LINGER_MS - 1;
    assert_int_equal(preprocess_division_divide(&division, &bounds, NULL, 0, last_ms), 6);
    assert_int_equal(preprocess_division_divide(&division, &bounds, NULL, 0, last_ms + 1), 1);
}

static void the_next_run_finds_the_workers_of_the_last_one(void **state)
{
    (void)state;
    struct division division = {0};
    struct division_job job = asking(1, 1, 6);
    preprocess_division_divide(&division, &WIDE, &job, 1, 0);
    preprocess_division_close(&division, job.given, 0);
    job.asked = 1;
    assert_int_equal(preprocess_division_divide(&division, &WIDE, &job, 1, 100), 6);
    job.asked = 7;
    assert_int_equal(preprocess_division_divide(&division, &WIDE, &job, 1, 200), 7);
}

static void a_job_in_use_that_asks_for_less_has_less_at_once(void **state)
{
    (void)state;
    struct division division = {0};
    struct division_job job = asking(1, 1, 6);
    preprocess_division_divide(&division, &WIDE, &job, 1, 0);
    job.asked = 4;
    assert_int_equal(preprocess_division_divide(&division, &WIDE, &job, 1, 1), 4);
}

static void a_settled_job_asks_for_its_need_and_one_that_tries_for_its_size(void **state)
{
    (void)state;
    struct scale_decision decision = {.size = {{5, 0}}, .need = 4.3};
    expect_near(preprocess_division_asked(&decision), 5);
    decision.is_settled = true;
    expect_near(preprocess_division_asked(&decision), 4.3);
    decision.need = 2; /* below what it asks for by more than rounding: it has its reasons */
    expect_near(preprocess_division_asked(&decision), 4);
    decision.need = 9;
    expect_near(preprocess_division_asked(&decision), 5);
}

/* ---- whatever is asked for ---- */

enum { SEEDS = 2000, JOBS_MAX = 12 };

static size_t draw(struct weir_rng *rng, struct division_job *jobs)
{
    size_t count = weir_rng_below(rng, JOBS_MAX + 1);
    double shares[4];
    uint32_t mins[4], maxs[4];
    for (size_t i = 0; i < 4; i++) {
        shares[i] = 0.1 + 5 * weir_rng_unit(rng);
        maxs[i] = (uint32_t)weir_rng_below(rng, 9);
        mins[i] = (uint32_t)weir_rng_below(rng, 3);
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t pipeline = weir_rng_below(rng, 4);
        jobs[i] = asking(pipeline, shares[pipeline], 10 * weir_rng_unit(rng));
        jobs[i].min = mins[pipeline];
        jobs[i].max = maxs[pipeline];
        jobs[i].is_new = weir_rng_below(rng, 5) == 0;
    }
    return count;
}

static double given_to(const struct division_job *jobs, size_t count, uint64_t pipeline)
{
    double given = 0;
    for (size_t i = 0; i < count; i++)
        given += jobs[i].pipeline == pipeline ? jobs[i].given : 0;
    return given;
}

static void check(const struct division_bounds *bounds, const struct division_job *jobs,
                  size_t count, uint32_t size)
{
    double sum = 0;
    assert_in_range(size, bounds->min < bounds->max ? bounds->min : bounds->max, bounds->max);
    for (size_t i = 0; i < count; i++) {
        const struct division_job *job = &jobs[i];
        double given = given_to(jobs, count, job->pipeline);
        sum += job->given;
        assert_true(job->given >= 0);
        assert_true(job->max == 0 || given <= job->max + NEAR);
        for (size_t k = 0; k < count; k++) { /* who has more by share is at its minimum */
            const struct division_job *other = &jobs[k];
            double others = given_to(jobs, count, other->pipeline);
            bool has_more = others / other->share > given / job->share + NEAR;
            bool wants_more = !job->is_new && job->given + NEAR < job->asked &&
                              (job->max == 0 || given + NEAR < job->max);
            if (!has_more || !wants_more || other->pipeline == job->pipeline)
                continue;
            double due = other->min;
            double new_jobs = 0;
            for (size_t n = 0; n < count; n++)
                new_jobs += jobs[n].pipeline == other->pipeline && jobs[n].is_new;
            assert_true(others <= fmax(due, new_jobs) + NEAR);
        }
    }
    assert_true(sum <= size + 0.02); /* needs are rounded */
}

static void parts_are_fair_and_within_bounds_whatever_is_asked_for(void **state)
{
    (void)state;
    struct division division = {0};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct weir_rng rng;
        weir_rng_init(&rng, seed);
        struct division_job jobs[JOBS_MAX], again[JOBS_MAX];
        size_t count = draw(&rng, jobs);
        struct division_bounds bounds = {.min = (uint32_t)weir_rng_below(&rng, 4),
                                         .max = (uint32_t)weir_rng_below(&rng, 40)};
        if (weir_rng_below(&rng, 3) == 0 && count > 0)
            preprocess_division_close(&division, jobs[0].asked, (int64_t)seed * 1000);
        struct division copy = division;
        memcpy(again, jobs, sizeof(again));
        uint32_t size =
            preprocess_division_divide(&division, &bounds, jobs, count, (int64_t)seed * 1000);
        check(&bounds, jobs, count, size);
        assert_int_equal(
            preprocess_division_divide(&copy, &bounds, again, count, (int64_t)seed * 1000), size);
        assert_memory_equal(jobs, again, count * sizeof(*jobs));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sum_decides_and_not_each_job),
        cmocka_unit_test(a_scarce_pool_is_divided_by_share_and_what_one_leaves_the_others_have),
        cmocka_unit_test(jobs_of_one_pipeline_have_its_share_and_its_bound_together),
        cmocka_unit_test(a_new_job_has_a_worker_at_once),
        cmocka_unit_test(a_pipeline_with_a_job_has_its_minimum),
        cmocka_unit_test(an_idle_pool_shrinks_to_its_minimum_after_a_while),
        cmocka_unit_test(the_next_run_finds_the_workers_of_the_last_one),
        cmocka_unit_test(a_job_in_use_that_asks_for_less_has_less_at_once),
        cmocka_unit_test(a_settled_job_asks_for_its_need_and_one_that_tries_for_its_size),
        cmocka_unit_test(parts_are_fair_and_within_bounds_whatever_is_asked_for),
    };
    return cmocka_run_group_tests_name("division", tests, NULL, NULL);
}
