/* Sections of a pipeline file, each good by itself, that do not fit each other. */
#ifndef ORCHESTRATOR_CONFIG_AGREEMENT_H
#define ORCHESTRATOR_CONFIG_AGREEMENT_H

#include "core/config/complaints.h"
#include "orchestrator/config/config.h"

/* The last part of parsing: adds what contradicts itself. */
void orchestrator_config_agree(const struct orchestrator_config *config,
                               struct cfg_complaints *complaints);
/* Adds what would fail, or mean nothing, once models are trained and measured. Not part of parsing: a recorded pipeline
 * goes on as it is. */
void orchestrator_config_foresee(const struct orchestrator_config *config,
                                 struct cfg_complaints *complaints);

/* Adds remarks on what a system file has to have: nobody knows of one. */
void orchestrator_config_remark_site(const struct orchestrator_config *config,
                                     struct cfg_complaints *complaints);

#endif
