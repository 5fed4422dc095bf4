/* The parts of a system file that a pipeline is held against; NULL: whoever is given the pipeline has one of its own,
 * and looks at it then. */
#ifndef ORCHESTRATOR_CONFIG_SITE_H
#define ORCHESTRATOR_CONFIG_SITE_H

#include "orchestrator/config/prices.h"
#include "orchestrator/sharing/quotas.h"

struct orchestrator_site {
    const struct orchestrator_prices *prices;
    const struct orchestrator_sharing *sharing;
};

#endif
