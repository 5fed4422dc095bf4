/* Metrics against the labels that were really seen. */
#ifndef ORCHESTRATOR_CONFIG_LABELS_H
#define ORCHESTRATOR_CONFIG_LABELS_H

#include "core/config/complaints.h"
#include "orchestrator/config/config.h"

#include <jansson.h>

/* `labels`: as storage/preview/look.h has them; NULL: none were seen. Adds metrics that say nothing of such labels;
 * remarks, in a file that is good, labels that are all the same. */
void orchestrator_config_judge(const struct orchestrator_config *config, const json_t *labels,
                               struct cfg_complaints *complaints);

#endif
