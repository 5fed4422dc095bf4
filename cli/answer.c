/* The class that a prediction means: see answer.h. */
#include "cli/answer.h"

const char *cli_class_of(const json_t *classes, const json_t *values)
{
    size_t count = json_array_size(values), best = 0;
    if (count == 1 && json_array_size(classes) == 2)
        best = json_number_value(json_array_get(values, 0)) >= 0.5;
    else if (count < 2)
        return "";
    for (size_t i = 1; i < count; i++) {
        if (json_number_value(json_array_get(values, i)) >
            json_number_value(json_array_get(values, best)))
            best = i;
    }
    return cli_text_of(json_array_get(classes, best));
}
