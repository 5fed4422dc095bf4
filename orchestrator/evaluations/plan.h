/* Which model is measured on which interval: intervals of a strategy times models of a stream. Pure.
 *
 * At the beginning of an interval the *active* model is the newest one that was trained on nothing from then on; the
 * *trained* model is its successor, which has learnt from the interval. Measuring one of the two on every interval
 * makes a curve of the pipeline as a whole; `matrix` is every model on every interval. */
#ifndef ORCHESTRATOR_EVALUATIONS_PLAN_H
#define ORCHESTRATOR_EVALUATIONS_PLAN_H

#include "orchestrator/evaluations/strategy.h"

/* Bits: several may be asked for. A strategy with intervals of each model takes no other choice. */
enum evaluation_models {
    MODELS_NEXT = 1, /* each model on the first interval that begins after its newest sample */
    MODELS_ACTIVE = 2,
    MODELS_TRAINED = 4,
    MODELS_MATRIX = 8,
};

/* The part of a plan that is wanted now. A task is left out while its interval is not over, and unless its model is one
 * of the newer ones or its interval ended lately; which model was active in an interval is left open until a model ends
 * after its beginning. */
struct evaluation_scope {
    size_t first_model; /* this model and later ones */
    int64_t over_since; /* intervals that end after this */
    int64_t now;        /* and not after this */
};

struct evaluation_request {
    const struct evaluation_strategy *strategy;
    const void *state;
    unsigned models; /* enum evaluation_models */
};

/* Number of intervals that the request has on the stream, of which the newest EVALUATION_INTERVALS_MAX are planned. */
uint64_t orchestrator_plan_count(const struct evaluation_request *request,
                                 const struct evaluation_stream *stream);

/* `model` is an index in the stream. No pair is reported twice. */
typedef void evaluation_planned_fn(void *owner, size_t model, struct evaluation_interval interval);
void orchestrator_plan(const struct evaluation_request *request,
                       const struct evaluation_stream *stream, const struct evaluation_scope *scope,
                       evaluation_planned_fn *planned, void *owner);

#endif
