/* Places at which two YAML values differ, in the order of the older one, then what the newer one adds. Lists whose
 * elements all have a `name` are compared by name, other lists as a whole. */
#ifndef WEIR_CONFIG_DIFFERENCE_H
#define WEIR_CONFIG_DIFFERENCE_H

#include "core/config/yaml.h"

struct cfg_difference {
    const char *path; /* "training.optimizer.lr", "evaluation[next_day].metrics" */
    const struct weir_yaml_node *was, *is; /* NULL: it is not there */
};

/* True when both are absent, or the same values in the same form. */
bool cfg_are_equal(const struct weir_yaml_node *was, const struct weir_yaml_node *is);

typedef void cfg_difference_fn(void *owner, const struct cfg_difference *difference);

/* Calls `on_difference` for each of them; `path` is where both values stand, "" at the top. */
void cfg_differences(const char *path, const struct weir_yaml_node *was,
                     const struct weir_yaml_node *is, cfg_difference_fn *on_difference,
                     void *owner);

#endif
