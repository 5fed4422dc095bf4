/* A pipeline as the rooms below pipeline/ know it. Borrowed from the pipeline, which stays in memory as long as the
 * orchestrator. */
#ifndef ORCHESTRATOR_CONFIG_OUTLINE_H
#define ORCHESTRATOR_CONFIG_OUTLINE_H

#include "core/wire/wire.h"
#include "orchestrator/config/config.h"

struct pipeline_outline {
    int64_t id;
    const struct orchestrator_config *config;
    const char *file;
    struct weir_bytes text; /* of the file */
    struct weir_u64s
        positions; /* change sequence per dataset up to which samples count, in the order of the file */
};

#endif
