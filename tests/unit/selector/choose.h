/* Asking one policy, its options given as YAML and the candidates as whole columns. A policy sees them in runs
 * of a few. */
#ifndef TESTS_UNIT_SELECTOR_CHOOSE_H
#define TESTS_UNIT_SELECTOR_CHOOSE_H

#include "core/base/memory.h"
#include "selector/policies/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A selection_input with the columns in one piece. */
struct given {
    const uint64_t *ids;
    const int64_t *times;
    const int64_t *labels;
    const int64_t *triggers;
    const uint8_t *past;
    size_t count;
    size_t target;
    bool bounded;
    const char *const *classes;
    size_t class_count;
    const uint64_t *datasets;
    size_t dataset_count;
    uint64_t trigger;
    uint64_t pipeline_seed;
    const struct selection_losses *losses;
    size_t run_rows; /* 0: GIVEN_RUN_ROWS */
    size_t runs_max; /* after so many runs there are no more to be had; 0: there are */
    size_t runs;
};

/* The choice, ascending; `chosen` and `weights` have room for all. */
struct picked {
    size_t *chosen;
    float *weights;
    size_t count;
    char reason[SELECTION_REASON_MAX];
    struct selection_component components[SELECTION_COMPONENTS_MAX]; /* their names are gone */
    size_t component_count;
};

enum { GIVEN_RUN_ROWS = 7 };

static inline bool given_next(void *owner, struct selection_run *run)
{
    struct given *given = owner;
    size_t first = run->first + run->count;
    size_t rows = given->run_rows > 0 ? given->run_rows : GIVEN_RUN_ROWS;
    if (first >= given->count || (given->runs_max > 0 && given->runs++ >= given->runs_max))
        return false;
    *run = (struct selection_run){
        .first = first,
        .count = given->count - first < rows ? given->count - first : rows,
        .ids = given->ids ? given->ids + first : NULL,
        .times = given->times ? given->times + first : NULL,
        .labels = given->labels ? given->labels + first : NULL,
        .triggers = given->triggers ? given->triggers + first : NULL,
        .past = given->past ? given->past + first : NULL,
    };
    return true;
}

static inline void choose_by(const struct selection_policy *policy, const void *options,
                             struct given given, uint64_t seed, struct picked *picked)
{
    const struct selection_input input = {
        .next = given_next,
        .owner = &given,
        .count = given.count,
        .target = given.target,
        .bounded = given.bounded,
        .classes = given.classes,
        .class_count = given.class_count,
        .datasets = given.datasets,
        .dataset_count = given.dataset_count,
        .trigger = given.trigger,
        .pipeline_seed = given.pipeline_seed,
        .losses = given.losses,
    };
    WEIR_AUTO_FREE uint64_t *taken = weir_calloc(given.count / 64 + 1, sizeof(*taken));
    struct selection_output output = {
        .taken = taken, .weights = picked->weights, .components = picked->components};
    struct weir_rng rng;
    weir_rng_init(&rng, seed);
    policy->choose(options, &input, &rng, &output);
    picked->count = 0;
    picked->component_count = output.component_count;
    memcpy(picked->reason, output.reason, sizeof(picked->reason));
    for (size_t i = 0; i < given.count; i++)
        if (selection_is_taken(&output, i))
            picked->chosen[picked->count++] = i;
    assert_int_equal(picked->count, output.count); /* none was taken twice */
}

/* Fills `picked` and says whether the options are good; if not, `err` says why. */
static inline bool choose_with(const char *name, const char *yaml, const struct given *given,
                               uint64_t seed, struct picked *picked, struct weir_error *err)
{
    static const char *const NAMES[] = {"clicks", "views"};
    const struct selection_policy *policy = selector_policy_find(name);
    const struct selection_scope scope = {
        .datasets = NAMES,
        .dataset_count = 2,
        .classes = given->classes,
        .class_count = given->class_count,
    };
    WEIR_AUTO(weir_yaml) document = NULL;
    WEIR_AUTO_FREE char *options = weir_calloc(1, policy->options_size + 1);
    if (weir_yaml_parse("test", weir_bytes_of(yaml), &document, err) ||
        cfg_read(policy->options, CFG_CLOSED, weir_yaml_root(document), "selection", NULL, options,
                 err) ||
        (policy->check && policy->check(weir_yaml_root(document), &scope, options, err)))
        return false;
    choose_by(policy, options, *given, seed, picked);
    return true;
}

static inline void choose(const char *name, const char *yaml, const struct given *given,
                          uint64_t seed, struct picked *picked)
{
    struct weir_error err;
    if (!choose_with(name, yaml, given, seed, picked, &err))
        fail_msg("%s", err.text);
}

#endif
