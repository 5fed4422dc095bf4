/* A pipeline file from its text: sections, and whether they fit each other. */
#ifndef ORCHESTRATOR_CONFIG_PARSE_H
#define ORCHESTRATOR_CONFIG_PARSE_H

#include "orchestrator/config/config.h"

/* Parses and checks `text`; `file` is what messages call it. INVALID with as many complaints as an error has room
 * for. */
enum weir_status orchestrator_config_parse(const char *file, struct weir_bytes text,
                                           struct orchestrator_config **ret_config,
                                           struct weir_error *err) WEIR_MUST_USE;
/* The same for people: with all that is wrong, and what would only be noticed once models are trained. `site`: NULL
 * when it is not known. */
void orchestrator_config_complain(const char *file, struct weir_bytes text,
                                  const struct orchestrator_site *site,
                                  struct cfg_complaints *complaints);

#endif
