/* Which model of a pipeline is the active one. Without a section `promote` each new model is, as it is stored. With it,
 * a new model waits until it and the active one were measured on the same interval; one after the other in the order of
 * their triggers, so that the same measures make the same models active. Every change and every refusal is a row. */
#ifndef ORCHESTRATOR_JUDGING_PROMOTION_H
#define ORCHESTRATOR_JUDGING_PROMOTION_H

#include "orchestrator/judging/evaluator.h"

/* Two models by one metric on one interval. */
struct promotion_case {
    bool higher_is_better;
    double not_worse_by;
    bool candidate_defined, active_defined;
    double candidate, active;
};

/* Returns true when the candidate becomes the active model. What is undefined is no reason to change anything. Pure. */
bool orchestrator_models_judge(const struct promotion_case *measured);

/* Inside a transaction: `model` is stored. It becomes active, silently, when nothing is to be compared. `active` is the
 * one until now; "": there is none. */
enum weir_status orchestrator_promotion_stored(struct context *context,
                                               struct pipeline_outline pipeline, const char *active,
                                               const char *model,
                                               struct weir_error *err) WEIR_MUST_USE;
/* Inside a transaction: `model` becomes the active one of `pipeline`, with the event that tells why. */
enum weir_status orchestrator_promote(struct context *context, int64_t pipeline, const char *model,
                                      const char *reason, struct weir_error *err) WEIR_MUST_USE;
/* The model that judging waits for. */
struct promotion_wait {
    /* the model that the newest tasks were for; NULL: none. Free with free() */
    char *requested_for;
    bool is_last; /* no more will be measured: a model that never was stays back */
};
/* Judges as many models as measures allow, and adds to `tasks` what the next one waits for: the active model on the
 * interval that the candidate was measured on. A candidate that was asked for already, in vain, stays back. */
enum weir_status orchestrator_promotions_judge(struct context *context,
                                               struct pipeline_outline pipeline,
                                               struct promotion_wait *wait,
                                               struct evaluation_tasks *tasks,
                                               struct weir_error *err) WEIR_MUST_USE;

#endif
