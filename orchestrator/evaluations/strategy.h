/* Which intervals of event time models are measured on. A strategy is pure: a function of its options and of the
 * models that a stream has made so far.
 *
 * One file per strategy: strategy_NAME.c holds `const struct evaluation_strategy strategy_NAME`, named in
 * strategy.c. */
#ifndef ORCHESTRATOR_EVALUATIONS_STRATEGY_H
#define ORCHESTRATOR_EVALUATIONS_STRATEGY_H

#include "core/config/plugin.h"

enum { EVALUATION_INTERVALS_MAX = 10000 };

/* Samples with from <= time < to. */
struct evaluation_interval {
    int64_t from, to;
};

struct evaluation_intervals {
    struct evaluation_interval *at;
    size_t count, capacity;
};

/* Empty ones, and those beyond EVALUATION_INTERVALS_MAX, are left out. */
void orchestrator_intervals_add(struct evaluation_intervals *intervals, int64_t from, int64_t to);
void orchestrator_intervals_fini(struct evaluation_intervals *intervals);

/* A model was trained on samples up to until_time, from after the until_time of the one before it. */
struct evaluation_model {
    const char *id;
    int64_t until_time;
    bool gone; /* it was active in its time, but can no longer be measured */
};

/* At least one model, in the order of their triggers. */
struct evaluation_stream {
    const struct evaluation_model *models;
    size_t count;
    int64_t end_time; /* of the newest sample */
    bool ended;       /* no further model comes */
};

struct evaluation_strategy {
    CFG_PLUGIN;
    size_t state_size;

    /* Required. Takes over what `options` says; `node` is the evaluation's mapping, for places in errors
     * and for what a table cannot say. `state` is `state_size` zeroed bytes, 8-aligned. */
    enum weir_status (*init)(void *state, const void *options, const struct weir_yaml_node *node,
                             struct weir_error *err);
    /* Exactly one of the two. Appends the intervals of the stream, ascending by their beginnings, or those
     * of one of its models, whatever the others are. */
    void (*intervals)(const void *state, const struct evaluation_stream *stream,
                      struct evaluation_intervals *intervals);
    void (*intervals_of)(const void *state, const struct evaluation_stream *stream, size_t model,
                         struct evaluation_intervals *intervals);
    /* Optional, beside intervals(). Number of intervals of the stream, of which that appends the newest
     * EVALUATION_INTERVALS_MAX. */
    uint64_t (*count)(const void *state, const struct evaluation_stream *stream);
    /* Optional. Releases what init() acquired. */
    void (*fini)(void *state);
};

CFG_REGISTRY(orchestrator_strategy, struct evaluation_strategy, ORCHESTRATOR_STRATEGIES)

#endif
