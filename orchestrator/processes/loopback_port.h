/* A free port of the loopback, at which processes that are started meet (torch.distributed: MASTER_PORT). */
#ifndef ORCHESTRATOR_PROCESSES_LOOPBACK_PORT_H
#define ORCHESTRATOR_PROCESSES_LOOPBACK_PORT_H

#include "core/base/error.h"

#include <stdint.h>

/* Reserves a port that nobody has: a descriptor, the caller's, that is bound and never listens. While it is open the
 * system gives the port to nobody who asks for any; who asks for this one with SO_REUSEADDR, as servers do, may bind
 * and listen beside it (socket(7): only a listening socket keeps others away). LIMIT when there is none. */
enum weir_status orchestrator_loopback_port_hold(int *ret_holder, uint16_t *ret_port,
                                                 struct weir_error *err) WEIR_MUST_USE;

#endif
