/* Names that people give to pipelines, evaluations and comparisons. */
#ifndef ORCHESTRATOR_VALUES_NAME_H
#define ORCHESTRATOR_VALUES_NAME_H

#include <stdbool.h>

/* True for letters, digits, - and _, a letter or digit first. */
bool orchestrator_is_name(const char *text);

#endif
