/* Parts of the page, each gathered from one source. For this room alone. */
#ifndef ORCHESTRATOR_MONITORING_PARTS_H
#define ORCHESTRATOR_MONITORING_PARTS_H

#include "orchestrator/monitoring/figures.h"
#include "orchestrator/monitoring/origins.h"
#include "orchestrator/processes/supervisor.h"

enum {
    MONITOR_REQUEST_MS = 2000,      /* deadline of a request to a service */
    MONITOR_FRESH_MS = 1000,        /* younger figures are shown as they are */
    MONITOR_CACHE_FRESH_MS = 10000, /* … of the cache, for which files are counted */
    MONITOR_STALE_MS = 60000,       /* older figures are no longer shown */
    MONITOR_DATASETS_MAX = 1000,
};

struct monitor_part;

/* A kind of part. */
struct monitor_source {
    const char *service; /* it comes from, for the age of its figures; NULL: that is not told */
    int64_t fresh_ms;
    size_t state_size; /* of what it keeps while it gathers */
    /* Begins to fill part->draft, and says orchestrator_monitor_part_end() once, then or later. */
    void (*begin)(struct monitor_part *part);
    /* Gives up. */
    void (*forget)(struct monitor_part *part);
};

struct monitor_part {
    const struct monitor_source *source;
    const struct monitor_origins *from;
    struct weir_loop *loop;
    void (*ended)(void *owner);
    void *owner;
    void *state;
    struct figures *draft; /* what is being gathered; NULL: nothing is */
    int64_t begun_ms;
    struct figures *shown; /* NULL: none */
    int64_t shown_ms, took_ms;
    bool is_good; /* its source worked the last time */
};

extern const struct monitor_source ORCHESTRATOR_MONITOR_HEALTH, ORCHESTRATOR_MONITOR_WORKERS,
    ORCHESTRATOR_MONITOR_CACHE, ORCHESTRATOR_MONITOR_DATASETS, ORCHESTRATOR_MONITOR_DATABASE;

/* Gathers it again, unless that is under way, or it is young enough. */
void orchestrator_monitor_part_begin(struct monitor_part *part);
/* Shows the draft from now on, if it `is_shown`; else the figures before it stay. `is_good`: the source works. */
void orchestrator_monitor_part_end(struct monitor_part *part, bool is_shown, bool is_good);
/* Gives up, and forgets all figures. */
void orchestrator_monitor_part_clear(struct monitor_part *part);

/* Figures that this process knows by itself. `origins` NULL: it is not at work yet. */
void orchestrator_monitor_own(const struct monitor_origins *origins,
                              const struct orchestrator_supervisor *supervisor,
                              struct figures *figures);

#endif
