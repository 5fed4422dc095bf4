/* The most that cores can make of a job. With a file it prints the optima of the problems in it, for
 * tests/contract/optimum_scipy_test.py: a line is cores, consumers, and of each stage seconds, most, only_waits, bytes,
 * the number of pieces, and base and slope of each. */
#include "preprocess/scale/optimum.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static void expect_near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-9 * fmax(1, fabs(expected))))
        fail_msg("expected %.17g, found %.17g", expected, found);
}

static void cores_are_given_so_that_all_stages_are_equally_fast(void **state)
{
    (void)state;
    struct optimum optimum;
    struct optimum_problem problem = {
        .cores = 6, .stages = {{.seconds = 1}, {.seconds = 2}}, .stage_count = 2};
    preprocess_optimum_solve(&problem, &optimum);
    expect_near(optimum.rate, 2);
    expect_near(optimum.units[0], 2);
    expect_near(optimum.units[1], 4);
    assert_int_equal(optimum.limit, OPTIMUM_CORES);
    assert_int_equal(optimum.stage, 1);
}

static void a_sequential_stage_is_the_limit_when_there_are_cores_enough(void **state)
{
    (void)state;
    struct optimum optimum;
    struct optimum_problem problem = {
        .cores = 8, .stages = {{.seconds = 1}, {.seconds = 0.5, .most = 1}}, .stage_count = 2};
    preprocess_optimum_solve(&problem, &optimum);
    expect_near(optimum.rate, 2);
    expect_near(optimum.units[0] + optimum.units[1], 3);
    assert_int_equal(optimum.limit, OPTIMUM_STAGE);
    assert_int_equal(optimum.stage, 1);
}

static void a_disk_gives_no_more_than_it_has(void **state)
{
    (void)state;
    struct optimum optimum;
    struct optimum_problem problem = {
        .cores = 8,
        .stages = {{.only_waits = true,
                    .bytes = 10,
                    .pieces = {{0, 20}, {30, 5}, {50, 0}},
                    .piece_count = 3},
                   {.seconds = 1}},
        .stage_count = 2,
    };
    preprocess_optimum_solve(&problem, &optimum);
    expect_near(optimum.rate, 5);
    expect_near(optimum.units[0], 4); /* of the second piece: 30 + 5 * 4 */
    assert_int_equal(optimum.limit, OPTIMUM_BANDWIDTH);
    assert_int_equal(optimum.stage, 0);
}

static void consumers_are_the_limit_when_everything_else_suffices(void **state)
{
    (void)state;
    struct optimum optimum;
    struct optimum_problem problem = {
        .cores = 8, .consumers = 3, .stages = {{.seconds = 1}}, .stage_count = 1};
    preprocess_optimum_solve(&problem, &optimum);
    expect_near(optimum.rate, 3);
    assert_int_equal(optimum.limit, OPTIMUM_CONSUMERS);
    assert_string_equal(preprocess_optimum_limit_name(optimum.limit), "consumers");
}

static void a_job_that_takes_no_time_has_no_limit(void **state)
{
    (void)state;
    struct optimum optimum;
    struct optimum_problem problem = {.cores = 2, .stages = {{.seconds = 0}}, .stage_count = 1};
    preprocess_optimum_solve(&problem, &optimum);
    assert_true(isinf(optimum.rate));
    assert_int_equal(optimum.limit, OPTIMUM_NOTHING);
}

static void a_core_a_faster_disk_and_a_cache_bring_what_they_do(void **state)
{
    (void)state;
    struct optimum_otherwise otherwise;
    struct optimum_problem problem = {
        .cores = 2,
        .stages = {{.seconds = 0.5, .bytes = 100, .pieces = {{1000, 0}}, .piece_count = 1},
                   {.seconds = 1},
                   {.seconds = 0.5}},
        .stage_count = 3,
    };
    struct optimum_stage cache[3] = {{.seconds = 0.25}, {.seconds = 0.25}, {.seconds = 0.25}};
    preprocess_optimum_otherwise(&problem, cache, &otherwise);
    expect_near(otherwise.one_more_core, 1.5);
    expect_near(otherwise.reads_twice_as_fast, 2 / 1.75);
    expect_near(otherwise.cached[0], 2 / 1.75);
    expect_near(otherwise.cached[1], 2 / 0.75);
    expect_near(otherwise.cached[2], 8);
}

/* ---- for SciPy ---- */

static bool read_stage(FILE *file, struct optimum_stage *stage)
{
    int waits, pieces;
    *stage = (struct optimum_stage){0};
    if (fscanf(file, "%lf %lf %d %lf %d", &stage->seconds, &stage->most, &waits, &stage->bytes,
               &pieces) != 5 ||
        pieces < 0 || pieces > OPTIMUM_PIECES_MAX)
        return false;
    stage->only_waits = waits != 0;
    stage->piece_count = (size_t)pieces;
    for (size_t i = 0; i < stage->piece_count; i++) {
        if (fscanf(file, "%lf %lf", &stage->pieces[i].base, &stage->pieces[i].slope) != 2)
            return false;
    }
    return true;
}

static bool read_problem(FILE *file, struct optimum_problem *problem)
{
    *problem = (struct optimum_problem){0};
    if (fscanf(file, "%lf %lf %zu", &problem->cores, &problem->consumers, &problem->stage_count) !=
            3 ||
        problem->stage_count > OPTIMUM_STAGES_MAX)
        return false;
    for (size_t i = 0; i < problem->stage_count; i++) {
        if (!read_stage(file, &problem->stages[i]))
            return false;
    }
    return true;
}

static int print_optima(const char *path)
{
    FILE *file = fopen(path, "r");
    struct optimum_problem problem;
    struct optimum optimum;
    if (file == NULL)
        return 1;
    while (read_problem(file, &problem)) {
        preprocess_optimum_solve(&problem, &optimum);
        printf("%.17g %s", optimum.rate, preprocess_optimum_limit_name(optimum.limit));
        for (size_t i = 0; i < problem.stage_count; i++)
            printf(" %.17g", optimum.units[i]);
        printf("\n");
    }
    fclose(file);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cores_are_given_so_that_all_stages_are_equally_fast),
        cmocka_unit_test(a_sequential_stage_is_the_limit_when_there_are_cores_enough),
        cmocka_unit_test(a_disk_gives_no_more_than_it_has),
        cmocka_unit_test(consumers_are_the_limit_when_everything_else_suffices),
        cmocka_unit_test(a_job_that_takes_no_time_has_no_limit),
        cmocka_unit_test(a_core_a_faster_disk_and_a_cache_bring_what_they_do),
    };
    if (argc > 1)
        return print_optima(argv[1]);
    return cmocka_run_group_tests_name("optimum", tests, NULL, NULL);
}
