/* Those who look at a platform over HTTP, each at an address of its own: Prometheus (monitoring/), browsers (live/). */
#ifndef ORCHESTRATOR_WATCHERS_H
#define ORCHESTRATOR_WATCHERS_H

#include "orchestrator/live/live.h"
#include "orchestrator/monitoring/monitor.h"
#include "orchestrator/orchestrator.h"
#include "orchestrator/screen/screen.h"

struct watchers {
    struct monitor *monitor; /* NULL: there is no /metrics */
    struct live *live;       /* NULL: there is no page */
};

/* Addresses that they look at, and the version that they are told. */
struct watchers_options {
    const char *metrics;    /* address of /metrics; NULL: there is none */
    struct page_place page; /* of the live page */
    const char *version;    /* of this program */
};

/* Listens for those that the options name, and says where. */
enum weir_status orchestrator_watchers_open(struct watchers *watchers, struct weir_loop *loop,
                                            const struct watchers_options *options,
                                            struct screen *screen,
                                            struct weir_error *err) WEIR_MUST_USE;
/* The orchestrator works from now on. `postgres`: conninfo. */
void orchestrator_watchers_attach(const struct watchers *watchers, struct orchestrator *orch,
                                  const char *postgres);
/* Before it goes. */
void orchestrator_watchers_detach(const struct watchers *watchers);
void orchestrator_watchers_close(struct watchers *watchers);

#endif
