/* The platform as it stands, for people's alarms: GET /metrics (measures.def), /healthz and /readyz over HTTP, on an
 * address of its own. Nothing is gathered unless somebody asks. A request waits until figures that are older than a
 * second are gathered again, but not for long: then it is told how old they are. Nothing here makes the loop wait:
 * services are asked by messages, Postgres on a thread with a connection of its own. */
#ifndef ORCHESTRATOR_MONITORING_MONITOR_H
#define ORCHESTRATOR_MONITORING_MONITOR_H

#include "core/loop/loop.h"
#include "orchestrator/monitoring/origins.h"
#include "orchestrator/processes/supervisor.h"

struct monitor;

/* Listens at `address` (loopback_address.h) from now on. `version` is fixed text. INVALID, UNSUPPORTED, IO. */
enum weir_status orchestrator_monitor_open(struct weir_loop *loop, const char *address,
                                           const char *version, struct monitor **ret_monitor,
                                           struct weir_error *err) WEIR_MUST_USE;
void orchestrator_monitor_close(struct monitor *monitor);
/* The address that is really listened at. */
const char *orchestrator_monitor_address(const struct monitor *monitor);

/* Watches these processes. */
void orchestrator_monitor_watch(struct monitor *monitor,
                                const struct orchestrator_supervisor *supervisor);
/* The orchestrator works from now on; before that it is not ready. */
void orchestrator_monitor_attach(struct monitor *monitor, const struct monitor_origins *origins);
/* Before the sources go: waits for the thread, if there is one. NULL is fine, and so is calling it again. */
void orchestrator_monitor_detach(struct monitor *monitor);

#endif
