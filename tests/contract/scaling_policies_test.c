/* The promises of every scaling policy (preprocess/scale/policy.h), whatever the reports say. */
#include "preprocess/scale/policy.h"

#include "core/base/memory.h"
#include "core/base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SEEDS = 60, REPORTS = 120, ROWS_MAX = 40 };

/* A report with the memory of its rows. */
struct told {
    struct scale_report report;
    struct scale_maker makers[ROWS_MAX];
    struct scale_taker takers[4];
};

/* Numbers that no sane run would have among them: nothing, next to nothing, and a great deal. */
static double odd(struct weir_rng *rng)
{
    static const double ODD[] = {0, 1e-300, 1e-9, 0.5, 1, 7, 1e6, 1e300};
    uint64_t which = weir_rng_below(rng, 2 * WEIR_COUNT(ODD));
    return which < WEIR_COUNT(ODD) ? ODD[which] : 10 * weir_rng_unit(rng);
}

static void draw_garbage(struct weir_rng *rng, struct told *told)
{
    told->report.span_s = odd(rng);
    for (size_t place = 0; place < SCALE_PLACES; place++)
        told->report.workers[place] = (uint32_t)weir_rng_below(rng, 2000);
    told->report.maker_count = weir_rng_below(rng, ROWS_MAX + 1);
    for (size_t i = 0; i < told->report.maker_count; i++) {
        told->makers[i] = (struct scale_maker){(enum scale_place)weir_rng_below(rng, SCALE_PLACES),
                                               odd(rng), odd(rng)};
    }
    told->report.taker_count = weir_rng_below(rng, WEIR_COUNT(told->takers) + 1);
    for (size_t i = 0; i < told->report.taker_count; i++)
        told->takers[i] = (struct scale_taker){odd(rng), odd(rng), odd(rng)};
}

/* A sane span of a job that needs `need` workers, beside `size` of them. */
static void draw_sane(struct weir_rng *rng, const struct scale_size *size, double need,
                      struct told *told)
{
    uint32_t workers = size->at[SCALE_POOL] + size->at[SCALE_HOST];
    uint32_t rows = workers < ROWS_MAX ? workers : ROWS_MAX;
    double noise = 0.9 + 0.2 * weir_rng_unit(rng);
    double batch_s = fmax(1, need / fmax(workers, 1)) * noise;
    told->report.span_s = 100 * batch_s;
    told->report.workers[SCALE_POOL] = size->at[SCALE_POOL];
    told->report.workers[SCALE_HOST] = size->at[SCALE_HOST];
    told->report.maker_count = rows;
    for (uint32_t i = 0; i < rows; i++) {
        enum scale_place place = i < size->at[SCALE_POOL] ? SCALE_POOL : SCALE_HOST;
        told->makers[i] = (struct scale_maker){place, 100.0 / rows, 100.0 / rows * need * noise};
    }
    told->report.taker_count = 1;
    told->takers[0] = (struct scale_taker){100, fmax(told->report.span_s - 100 * noise, 0), 1};
}

static void draw(struct weir_rng *rng, const struct scale_size *size, struct told *told)
{
    *told = (struct told){0};
    if (weir_rng_below(rng, 3) == 0)
        draw_garbage(rng, told);
    else
        draw_sane(rng, size, 1 + (double)weir_rng_below(rng, 12), told);
    told->report.makers = told->makers;
    told->report.takers = told->takers;
}

static void draw_setting(struct weir_rng *rng, struct scale_setting *setting)
{
    *setting = (struct scale_setting){0};
    for (size_t place = 0; place < SCALE_PLACES; place++) {
        setting->min.at[place] = (uint32_t)weir_rng_below(rng, 3);
        setting->max.at[place] = setting->min.at[place] + (uint32_t)weir_rng_below(rng, 20);
    }
    if (setting->max.at[SCALE_POOL] + setting->max.at[SCALE_HOST] == 0)
        setting->max.at[SCALE_POOL] = 1;
    if (weir_rng_below(rng, 2) == 0) {
        setting->trainer_hour = 5 * weir_rng_unit(rng);
        setting->worker_hour[SCALE_POOL] = weir_rng_unit(rng);
    }
}

static void check(const struct scale_policy *policy, const struct scale_setting *setting,
                  const struct scale_decision *decision)
{
    for (size_t place = 0; place < SCALE_PLACES; place++) {
        if (decision->size.at[place] < setting->min.at[place] ||
            decision->size.at[place] > setting->max.at[place])
            fail_msg("%s: %u workers are not within %u and %u", policy->name,
                     decision->size.at[place], setting->min.at[place], setting->max.at[place]);
    }
    assert_true(isfinite(decision->need) && decision->need >= 0);
    assert_non_null(decision->why);
    assert_true(strlen(decision->why) > 0);
    assert_true(decision->option_count <= SCALE_OPTIONS_MAX);
}

static void expect_equal(const struct scale_decision *a, const struct scale_decision *b)
{
    assert_memory_equal(&a->size, &b->size, sizeof(a->size));
    assert_memory_equal(&a->need, &b->need, sizeof(a->need));
    assert_string_equal(a->why, b->why);
    assert_int_equal(a->is_settled, b->is_settled);
    assert_int_equal(a->option_count, b->option_count);
    assert_memory_equal(a->options, b->options, a->option_count * sizeof(*a->options));
}

/* A run of random reports; before the report `copied` the state moves to other memory. */
static void run(const struct scale_policy *policy, uint64_t seed, size_t copied,
                struct scale_decision *ret_decisions)
{
    struct weir_rng rng;
    weir_rng_init(&rng, seed);
    struct scale_setting setting;
    draw_setting(&rng, &setting);
    void *state = weir_calloc(1, policy->state_size);
    policy->begin(state, &setting, &ret_decisions[0]);
    check(policy, &setting, &ret_decisions[0]);
    for (size_t i = 1; i < REPORTS; i++) {
        if (i == copied) {
            void *moved = weir_calloc(1, policy->state_size);
            memcpy(moved, state, policy->state_size);
            memset(state, 0xa5, policy->state_size);
            free(state);
            state = moved;
        }
        struct told told;
        draw(&rng, &ret_decisions[i - 1].size, &told);
        if (weir_rng_below(&rng, 30) == 0)
            draw_setting(&rng, &setting);
        policy->report(state, &setting, &told.report, &ret_decisions[i]);
        check(policy, &setting, &ret_decisions[i]);
    }
    free(state);
}

static void bounds_hold_and_the_same_reports_give_the_same_decisions(void **state)
{
    (void)state;
    static struct scale_decision straight[REPORTS], again[REPORTS];
    for (size_t p = 0; p < preprocess_scale_policy_count(); p++) {
        const struct scale_policy *policy = preprocess_scale_policy_at(p);
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            run(policy, seed, 0, straight);
            run(policy, seed, 1 + seed % (REPORTS - 1), again);
            for (size_t i = 0; i < REPORTS; i++)
                expect_equal(&straight[i], &again[i]);
        }
    }
}

static void the_first_decision_has_a_worker(void **state)
{
    (void)state;
    static const struct scale_setting SETTINGS[] = {{.max = {{8, 0}}},
                                                    {.max = {{0, 4}}},
                                                    {.max = {{8, 4}}},
                                                    {.min = {{1, 0}}, .max = {{1, 0}}}};
    for (size_t p = 0; p < preprocess_scale_policy_count(); p++) {
        const struct scale_policy *policy = preprocess_scale_policy_at(p);
        for (size_t i = 0; i < WEIR_COUNT(SETTINGS); i++) {
            WEIR_AUTO_FREE void *memory = weir_calloc(1, policy->state_size);
            struct scale_decision decision;
            policy->begin(memory, &SETTINGS[i], &decision);
            check(policy, &SETTINGS[i], &decision);
            assert_true(decision.size.at[SCALE_POOL] + decision.size.at[SCALE_HOST] >= 1);
        }
    }
}

/* Of a pool that is linear and does not fluctuate. */
static void more_workers_are_asked_for_while_consumers_wait(void **state)
{
    (void)state;
    struct scale_setting setting = {.max = {{16, 0}}, .trainer_hour = 5, .worker_hour = {0.1, 0}};
    for (size_t p = 0; p < preprocess_scale_policy_count(); p++) {
        const struct scale_policy *policy = preprocess_scale_policy_at(p);
        WEIR_AUTO_FREE void *memory = weir_calloc(1, policy->state_size);
        struct scale_decision decision;
        policy->begin(memory, &setting, &decision);
        for (size_t i = 0; i < 60; i++) {
            double workers = decision.size.at[SCALE_POOL], batch_s = fmax(1, 6 / workers);
            struct scale_maker maker = {SCALE_POOL, 100, 600};
            struct scale_taker taker = {100, 100 * (batch_s - 1), batch_s > 1 ? 0 : 4};
            struct scale_report report = {.span_s = 100 * batch_s,
                                          .workers = {decision.size.at[SCALE_POOL], 0},
                                          .makers = &maker,
                                          .maker_count = 1,
                                          .takers = &taker,
                                          .taker_count = 1};
            policy->report(memory, &setting, &report, &decision);
        }
        if (decision.size.at[SCALE_POOL] < 5 || decision.size.at[SCALE_POOL] > 7)
            fail_msg("%s: %u workers where 6 do", policy->name, decision.size.at[SCALE_POOL]);
    }
}

static void every_policy_is_whole(void **state)
{
    (void)state;
    assert_non_null(preprocess_scale_policy_find("rates"));
    for (size_t p = 0; p < preprocess_scale_policy_count(); p++) {
        const struct scale_policy *policy = preprocess_scale_policy_at(p);
        assert_ptr_equal(preprocess_scale_policy_find(policy->name), policy);
        assert_true(strlen(policy->summary) > 10);
        assert_non_null(policy->begin);
        assert_non_null(policy->report);
        assert_true(policy->state_size > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_policy_is_whole),
        cmocka_unit_test(the_first_decision_has_a_worker),
        cmocka_unit_test(more_workers_are_asked_for_while_consumers_wait),
        cmocka_unit_test(bounds_hold_and_the_same_reports_give_the_same_decisions),
    };
    return cmocka_run_group_tests_name("scaling_policies", tests, NULL, NULL);
}
