/* The samples that there are, against how many a trigger waits for, and which times are evaluated how often. Pure. */
#ifndef ORCHESTRATOR_CONFIG_EXTENT_H
#define ORCHESTRATOR_CONFIG_EXTENT_H

#include "core/config/complaints.h"
#include "orchestrator/config/config.h"

#include <jansson.h>

/* `datasets` as storage/preview/look.h has them. Remarks on what never comes about in a replay, of times only where all
 * of the data was looked at; complains of evaluations on more intervals than are measured. */
void orchestrator_extent_judge(const struct orchestrator_config *config, const json_t *datasets,
                               struct cfg_complaints *complaints);

#endif
