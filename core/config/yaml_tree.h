/* Nodes of the tree: filled by yaml.c, read by yaml_node.c. For core/config alone. */
#ifndef WEIR_CONFIG_YAML_TREE_H
#define WEIR_CONFIG_YAML_TREE_H

#include "core/base/memory.h"
#include "core/config/yaml.h"

enum node_kind { NODE_NULL, NODE_SCALAR, NODE_SEQUENCE, NODE_MAPPING };

struct weir_yaml_node {
    const struct weir_yaml *document;
    enum node_kind kind;
    int line, column;                     /* from 1 */
    const char *text;                     /* SCALAR */
    bool is_plain;                        /* SCALAR, written without quotes */
    size_t count;                         /* elements or entries */
    const struct weir_yaml_node **keys;   /* MAPPING */
    const struct weir_yaml_node **values; /* MAPPING, SEQUENCE */
};

struct weir_yaml {
    const char *name;
    struct weir_arena *arena;
    const struct weir_yaml_node *root;
};

/* Refuses what must not reach the parser: bytes that are no text, and directives (%YAML, %TAG), one of which
 * libfyaml 0.7.12 reads for ever when the file ends inside it. */
enum weir_status weir_yaml_guard(const char *name, struct weir_bytes text,
                                 struct weir_error *err) WEIR_MUST_USE;

#endif
