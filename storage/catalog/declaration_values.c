/* Labels that are vectors: see declaration_values.h. */
#include "storage/catalog/declaration_values.h"

#include <stdlib.h>
#include <string.h>

enum weir_status storage_values_declared(struct declaration *d, const struct cfg_texts *values,
                                         const char *path, struct weir_error *err)
{
    const struct weir_yaml_node *node = values->node;
    const char *type = values->count > 0 ? weir_yaml_text(weir_yaml_at(node, 0)) : "";
    const char *text = values->count == 2 ? weir_yaml_text(weir_yaml_at(node, 1)) : "";
    char *end;
    unsigned long width = strtoul(text, &end, 10);

    if ((strcmp(type, "f32") != 0 && strcmp(type, "f64") != 0) || *end != '\0' || width < 1 ||
        width > WEIR_LABEL_WIDTH_MAX)
        return weir_yaml_fail(node, err,
                              "%s.values: expected [f32, COUNT] or [f64, COUNT], with 1 to %d",
                              path, WEIR_LABEL_WIDTH_MAX);
    d->label_kind = WEIR_LABEL_VALUES;
    d->label_width = (uint32_t)width;
    d->value_type = strcmp(type, "f64") == 0 ? WEIR_F64 : WEIR_F32;
    return WEIR_OK;
}

enum weir_status storage_values_check(const struct declaration *d,
                                      const struct place_section *place,
                                      const struct weir_yaml_node *node, const char *path,
                                      struct weir_error *err)
{
    if (d->label_width == 0 && place->fields.count > 0)
        return weir_yaml_fail(weir_yaml_get(node, "fields"), err,
                              "%s.fields: expected values: [f32, %zu] beside it", path,
                              place->fields.count);
    if (d->label_width == 0)
        return WEIR_OK;
    if (place->classes != NULL || d->awaits_label || d->fields.label.from == FORMAT_FOLDER)
        return weir_yaml_fail(
            weir_yaml_get(node, "values"), err,
            "%s.values: a vector comes with its sample, from fields, an offset, a "
            "sidecar or a manifest; expected no classes, folder or updates",
            path);
    if (place->fields.count > 0 && place->fields.count != d->label_width)
        return weir_yaml_fail(weir_yaml_get(node, "fields"), err,
                              "%s.fields: found %zu names, expected %u as in values", path,
                              place->fields.count, d->label_width);
    return WEIR_OK;
}

size_t storage_declaration_value_bytes(const struct declaration *d)
{
    return d->label_width * weir_dtype_bytes(d->value_type);
}
