/* A pipeline file of Modyn's gone through key by key. */
#ifndef CLI_MODYN_EXPLAIN_H
#define CLI_MODYN_EXPLAIN_H

#include "cli/modyn/keys.h"
#include "core/config/yaml.h"

#include <jansson.h>

/* A pipeline, and what Modyn's system file says of its dataset; nodes are borrowed from their documents. */
struct cli_modyn_pipeline {
    const struct weir_yaml_node *root;
    /* with its options, in either dialect; NULL: there is none */
    const struct weir_yaml_node *selection;
    const struct weir_yaml_node *dataset; /* in a system file, or NULL */
};

/* INVALID where the sections that every pipeline has are not there. */
enum weir_status cli_modyn_pipeline_find(const struct weir_yaml_node *root,
                                         const struct weir_yaml_node *const *systems, size_t count,
                                         struct cli_modyn_pipeline *ret_pipeline,
                                         struct weir_error *err) WEIR_MUST_USE;
/* The node at the end of names divided by dots, or NULL. */
const struct weir_yaml_node *cli_modyn_at(const struct weir_yaml_node *node, const char *path);
/* Its text, or `fallback`. */
const char *cli_modyn_text(const struct weir_yaml_node *node, const char *path,
                           const char *fallback);

/* Returns a list of {place, key, value, verdict, weir, why}, one for each key of the file; keys that share a row of
 * keys.def and follow each other are one. */
json_t *cli_modyn_explain(const struct cli_modyn_pipeline *pipeline);

#endif
