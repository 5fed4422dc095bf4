/* A pipeline file in a few words, for people who read what came of it. */
#ifndef ORCHESTRATOR_CONFIG_FACTS_H
#define ORCHESTRATOR_CONFIG_FACTS_H

#include "orchestrator/config/config.h"

enum { CONFIG_FACT_BYTES_MAX = 400 };

/* Appends a section on one line, as the file has it: "policy: amount, samples: 500". The options of a program are its
 * own affair and left out. What is longer than CONFIG_FACT_BYTES_MAX ends in "…"; nothing for a section that is not
 * there. */
void orchestrator_config_put_fact(const struct orchestrator_config *config, const char *section,
                                  struct weir_buf *out);

#endif
