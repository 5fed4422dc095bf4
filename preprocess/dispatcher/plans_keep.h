/* The choice of what is kept of samples, of jobs that leave it to the platform: see plan/keeping.h. Part of the plan
 * that the jobs of a pipeline file share. */
#ifndef WEIR_PREPROCESS_DISPATCHER_PLANS_KEEP_H
#define WEIR_PREPROCESS_DISPATCHER_PLANS_KEEP_H

#include "preprocess/dispatcher/plans.h"

/* Has the job keep what its plan says. When it comes, the choice is made for it, if the operators were measured by a
 * job before it. Returns true when that has changed the plan. */
bool preprocess_plans_keep(const struct plans *plans, struct dispatcher_entry *entry,
                           struct plans_row *row, int64_t now_ms);
/* Takes in what the operators of the job have cost, until that is enough to choose by. Returns true when a choice was
 * made. */
bool preprocess_plans_keep_note(const struct plans *plans, struct dispatcher_entry *entry,
                                struct plans_row *row, const struct plans_costs *costs,
                                int64_t now_ms);
/* Says what was chosen, and from what; columns in the arena. */
void preprocess_plans_keep_show(const struct dispatcher_entry *entry, const struct keeping *keeping,
                                struct weir_arena *arena, struct msg_plan_is *answer);

#endif
