/* See json.h. */
#include "preprocess/operators/json.h"

enum weir_status preprocess_json_names(const struct cfg_texts *fields, const char **names,
                                       struct weir_error *err)
{
    for (size_t i = 0; i < fields->count; i++) {
        const struct weir_yaml_node *node = weir_yaml_at(fields->node, i);

        names[i] = weir_yaml_text(node);
        if (names[i] == NULL || names[i][0] == '\0')
            return weir_yaml_fail(node, err, "expected the name of a field");
    }
    return WEIR_OK;
}

bool preprocess_json_read_row(struct weir_json *json, struct operator_call *call, size_t row)
{
    size_t column;

    if (weir_json_read(json, column_row(call->in, row)))
        return true;
    const char *complaint = weir_json_complaint(json, &column);
    preprocess_operator_fail_row(call, row, "byte %zu: %s, expected one JSON object", column,
                                 complaint);
    return false;
}
