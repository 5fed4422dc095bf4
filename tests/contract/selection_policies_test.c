/* What every selection policy promises, looped over the registry with pools of every shape: distinct
 * candidates, never more than the target, none without a reason, the same choice for the same seed.
 * A new policy is tested by being in the registry; one with a required option needs a row in EXAMPLES. */
#include "core/base/memory.h"
#include "selector/policies/policy.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SAMPLES_MAX = 600, ROUNDS = 200 };

/* A pool drawn from `seed`: its size, how many classes, how skewed, how many equal times. */
struct pool {
    uint64_t ids[SAMPLES_MAX];
    int64_t times[SAMPLES_MAX];
    int64_t labels[SAMPLES_MAX];
    int64_t triggers[SAMPLES_MAX];
    uint8_t past[SAMPLES_MAX];
    size_t count;
    size_t target;
    bool bounded;
};

static void draw_pool(struct pool *pool, uint64_t seed)
{
    struct weir_rng rng;
    weir_rng_init(&rng, seed);
    pool->count = 1 + weir_rng_below(&rng, SAMPLES_MAX);
    uint64_t classes = 1 + weir_rng_below(&rng, 8);
    uint64_t skew = 1 + weir_rng_below(&rng, 20);
    uint64_t id = 0;
    for (size_t i = 0; i < pool->count; i++) {
        id += 1 + weir_rng_below(&rng, 5);
        pool->ids[i] = id;
        pool->times[i] = (int64_t)weir_rng_below(&rng, 50);
        pool->labels[i] =
            weir_rng_below(&rng, skew) ? 0 : (int64_t)weir_rng_below(&rng, classes) - 2;
    }
    for (size_t i = 0; i < pool->count; i++) {
        pool->triggers[i] = 1 + (int64_t)weir_rng_below(&rng, classes);
        pool->past[i] = (uint8_t)weir_rng_below(&rng, 4);
    }
    pool->bounded = weir_rng_below(&rng, 2);
    pool->target = pool->bounded ? 1 + weir_rng_below(&rng, pool->count) : pool->count;
}

/* Options for policies whose defaults do not do. */
static const struct {
    const char *policy;
    const char *yaml;
} EXAMPLES[] = {
    {"new_data", "{keep: newest}"},
    {"freshness", "{unused_ratio: 0.3}"},
    {"recency_weighted", "{half_life: 7us}"},
    {"reservoir", "{size: 100}"},
    {"mixture", "{over: labels, shares: {0: 3, -1: 1, 1: 0.5}}"},
};

static const char *example_of(const char *policy)
{
    for (size_t i = 0; i < WEIR_COUNT(EXAMPLES); i++)
        if (strcmp(EXAMPLES[i].policy, policy) == 0)
            return EXAMPLES[i].yaml;
    return "{}";
}

static void *example_options(const struct selection_policy *policy)
{
    WEIR_AUTO(weir_yaml) document = NULL;
    void *options = weir_calloc(1, policy->options_size + 1);
    struct weir_error err;
    assert_int_equal(
        weir_yaml_parse("example", weir_bytes_of(example_of(policy->name)), &document, &err),
        WEIR_OK);
    assert_int_equal(cfg_read(policy->options, CFG_CLOSED, weir_yaml_root(document), "selection",
                              NULL, options, &err),
                     WEIR_OK);
    const struct selection_scope scope = {0};
    if (policy->check && policy->check(weir_yaml_root(document), &scope, options, &err) != WEIR_OK)
        fail_msg("%s", err.text);
    return options;
}

static void run(const struct selection_policy *policy, const struct pool *pool, uint64_t seed,
                struct selection_output *output)
{
    void *options = example_options(policy);
    unsigned needs = policy->needs | (policy->needs_of ? policy->needs_of(options) : 0);
    const struct selection_input input = {
        .ids = pool->ids,
        .times = needs & SELECTION_NEEDS_TIMES ? pool->times : NULL,
        .labels = needs & SELECTION_NEEDS_LABELS ? pool->labels : NULL,
        .triggers = needs & SELECTION_NEEDS_TRIGGERS ? pool->triggers : NULL,
        .past = needs & SELECTION_NEEDS_PAST ? pool->past : NULL,
        .count = pool->count,
        .target = pool->target,
        .bounded = pool->bounded,
    };
    struct weir_rng rng;
    weir_rng_init(&rng, seed);
    policy->choose(options, &input, &rng, output);
    free(options);
}

static void check_promises(const struct selection_policy *policy, const struct pool *pool,
                           const struct selection_output *output)
{
    bool seen[SAMPLES_MAX] = {false};
    if (output->count > pool->target)
        fail_msg("%s: %zu chosen, at most %zu allowed", policy->name, output->count, pool->target);
    if (output->count == 0 && !output->reason[0])
        fail_msg("%s: nothing chosen, and no reason", policy->name);
    for (size_t i = 0; i < output->count; i++) {
        if (output->chosen[i] >= pool->count || seen[output->chosen[i]])
            fail_msg("%s: candidate %zu is not there or chosen twice", policy->name,
                     output->chosen[i]);
        seen[output->chosen[i]] = true;
        if (policy->weighted && !(isfinite(output->weights[i]) && output->weights[i] > 0))
            fail_msg("%s: weight %g", policy->name, (double)output->weights[i]);
    }
}

static void choices_are_distinct_bounded_and_explained(void **state)
{
    (void)state;
    for (size_t i = 0; i < selector_policy_count(); i++) {
        for (uint64_t seed = 0; seed < ROUNDS; seed++) {
            struct pool pool;
            size_t chosen[SAMPLES_MAX];
            float weights[SAMPLES_MAX];
            struct selection_output output = {.chosen = chosen, .weights = weights};
            draw_pool(&pool, seed);
            run(selector_policy_at(i), &pool, seed, &output);
            check_promises(selector_policy_at(i), &pool, &output);
        }
    }
}

static void the_same_seed_chooses_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < selector_policy_count(); i++) {
        for (uint64_t seed = 0; seed < ROUNDS; seed++) {
            struct pool pool;
            size_t first[SAMPLES_MAX];
            size_t second[SAMPLES_MAX];
            float weights[2][SAMPLES_MAX];
            struct selection_output one = {.chosen = first, .weights = weights[0]};
            struct selection_output two = {.chosen = second, .weights = weights[1]};
            draw_pool(&pool, seed);
            run(selector_policy_at(i), &pool, seed, &one);
            run(selector_policy_at(i), &pool, seed, &two);
            assert_int_equal(one.count, two.count);
            assert_memory_equal(first, second, one.count * sizeof *first);
            if (selector_policy_at(i)->weighted)
                assert_memory_equal(weights[0], weights[1], one.count * sizeof(float));
            assert_string_equal(one.reason, two.reason);
        }
    }
}

static void a_pool_of_one_is_chosen_or_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < selector_policy_count(); i++) {
        struct pool pool = {.ids = {9}, .count = 1, .target = 1};
        size_t chosen[1];
        float weights[1];
        struct selection_output output = {.chosen = chosen, .weights = weights};
        run(selector_policy_at(i), &pool, 1, &output);
        check_promises(selector_policy_at(i), &pool, &output);
    }
}

static void every_policy_is_complete_and_found_by_its_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < selector_policy_count(); i++) {
        const struct selection_policy *policy = selector_policy_at(i);
        assert_non_null(policy->choose);
        assert_non_null(policy->options);
        assert_true(strlen(policy->summary) > 10);
        assert_ptr_equal(selector_policy_find(policy->name), policy);
        assert_string_equal(selector_policy_names()[i], policy->name);
        for (const struct cfg_key *key = policy->options; key->name; key++)
            assert_non_null(key->doc);
    }
    assert_null(selector_policy_find("nothing_like_it"));
    assert_null(selector_policy_names()[selector_policy_count()]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_policy_is_complete_and_found_by_its_name),
        cmocka_unit_test(choices_are_distinct_bounded_and_explained),
        cmocka_unit_test(the_same_seed_chooses_the_same),
        cmocka_unit_test(a_pool_of_one_is_chosen_or_refused),
    };
    return cmocka_run_group_tests_name("selection policies", tests, NULL, NULL);
}
