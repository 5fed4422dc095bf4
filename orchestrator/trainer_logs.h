/* The logs of trainers. Each run has one of its own, "trainer-7.log" (of its rank 1 "trainer-7.1.log"), and
 * "trainer-7.log.1" once it was long; how long a log may be is the supervisor's. */
#ifndef ORCHESTRATOR_TRAINER_LOGS_H
#define ORCHESTRATOR_TRAINER_LOGS_H

#include <stdint.h>

enum { TRAINER_LOGS_MAX = 100 }; /* runs whose logs are kept */

/* Removes the logs of all but the newest runs, the newest being `run`. A log that cannot be removed stays. */
void orchestrator_trainer_logs_remove_old(const char *folder, int64_t run);

#endif
