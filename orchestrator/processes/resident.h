/* Memory that a process and what it has started hold. */
#ifndef ORCHESTRATOR_PROCESSES_RESIDENT_H
#define ORCHESTRATOR_PROCESSES_RESIDENT_H

#include <stdint.h>
#include <sys/types.h>

/* Returns the resident bytes of the processes of the session that `leader` has begun, and of their descendants; pages
 * that several share count for each. 0: it has ended, or /proc cannot be read. */
uint64_t orchestrator_resident_bytes(pid_t leader);

#endif
