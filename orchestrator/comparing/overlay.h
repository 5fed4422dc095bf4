/* Sections of a YAML file laid over each other. Pure. */
#ifndef ORCHESTRATOR_COMPARING_OVERLAY_H
#define ORCHESTRATOR_COMPARING_OVERLAY_H

#include "core/config/yaml.h"

struct overlay {
    const struct weir_yaml_node *below;
    const struct weir_yaml_node *above; /* NULL: nothing */
    const char *key, *value;            /* one more pair on top; NULL: none */
};

/* Appends the section on one line, as YAML. What lies above takes the place of all below if it names a policy, a model
 * or a program; else of the keys that it has, and null takes a key out. What is no mapping is printed as it is. */
void orchestrator_overlay_print(const struct overlay *overlay, struct weir_buf *out);

#endif
