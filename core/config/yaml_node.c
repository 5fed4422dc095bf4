/* Walking the tree, and complaining about a place in it. */
#include "core/config/yaml_tree.h"

#include "core/base/utf8.h"

#include <stdarg.h>
#include <string.h>

enum { MESSAGE_MAX = 400 };

enum weir_status weir_yaml_raise(const struct weir_yaml_node *node, struct weir_error *err,
                                 const char *format, ...)
{
    char text[MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    weir_utf8_print_list(text, sizeof(text), format, args);
    va_end(args);
    if (node == NULL)
        return weir_fail(err, WEIR_INVALID, "%s", text);
    return weir_fail(err, WEIR_INVALID, "%s:%d:%d: %s", node->document->name, node->line,
                     node->column, text);
}

const struct weir_yaml_node *weir_yaml_root(const struct weir_yaml *document)
{
    return document->root;
}

bool weir_yaml_is_mapping(const struct weir_yaml_node *node)
{
    return node != NULL && node->kind == NODE_MAPPING;
}

bool weir_yaml_is_scalar(const struct weir_yaml_node *node)
{
    return node != NULL && node->kind == NODE_SCALAR;
}

bool weir_yaml_is_null(const struct weir_yaml_node *node)
{
    return node != NULL && node->kind == NODE_NULL;
}

bool weir_yaml_is_mapping_if_any(const struct weir_yaml_node *node)
{
    return node == NULL || weir_yaml_is_null(node) || weir_yaml_is_mapping(node);
}

const struct weir_yaml_node *weir_yaml_get(const struct weir_yaml_node *node, const char *key)
{
    for (size_t i = 0; i < weir_yaml_pairs(node); i++) {
        if (strcmp(node->keys[i]->text, key) == 0)
            return node->values[i];
    }
    return NULL;
}

size_t weir_yaml_length(const struct weir_yaml_node *node)
{
    if (node == NULL || node->kind == NODE_NULL)
        return 0;
    return node->kind == NODE_SEQUENCE ? node->count : 1;
}

const struct weir_yaml_node *weir_yaml_at(const struct weir_yaml_node *node, size_t index)
{
    if (index >= weir_yaml_length(node))
        return NULL;
    return node->kind == NODE_SEQUENCE ? node->values[index] : node;
}

size_t weir_yaml_pairs(const struct weir_yaml_node *node)
{
    return weir_yaml_is_mapping(node) ? node->count : 0;
}

const char *weir_yaml_key(const struct weir_yaml_node *node, size_t index)
{
    return index < weir_yaml_pairs(node) ? node->keys[index]->text : NULL;
}

const struct weir_yaml_node *weir_yaml_key_node(const struct weir_yaml_node *node, size_t index)
{
    return index < weir_yaml_pairs(node) ? node->keys[index] : NULL;
}

const struct weir_yaml_node *weir_yaml_value(const struct weir_yaml_node *node, size_t index)
{
    return index < weir_yaml_pairs(node) ? node->values[index] : NULL;
}

const char *weir_yaml_text(const struct weir_yaml_node *node)
{
    return weir_yaml_is_scalar(node) ? node->text : NULL;
}

void weir_yaml_place(const struct weir_yaml_node *node, struct weir_buf *out)
{
    if (node != NULL)
        weir_buf_printf(out, "%s:%d:%d: ", node->document->name, node->line, node->column);
}
