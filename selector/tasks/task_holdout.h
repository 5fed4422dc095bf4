/* Models of the holdout: the samples they are trained on, and their losses for the others (rho_loss). */
#ifndef SELECTOR_TASKS_TASK_HOLDOUT_H
#define SELECTOR_TASKS_TASK_HOLDOUT_H

#include "selector/scoring/scoring.h"
#include "selector/tasks/task.h"

/* Losses of some samples by models of the holdout. Zero-initialised is empty. */
struct selector_irreducible {
    float *losses;
    uint8_t *states; /* selector_score_state */
};

void selector_irreducible_fini(struct selector_irreducible *irreducible);

enum selector_readiness {
    SELECTOR_READY,      /* all models of the holdout are there */
    SELECTOR_WANTED,     /* the task's model request holds the samples to train the next one on */
    SELECTOR_IMPOSSIBLE, /* nothing is held out, or nothing of it could be trained on */
};

/* Returns whether there are models that can score `ids` (ascending), the presampled candidates. */
enum selector_readiness selector_task_hold_out(struct selector_task *task,
                                               const struct scoring_holdout *holdout,
                                               const uint64_t *ids, size_t count);
/* Finds their losses. When samples have no score yet, the task's model request holds those of one model. */
enum weir_status selector_task_find_irreducible(struct selector_task *task,
                                                const struct scoring_holdout *holdout,
                                                const uint64_t *ids, size_t count,
                                                struct selector_irreducible *ret_irreducible,
                                                struct weir_error *err) WEIR_MUST_USE;

#endif
