/* Asking one policy, its options given as YAML. */
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

/* Fills `output` and says whether the options are good; if not, `err` says why. */
static inline bool choose_with(const char *name, const char *yaml,
                               const struct selection_input *input, uint64_t seed,
                               struct selection_output *output, struct weir_error *err)
{
    static const char *const NAMES[] = {"clicks", "views"};
    const struct selection_policy *policy = selector_policy_find(name);
    const struct selection_scope scope = {
        .datasets = NAMES,
        .dataset_count = 2,
        .classes = input->classes,
        .class_count = input->class_count,
    };
    WEIR_AUTO(weir_yaml) document = NULL;
    WEIR_AUTO_FREE char *options = weir_calloc(1, policy->options_size + 1);
    if (weir_yaml_parse("test", weir_bytes_of(yaml), &document, err) ||
        cfg_read(policy->options, CFG_CLOSED, weir_yaml_root(document), "selection", NULL, options,
                 err) ||
        (policy->check && policy->check(weir_yaml_root(document), &scope, options, err)))
        return false;
    struct weir_rng rng;
    weir_rng_init(&rng, seed);
    output->count = 0;
    output->reason[0] = '\0';
    policy->choose(options, input, &rng, output);
    return true;
}

static inline void choose(const char *name, const char *yaml, const struct selection_input *input,
                          uint64_t seed, struct selection_output *output)
{
    struct weir_error err;
    if (!choose_with(name, yaml, input, seed, output, &err))
        fail_msg("%s", err.text);
}

#endif
