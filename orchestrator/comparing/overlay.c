/* Printing sections: see overlay.h. */
#include "orchestrator/comparing/overlay.h"

#include <string.h>

static bool replaces(const struct weir_yaml_node *above)
{
    return weir_yaml_get(above, "policy") != NULL || weir_yaml_get(above, "model") != NULL ||
           weir_yaml_get(above, "program") != NULL;
}

static void begin_pair(const char *key, size_t *count, struct weir_buf *out)
{
    weir_buf_append_text(out, (*count)++ == 0 ? "" : ", ");
    weir_yaml_print_text(key, out);
    weir_buf_append_text(out, ": ");
}

/* The pairs of `node` but for those that `covered` or the top pair has, and those that are null in an overlay. */
static void put_pairs(const struct overlay *overlay, const struct weir_yaml_node *node,
                      const struct weir_yaml_node *covered, size_t *count, struct weir_buf *out)
{
    for (size_t i = 0; i < weir_yaml_pairs(node); i++) {
        const char *key = weir_yaml_key(node, i);
        const struct weir_yaml_node *value = weir_yaml_value(node, i);
        bool is_taken_out = node == overlay->above && weir_yaml_is_null(value);
        if (is_taken_out || weir_yaml_get(covered, key) != NULL ||
            weir_str_equal(key, overlay->key))
            continue;
        begin_pair(key, count, out);
        weir_yaml_print_as_written(value, out);
    }
}

void orchestrator_overlay_print(const struct overlay *overlay, struct weir_buf *out)
{
    size_t count = 0;
    if (!weir_yaml_is_mapping(overlay->below) && overlay->above == NULL) {
        weir_yaml_print_as_written(overlay->below, out);
        return;
    }
    weir_buf_append_text(out, "{");
    if (!replaces(overlay->above))
        put_pairs(overlay, overlay->below, overlay->above, &count, out);
    put_pairs(overlay, overlay->above, NULL, &count, out);
    if (overlay->key != NULL) {
        begin_pair(overlay->key, &count, out);
        weir_yaml_print_text(overlay->value, out);
    }
    weir_buf_append_text(out, "}");
}
