/* The `selection` section of a pipeline file, and the class names that its policy may need: read,
 * checked, printed, documented. */
#ifndef SELECTOR_PIPELINES_SECTION_H
#define SELECTOR_PIPELINES_SECTION_H

#include "core/config/sections.h"
#include "selector/pipelines/holdout.h"
#include "selector/policies/policy.h"

struct selector_section {
    const struct selection_policy *policy;
    void *options;   /* the policy's own, in `memory` */
    uint64_t limit;  /* UINT64_MAX: none */
    double ratio;    /* of the candidates, in (0, 1] */
    unsigned needs;  /* selection_need flags of policy and options */
    uint64_t warmup; /* the first triggers take all candidates */
    uint64_t tail;   /* earlier triggers whose samples are candidates too; UINT64_MAX: all */
    uint64_t seed;
    bool reported;   /* training reports the losses of samples, as `training` says */
    uint64_t epochs; /* passes over each set, as `training` says */
    struct cfg_batch_then_sample in_batch; /* the trainer's, to be shown */
    int64_t keep_us;      /* time that sets of no trigger stay after they were last asked for */
    const char **classes; /* declared class names, in order; NULL: none declared */
    size_t class_count;
    const char **dataset_names; /* in the order of the file; "": nothing is selected from it */
    struct selector_holdout *holdouts; /* the same */
    bool *are_selected;                /* the same: training sets are chosen from its samples */
    struct selector_holdout withheld;  /* samples that the policy never chooses */
    size_t dataset_count;
    const char *unlabelled;             /* the first dataset that declares no label, or NULL */
    const char *vectors;                /* a dataset whose labels are vectors; NULL: none */
    struct selector_section *presample; /* the choice before a model scores; NULL: all */
    void *memory;                       /* private */
};

/* INVALID with places. `root` is the whole file and outlives the section. */
enum weir_status selector_section_read(const struct weir_yaml_node *root,
                                       struct selector_section **ret_section,
                                       struct weir_error *err) WEIR_MUST_USE;
void selector_section_free(struct selector_section *section);
WEIR_DEFINE_AUTO(selector_section, selector_section_free)

/* Returns how candidates of this trigger are scored, as part of the section; NULL: no model is asked. */
const struct selection_scored *selector_section_scored(const struct selector_section *section,
                                                       uint64_t trigger);

/* Implement --check-config, --print-config and --describe-config of the service. */
enum weir_status selector_section_check(const struct weir_yaml_node *root, struct weir_error *err);
enum weir_status selector_section_print(const struct weir_yaml_node *root, struct weir_buf *out,
                                        struct weir_error *err);
void selector_section_describe(struct weir_buf *out);

#endif
