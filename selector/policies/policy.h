/* A selection policy decides which of the candidates of a trigger are trained on. A policy is pure:
 * no clock, file, socket, log or global generator, so the same candidates, options and seed choose
 * the same samples on any machine, at any time, however often it is asked.
 *
 * One file per policy: selection_NAME.c holds `const struct selection_policy selection_NAME`, named
 * in registry.c; docs/guides/add-a-policy.md walks through it. What the `selection` section says for
 * every policy (limit, ratio, tail_triggers, seed) is handled outside: a policy sees only the
 * candidates that are left and how many it may choose. */
#ifndef SELECTOR_POLICIES_POLICY_H
#define SELECTOR_POLICIES_POLICY_H

#include "core/base/rng.h"
#include "core/config/schema.h"

enum { SELECTION_REASON_MAX = 256 };

/* The candidates, as parallel columns in ascending order of id; all distinct, all alive. */
struct selection_input {
    const uint64_t *ids;
    const int64_t *times;  /* event time, microseconds; NULL unless the policy needs_times */
    const int64_t *labels; /* as the dataset's label kind has them; NULL unless needs_labels */
    size_t count;          /* > 0 */
    size_t target;         /* choose at most so many; 0 < target <= count */
    bool bounded;          /* the user gave a limit or a ratio; else target == count */
    const char *const
        *classes; /* declared class names: label i is classes[i]; NULL: not declared */
    size_t class_count;
};

struct selection_output {
    size_t *chosen;                    /* room for input->count indices into the columns */
    size_t count;                      /* how many were chosen; 0: see reason */
    char reason[SELECTION_REASON_MAX]; /* why nothing can be chosen: one clause, for a person */
};

struct selection_policy {
    const char *name;
    const char *summary;           /* one sentence for the reference page */
    const struct cfg_key *options; /* its own keys of the section */
    size_t options_size;
    bool needs_times;
    bool needs_labels;

    /* Required. Writes distinct indices in any order. Never more than `target`; fewer only when the
     * policy's own rule says so (balance), none only with a reason. `rng` is seeded for this trigger
     * and may be used or not. */
    void (*choose)(const void *options, const struct selection_input *input, struct weir_rng *rng,
                   struct selection_output *output);
};

/* The policy called `name`, or NULL. */
const struct selection_policy *selector_policy_find(const char *name);
/* All of them, in the order of the registry. */
size_t selector_policy_count(void);
const struct selection_policy *selector_policy_at(size_t index);
/* Their names, NULL-terminated, for suggestions. */
const char *const *selector_policy_names(void);

#endif
