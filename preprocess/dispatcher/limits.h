/* The most that the processors at hand could make of a job, and what limits it, for people. */
#ifndef WEIR_PREPROCESS_DISPATCHER_LIMITS_H
#define WEIR_PREPROCESS_DISPATCHER_LIMITS_H

#include "preprocess/dispatcher/plans.h"

/* Fills in the limit and its rates of `answer`, which says the rest of the job's plan; "" and 0 until enough is
 * measured. */
void preprocess_limits_show(const struct dispatcher_entry *entry, const struct planning *planning,
                            struct msg_plan_is *answer);

#endif
