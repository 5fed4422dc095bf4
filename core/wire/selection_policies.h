/* The selection policies there are. To add one: write selector/policies/selection_NAME.c and name it here. The
 * orchestrator chooses ahead of time with those that need no model, so both services read this list. */
#ifndef WEIR_WIRE_SELECTION_POLICIES_H
#define WEIR_WIRE_SELECTION_POLICIES_H

// clang-format off

/* A choice depends on samples, earlier sets and the seed alone. */
#define SELECTION_POLICIES_WITHOUT_MODEL(X) \
    X(new_data) X(freshness) \
    X(random) X(random_without_replacement) X(recency_weighted) X(reservoir) \
    X(label_balanced) X(trigger_balanced)

/* A choice may depend on what a model says of the samples, or on its losses in training. */
#define SELECTION_POLICIES_WITH_MODEL(X) \
    X(mixture) X(coreset)

// clang-format on

#define SELECTION_POLICIES(X) SELECTION_POLICIES_WITHOUT_MODEL(X) SELECTION_POLICIES_WITH_MODEL(X)

#endif
