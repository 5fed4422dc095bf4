/* The rows of a batch while it is made. */
#include "preprocess/worker/rows.h"

#include "core/base/memory.h"
#include "core/wire/sample.h"

#include <stdlib.h>

void preprocess_rows_fini(struct rows *rows)
{
    free(rows->ids);
    free(rows->labels);
    free(rows->weights);
    free(rows->samples);
    free(rows->hole_ids);
    free(rows->hole_states);
    *rows = (struct rows){0};
}

void preprocess_rows_begin(struct rows *rows, size_t most, bool has_weights)
{
    preprocess_rows_fini(rows);
    *rows = (struct rows){
        .ids = weir_realloc(NULL, most + 1, sizeof(*rows->ids)),
        .labels = weir_realloc(NULL, most + 1, sizeof(*rows->labels)),
        .weights = has_weights ? weir_realloc(NULL, most + 1, sizeof(*rows->weights)) : NULL,
        .samples = weir_realloc(NULL, most + 1, sizeof(*rows->samples)),
        .hole_ids = weir_realloc(NULL, most + 1, sizeof(*rows->hole_ids)),
        .hole_states = weir_realloc(NULL, most + 1, sizeof(*rows->hole_states)),
    };
}

void preprocess_rows_add(struct rows *rows, const struct located_sample *samples, size_t first,
                         size_t count)
{
    uint64_t *ids = rows->ids + rows->count;
    int64_t *labels = rows->labels + rows->count;
    uint32_t *places = rows->samples + rows->count;
    for (size_t i = 0; i < count; i++) {
        ids[i] = samples[i].id;
        labels[i] = samples[i].label;
        places[i] = (uint32_t)(first + i);
    }
    for (size_t i = 0; i < count && rows->weights != NULL; i++)
        rows->weights[rows->count + i] = samples[i].weight;
    rows->count += count;
}

void preprocess_rows_add_hole(struct rows *rows, uint64_t id, uint32_t state)
{
    rows->hole_ids[rows->holes] = id;
    rows->hole_states[rows->holes++] = state;
}

static void move_row(struct rows *rows, size_t to, size_t from)
{
    rows->ids[to] = rows->ids[from];
    rows->labels[to] = rows->labels[from];
    rows->samples[to] = rows->samples[from];
    if (rows->weights != NULL)
        rows->weights[to] = rows->weights[from];
}

void preprocess_rows_drop(struct rows *rows, const uint8_t *flags)
{
    static const uint32_t HOLES[] = {
        [OPERATOR_ROW_FAILED] = WEIR_SAMPLE_FAILED, [OPERATOR_ROW_FILTERED] = WEIR_SAMPLE_FILTERED};
    size_t left = 0;
    for (size_t i = 0; i < rows->count; i++) {
        if (flags[i] == OPERATOR_ROW_OK)
            move_row(rows, left++, i);
        else
            preprocess_rows_add_hole(rows, rows->ids[i], HOLES[flags[i]]);
    }
    rows->count = left;
}
