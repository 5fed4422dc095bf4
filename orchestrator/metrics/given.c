/* Labels as numbers, by what their 64 bits are. */
#include "orchestrator/metrics/given.h"

#include "core/base/memory.h"
#include "core/wire/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void read_reals(const struct weir_outputs *outputs, struct metric_given *given)
{
    given->input.label_width = 1;
    given->labels = weir_calloc(outputs->count + 1, sizeof(*given->labels));
    given->numbers = weir_calloc(outputs->count + 1, sizeof(*given->numbers));
    for (size_t i = 0; i < outputs->count; i++) {
        double label;
        memcpy(&label, &outputs->labels[i], sizeof(label));
        bool is_whole = fabs(label) < 0x1p53 && rint(label) == label;
        given->numbers[i] = label;
        given->labels[i] = is_whole ? (int64_t)label : INT64_MIN;
    }
    given->input.labels = given->labels;
    given->input.numbers = given->numbers;
}

static void read_vectors(const struct weir_outputs *outputs, struct metric_given *given)
{
    size_t count = outputs->count * outputs->label_width;
    given->input.label_width = outputs->label_width;
    given->numbers = weir_calloc(count + 1, sizeof(*given->numbers));
    for (size_t i = 0; i < count; i++)
        given->numbers[i] = (double)outputs->label_values[i];
    given->input.numbers = given->numbers;
}

void orchestrator_metric_given_open(const struct weir_outputs *outputs,
                                    struct metric_given *ret_given)
{
    struct metric_given given = {.input = {.values = outputs->values,
                                           .labels = outputs->labels,
                                           .count = outputs->count,
                                           .width = outputs->width,
                                           .groups = outputs->groups}};
    if (outputs->label_kind == WEIR_LABEL_FLOAT)
        read_reals(outputs, &given);
    else if (outputs->label_kind == WEIR_LABEL_VALUES)
        read_vectors(outputs, &given);
    *ret_given = given;
}

void orchestrator_metric_given_close(struct metric_given *given)
{
    free(given->labels);
    free(given->numbers);
    *given = (struct metric_given){.labels = NULL};
}
