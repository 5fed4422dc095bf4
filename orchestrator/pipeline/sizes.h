/* Upper bounds of the sets of triggers, by the rules that every selection policy keeps. Pure. */
#ifndef ORCHESTRATOR_PIPELINE_SIZES_H
#define ORCHESTRATOR_PIPELINE_SIZES_H

#include "core/config/yaml.h"

#include <stddef.h>
#include <stdint.h>

/* The keys of the section `selection` that bound a set. */
struct set_sizes {
    uint64_t limit;  /* UINT64_MAX: none */
    double ratio;    /* of the candidates */
    uint64_t tail;   /* earlier triggers whose samples are candidates too; UINT64_MAX: all */
    uint64_t warmup; /* the first so many take all candidates */
};

/* Reads the section, which the selector owns and has checked. */
void orchestrator_set_sizes_read(const struct weir_yaml_node *selection,
                                 struct set_sizes *ret_sizes);
/* Returns the most samples that the set of trigger `count` holds, by the new samples of the triggers 1 to `count`.
 * Samples that are held out, erased or not wanted by the policy make it smaller. */
uint64_t orchestrator_set_sizes_at_most(const struct set_sizes *sizes, const uint64_t *samples_new,
                                        size_t count);

#endif
