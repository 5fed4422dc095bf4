/* A decision of a trigger policy, made on a thread: reading what a run has said of two windows, and comparing them, may
 * take minutes. So is what comes before the run: looking for outputs that are kept, which may be large. */
#ifndef ORCHESTRATOR_PIPELINE_DECIDING_H
#define ORCHESTRATOR_PIPELINE_DECIDING_H

#include "orchestrator/pipeline/pipeline_state.h"

struct probe;
struct deciding;

/* Foundations of a decision. Policy and probe are the thread's until `done` is called. */
struct deciding_basis {
    struct trigger *policy;
    struct probe *probe;      /* measured by a run; NULL: the policy knows of no model */
    const char *outputs_path; /* of that run; NULL: it has said nothing */
};

struct decided {
    bool fires;
    json_t *decision; /* borrowed */
};

/* Called from the loop; the deciding is gone then. NULL `decided`: it failed, as `err` says. */
typedef void deciding_done_fn(struct pipeline *pipeline, const struct decided *decided,
                              const struct weir_error *err);
struct deciding *orchestrator_deciding_start(struct pipeline *pipeline,
                                             const struct deciding_basis *basis,
                                             deciding_done_fn *done);
/* Has the probe recall what is kept of its reference window. It and the policy are the thread's until `done` is called
 * from the loop; the deciding is gone then. */
typedef void recalled_fn(struct pipeline *pipeline);
struct deciding *orchestrator_deciding_recall(struct pipeline *pipeline, struct probe *probe,
                                              recalled_fn *done);
/* Gives it up; `done` is not called, and policy and probe are freed once the thread is through with them. */
void orchestrator_deciding_abandon(struct deciding *deciding, struct trigger *policy,
                                   struct probe *probe);

#endif
