/* Promises of every scoring method, looped over the registry with inputs of every shape, hostile numbers
 * among them: distinct candidates, as many as asked for, usable weights, the same choice for the same seed, and
 * an end when nobody waits now. A new method is tested by being in the registry. */
#include "core/base/memory.h"
#include "selector/scoring/scoring.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT_MAX = 80, WIDTH_MAX = 20, ROUNDS = 40 };

struct world {
    float values[COUNT_MAX * WIDTH_MAX];
    float holdout_losses[COUNT_MAX];
    int64_t labels[COUNT_MAX];
    struct scoring_input input;
};

static float draw_value(struct weir_rng *rng, uint64_t kind)
{
    static const float HOSTILE[] = {NAN, INFINITY, -INFINITY, 0, -1, 1e-45F, 3.4e38F, -0.0F};
    if (kind == 0)
        return 0.5F;
    if (kind == 1)
        return HOSTILE[weir_rng_below(rng, WEIR_COUNT(HOSTILE))];
    return (float)weir_rng_unit(rng);
}

static void draw_world(struct world *world, const struct scoring_method *method, uint64_t seed)
{
    struct weir_rng rng;
    weir_rng_init(&rng, seed);
    uint64_t kind = weir_rng_below(&rng, 4); /* all equal, hostile, or ordinary */
    size_t count = 1 + weir_rng_below(&rng, COUNT_MAX);
    size_t width = method->wants == SCORING_WANTS_NOTHING ? 0
                   : method->wants < SCORING_WANTS_PROBABILITIES
                       ? 1
                       : 1 + weir_rng_below(&rng, WIDTH_MAX);
    for (size_t i = 0; i < count * width; i++)
        world->values[i] = draw_value(&rng, kind);
    for (size_t i = 0; i < count; i++) {
        world->labels[i] = (int64_t)weir_rng_below(&rng, 5) - 2;
        world->holdout_losses[i] = draw_value(&rng, kind);
    }
    world->input = (struct scoring_input){
        .count = count,
        .width = width,
        .values = world->values,
        .holdout_losses = method->wants_holdout_loss ? world->holdout_losses : NULL,
        .labels = seed % 2 ? world->labels : NULL,
        .target = 1 + weir_rng_below(&rng, count + 4),
        .seed = seed,
        .part = (uint32_t)weir_rng_below(&rng, 4),
    };
}

/* True when the method's own rule leaves samples out: those without a share in the match. */
static bool may_choose_fewer(const struct scoring_method *method)
{
    return strcmp(method->name, "grad_match") == 0;
}

static void *defaults_of(const struct scoring_method *method)
{
    void *options = weir_calloc(1, method->options_size + 1);
    struct weir_error err;
    assert_int_equal(cfg_read(method->options, CFG_CLOSED, NULL, "selection", NULL, options, &err),
                     WEIR_OK);
    return options;
}

struct result {
    size_t chosen[COUNT_MAX];
    float weights[COUNT_MAX];
    size_t count;
};

static bool run(const struct scoring_method *method, const struct scoring_input *input,
                struct result *result)
{
    WEIR_AUTO_FREE void *options = defaults_of(method);
    memset(result, 0xff, sizeof(*result));
    struct scoring_choice choice = {result->chosen, result->weights, SIZE_MAX};
    bool is_done = selector_scoring_choose(method, options, input, &choice);
    result->count = choice.count;
    return is_done;
}

static void check(const struct scoring_method *method, const struct scoring_input *input,
                  const struct result *result)
{
    bool seen[COUNT_MAX] = {false};
    size_t wanted = input->target < input->count ? input->target : input->count;
    if (result->count > wanted || (result->count < wanted && !may_choose_fewer(method)))
        fail_msg("%s, seed %llu: %zu of %zu", method->name, (unsigned long long)input->seed,
                 result->count, wanted);
    assert_true(result->count > 0);
    for (size_t n = 0; n < result->count; n++) {
        if (result->chosen[n] >= input->count || seen[result->chosen[n]])
            fail_msg("%s, seed %llu: candidate %zu of %zu, twice or not there", method->name,
                     (unsigned long long)input->seed, result->chosen[n], input->count);
        if (!isfinite(result->weights[n]) || result->weights[n] <= 0)
            fail_msg("%s, seed %llu: weight %g", method->name, (unsigned long long)input->seed,
                     (double)result->weights[n]);
        seen[result->chosen[n]] = true;
    }
}

static void as_many_distinct_candidates_as_asked_for(void **state)
{
    (void)state;
    for (size_t m = 0; m < scoring_count(); m++) {
        for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
            struct world world;
            struct result result;
            draw_world(&world, scoring_at(m), seed);
            assert_true(run(scoring_at(m), &world.input, &result));
            check(scoring_at(m), &world.input, &result);
        }
    }
}

static void the_same_seed_chooses_the_same(void **state)
{
    (void)state;
    for (size_t m = 0; m < scoring_count(); m++) {
        for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
            struct world world;
            struct result first, second;
            draw_world(&world, scoring_at(m), seed);
            run(scoring_at(m), &world.input, &first);
            run(scoring_at(m), &world.input, &second);
            assert_memory_equal(&first, &second, sizeof(first));
        }
    }
}

static void of_nothing_nothing_is_chosen(void **state)
{
    (void)state;
    for (size_t m = 0; m < scoring_count(); m++) {
        struct world world;
        struct result result;
        draw_world(&world, scoring_at(m), 2);
        world.input.target = 0;
        assert_true(run(scoring_at(m), &world.input, &result));
        assert_int_equal(result.count, 0);
        world.input.target = 5;
        world.input.count = 0;
        assert_true(run(scoring_at(m), &world.input, &result));
        assert_int_equal(result.count, 0);
    }
}

static void a_target_beyond_the_pool_takes_all_of_it(void **state)
{
    (void)state;
    for (size_t m = 0; m < scoring_count(); m++) {
        struct world world;
        struct result result;
        draw_world(&world, scoring_at(m), 6);
        world.input.target = SIZE_MAX;
        assert_true(run(scoring_at(m), &world.input, &result));
        assert_int_equal(result.count, world.input.count);
        for (size_t i = 0; i < result.count; i++)
            assert_true(result.chosen[i] == i && result.weights[i] == 1);
    }
}

static void one_label_is_a_balance_too(void **state)
{
    (void)state;
    for (size_t m = 0; m < scoring_count(); m++) {
        struct world world;
        struct result result;
        draw_world(&world, scoring_at(m), 7);
        memset(world.labels, 0, sizeof(world.labels));
        assert_true(run(scoring_at(m), &world.input, &result));
        check(scoring_at(m), &world.input, &result);
    }
}

struct patience {
    size_t left, last;
};

static bool ask(void *owner, size_t done, size_t total)
{
    struct patience *patience = owner;
    assert_true(patience->last <= done && done <= total);
    patience->last = done;
    return patience->left-- > 0;
}

static void whoever_gives_up_is_asked_no_more(void **state)
{
    (void)state;
    for (size_t m = 0; m < scoring_count(); m++) {
        for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
            struct patience none = {0}, endless = {.left = SIZE_MAX};
            struct world world;
            struct result result;
            draw_world(&world, scoring_at(m), seed);
            world.input.progress = (struct progress){ask, &endless};
            assert_true(run(scoring_at(m), &world.input, &result));
            world.input.progress.owner = &none;
            bool was_asked = endless.left < SIZE_MAX;
            assert_true(run(scoring_at(m), &world.input, &result) == !was_asked);
            assert_true(none.left == (was_asked ? SIZE_MAX : 0));
        }
    }
}

static void every_method_is_found_by_its_name(void **state)
{
    (void)state;
    for (size_t m = 0; m < scoring_count(); m++) {
        assert_ptr_equal(scoring_find(scoring_at(m)->name), scoring_at(m));
    }
    assert_null(scoring_find("guess"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_distinct_candidates_as_asked_for),
        cmocka_unit_test(the_same_seed_chooses_the_same),
        cmocka_unit_test(of_nothing_nothing_is_chosen),
        cmocka_unit_test(a_target_beyond_the_pool_takes_all_of_it),
        cmocka_unit_test(one_label_is_a_balance_too),
        cmocka_unit_test(whoever_gives_up_is_asked_no_more),
        cmocka_unit_test(every_method_is_found_by_its_name),
    };
    return cmocka_run_group_tests_name("selector: scoring methods", tests, NULL, NULL);
}
