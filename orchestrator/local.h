/* `orchestrator run` and `serve` in local mode: the platform comes up, the orchestrator opens on it, works, and both
 * go down in order. */
#ifndef ORCHESTRATOR_LOCAL_H
#define ORCHESTRATOR_LOCAL_H

#include "core/base/bytes.h"
#include "orchestrator/config/system.h"
#include "orchestrator/screen/screen.h"
#include "orchestrator/values/listen_address.h"
#include "orchestrator/watchers.h"

struct local_options {
    const char *data_dir;
    const char *pipeline_file; /* NULL: serve */
    struct weir_bytes pipeline_text;
    const struct orchestrator_system *system;
    struct screen *screen;
    struct orchestrator_workers workers;
    const struct listen_address *remote; /* for those elsewhere; NULL: they are not listened to */
    struct watchers_options watchers;
    bool hold;
    bool digests;
    bool explain;
    bool dry_run;         /* of the pipeline file */
    bool new_receipt_key; /* sign with another key from now on */
};

/* Returns the exit code. */
int orchestrator_local(const struct local_options *options);

#endif
