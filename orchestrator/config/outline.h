/* A pipeline as the rooms below pipeline/ know it. Borrowed from the pipeline, which stays in memory as long as the
 * orchestrator. */
#ifndef ORCHESTRATOR_CONFIG_OUTLINE_H
#define ORCHESTRATOR_CONFIG_OUTLINE_H

#include "core/wire/wire.h"
#include "orchestrator/config/config.h"

/* A file that the pipeline had before another one was applied. */
struct pipeline_edition {
    struct pipeline_edition *before; /* NULL: it was the first */
    int64_t until;                   /* the newest trigger that was made with it; 0: none was */
    char *file;
    struct weir_buf text;
    struct orchestrator_config *config;
};

struct pipeline_outline {
    int64_t id;
    const struct pipeline_edition *before; /* newest first; NULL: it has had one file */
    const struct orchestrator_config *config;
    const char *tenant; /* "": none */
    const char *file;
    struct weir_bytes text; /* of the file */
    /* change sequence per dataset up to which samples count, in the order of the file */
    struct weir_u64s positions;
};

/* The same with the file that models of this trigger are made and used with. */
struct pipeline_outline orchestrator_outline_at(struct pipeline_outline outline, int64_t trigger);

#endif
