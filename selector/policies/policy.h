/* Selection policies: each chooses the candidates of a trigger that are trained on. A policy is pure:
 * no clock, file, socket, log or global generator, so the same candidates, options and seed choose
 * the same samples on any machine, at any time, however often it is asked.
 *
 * One file per policy: selection_NAME.c holds `const struct selection_policy selection_NAME`, named
 * in core/wire/selection_policies.h; docs/guides/add-a-policy.md walks through it. Keys of the `selection` section for
 * every policy (limit, ratio, tail_triggers, seed) are handled outside: a policy sees only the
 * candidates that are left and the number it may choose. */
#ifndef SELECTOR_POLICIES_POLICY_H
#define SELECTOR_POLICIES_POLICY_H

#include "core/base/rng.h"
#include "core/config/plugin.h"

enum { SELECTION_REASON_MAX = 256, SELECTION_COMPONENTS_MAX = 64, SELECTION_WHY_MAX = 192 };

/* Columns that cost something; those a policy does not name are NULL. */
enum selection_need {
    SELECTION_NEEDS_TIMES = 1,
    SELECTION_NEEDS_LABELS = 2,
    SELECTION_NEEDS_TRIGGERS = 4,
    SELECTION_NEEDS_PAST = 8,
    SELECTION_NEEDS_IDS = 64,
    SELECTION_NEEDS_LOSSES = 128, /* as reported by training, see selection_losses */
};

/* Past use of a candidate in sealed sets of this pipeline's earlier triggers. */
enum selection_past {
    SELECTION_USED = 1,  /* one of them holds it */
    SELECTION_DRAWN = 2, /* one since the newest epoch began, warm-up aside: see history.h */
};

/* Earlier triggers whose samples the policy needs among the candidates. */
enum selection_tail {
    SELECTION_TAIL_ANY,
    SELECTION_TAIL_EARLIER, /* beyond this trigger: tail_triggers 0 is refused */
    SELECTION_TAIL_ALL,
};

/* Consecutive candidates as parallel columns, valid until the next run is asked for. */
struct selection_run {
    size_t first; /* index of the first one among all candidates */
    size_t count;
    const uint64_t *ids;
    const int64_t *times;    /* event time, microseconds */
    const int64_t *labels;   /* as the dataset's label kind has them */
    const int64_t *triggers; /* the trigger that brought it, from 1 */
    const uint8_t *past;     /* selection_past flags */
};

/* Losses of a policy's components, by index, reported since the shares of the trigger before were chosen. */
struct selection_losses {
    const char *model;                         /* model whose training reported; "": none yet */
    uint64_t counts[SELECTION_COMPONENTS_MAX]; /* samples that it reported a finite loss of */
    double sums[SELECTION_COMPONENTS_MAX];     /* of these losses */
    double before[SELECTION_COMPONENTS_MAX];   /* shares of the trigger before */
    bool goes_on;                              /* there was one, with the same components */
};

/* The candidates, in ascending order of id; all distinct, all alive. There may be more of them than memory
 * could hold as columns: they are gone through run by run, as often as a policy likes (SELECTION_RUNS). A reading may
 * end early, when columns cannot be read or the choice is no longer wanted: that choice is thrown away. */
struct selection_input {
    bool (*next)(void *owner, struct selection_run *run); /* moves on; false: there are no more */
    void *owner;
    size_t count;  /* > 0 */
    size_t target; /* maximum to choose; 0 < target <= count */
    bool bounded;  /* the user gave a limit or a ratio; else target == count */
    /* declared class names: label i is classes[i]; NULL: not declared */
    const char *const *classes;
    size_t class_count;
    const uint64_t *datasets; /* their numbers, in the order of the file */
    size_t dataset_count;
    uint64_t trigger;                      /* from 1 */
    uint64_t pipeline_seed;                /* the same for every trigger of the pipeline */
    const struct selection_losses *losses; /* NULL unless needed */
};

/* for (every run of the candidates) */
#define SELECTION_RUNS(input, run) \
    for (struct selection_run run = {0}; (input)->next((input)->owner, &(run));)

/* A part of the candidates that has a share of its own. */
struct selection_component {
    const char *name; /* as the options have it */
    double share;     /* all of them add up to 1 */
    uint64_t samples; /* chosen */
    uint64_t candidates;
    char why[SELECTION_WHY_MAX]; /* it has this share: one clause, for a person */
};

struct selection_output {
    uint64_t *taken;                        /* a bit for each candidate: selection_take() sets it */
    float *weights;                         /* room for `target`: of the chosen, by ascending
                                        * index; NULL unless weighted */
    size_t count;                           /* chosen candidates; 0: see reason */
    struct selection_component *components; /* room for SELECTION_COMPONENTS_MAX */
    size_t component_count;                 /* 0: the policy has no shares */
    char reason[SELECTION_REASON_MAX]; /* why nothing can be chosen: one clause, for a person */
};

static inline bool selection_is_taken(const struct selection_output *output, size_t index)
{
    return output->taken[index / 64] >> (index % 64) & 1;
}
/* Chooses the candidate of this index, once. */
static inline void selection_take(struct selection_output *output, size_t index)
{
    output->taken[index / 64] |= UINT64_C(1) << (index % 64);
    output->count++;
}

/* Names that a policy's options may mean. */
struct selection_scope {
    const char *const *datasets; /* in the order of the file */
    size_t dataset_count;
    const char *const *classes; /* as in selection_input */
    size_t class_count;
};

struct scoring_method;

/* A choice by a model's scores of the candidates. */
struct selection_scored {
    const struct scoring_method *method;
    const struct weir_yaml_node *node; /* its name in the file */
    const void *options;               /* the method's */
    bool balance;                      /* each label gets its share of the target */
    uint32_t period; /* epochs until it is chosen again within a training; 0: it is not */
    const struct weir_yaml_node *presample; /* a selection before this one; NULL: none */
    const char *from; /* the pipeline whose scores are used where it has some; NULL: only its own */
};

/* Functions of a policy that has a model score the candidates. All are required. */
struct selection_scoring {
    /* Returns how this trigger's are scored and chosen, as part of `options`; choose() serves while there is no
     * model yet. */
    const struct selection_scored *(*at_trigger)(const void *options, uint64_t trigger);
    /* Returns all that at_trigger() may return, from 0; NULL: there are no more. */
    const struct selection_scored *(*at)(const void *options, size_t index);
};

/* Functions of a policy that needs losses (SELECTION_NEEDS_LOSSES), by component. All are required. */
struct selection_reported {
    /* Writes the names of the components, borrowed from the options, into `names` (room for
     * SELECTION_COMPONENTS_MAX), and returns their number. */
    size_t (*components)(const void *options, const char **names);
    /* Returns the component of a sample, by place of its dataset in the file and label; SIZE_MAX: none. */
    size_t (*component_of)(const void *options, int64_t place, int64_t label);
};

struct selection_policy {
    CFG_PLUGIN;
    unsigned needs; /* selection_need flags */
    enum selection_tail tail;
    bool weighted; /* gives every chosen sample a weight in the loss: finite, above 0 */
    const struct selection_scoring *scoring;   /* NULL: no model is asked */
    const struct selection_reported *reported; /* NULL: no losses are needed */

    /* Optional. Checks that a table cannot express: INVALID with a place in `section`, or `options` completed. */
    enum weir_status (*check)(const struct weir_yaml_node *section,
                              const struct selection_scope *scope, void *options,
                              struct weir_error *err);
    /* Optional. Needs that depend on the checked options. */
    unsigned (*needs_of)(const void *options);
    /* Optional. Returns the share of all samples that it never chooses, in any trigger, because a model of the holdout
     * learns from them; 0: none. Its caller selects them. */
    double (*withheld)(const void *options);
    /* Optional. Writes the text of the reference page beside the options. */
    void (*describe)(struct weir_buf *out);

    /* Required. Takes distinct candidates in any order. Never more than `target`; fewer only when the
     * policy's own rule says so (balance), none only with a reason. `rng` is seeded for this trigger
     * and may be used or not. */
    void (*choose)(const void *options, const struct selection_input *input, struct weir_rng *rng,
                   struct selection_output *output);
};

CFG_REGISTRY(selector_policy, struct selection_policy, SELECTOR_POLICIES)

#endif
