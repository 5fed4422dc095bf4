/* Places that an erasure has searched: the files of holders.def, by names that a person understands, with how much of
 * them was searched, what of the samples each held, and that it is gone. */
#ifndef WEIR_ORCHESTRATOR_ERASURES_PLACES_H
#define WEIR_ORCHESTRATOR_ERASURES_PLACES_H

#include "core/base/bytes.h"

#include <jansson.h>

#include <stdbool.h>

/* Places that storage counts apart, for msg_erase_search; the cluster's is last, where Postgres is Weir's own. free()
 * it. */
char *orchestrator_places_searched(bool has_cluster);

/* Returns an array of {place, files, bytes, held, gone}; empty where an older Weir has searched. `searched` is
 * msg_erase_reports.places of one erasure, `held` has for a folder {KIND: COUNT, …}, `stays` is the folder that still
 * holds some of it; NULL: none. */
json_t *orchestrator_places_json(const char *searched, json_t *held, const char *stays);

#endif
