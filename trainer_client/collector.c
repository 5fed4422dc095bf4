/* Gathering outputs and writing them in id order. */
#include "trainer_client/collector.h"

#include "core/base/memory.h"
#include "core/wire/outputs.h"

#include <stdlib.h>
#include <string.h>

static void reserve(struct collector *collector, size_t more)
{
    if (collector->count + more <= collector->capacity)
        return;
    collector->capacity = (collector->count + more) * 2;
    collector->ids = weir_realloc(collector->ids, collector->capacity, sizeof(*collector->ids));
    collector->labels =
        weir_realloc(collector->labels, collector->capacity, sizeof(*collector->labels));
    collector->values = weir_realloc(collector->values, collector->capacity,
                                     collector->width * sizeof(*collector->values));
}

void collector_add(struct collector *collector, const struct weir_batch *batch, const float *values)
{
    reserve(collector, batch->samples);
    memcpy(collector->ids + collector->count, batch->ids, batch->samples * sizeof(*batch->ids));
    memcpy(collector->labels + collector->count, batch->labels,
           batch->samples * sizeof(*batch->labels));
    memcpy(collector->values + collector->count * collector->width, values,
           batch->samples * collector->width * sizeof(*values));
    collector->count += batch->samples;
}

struct place {
    uint64_t id;
    size_t index; /* in the collector */
};

static int compare_places(const void *a, const void *b)
{
    uint64_t left = ((const struct place *)a)->id, right = ((const struct place *)b)->id;
    return left < right ? -1 : left > right;
}

enum weir_status collector_write(const struct collector *collector, const char *path,
                                 struct weir_error *err)
{
    size_t count = collector->count, width = collector->width;
    WEIR_AUTO_FREE struct place *places = weir_calloc(count + 1, sizeof(*places));
    WEIR_AUTO_FREE uint64_t *ids = weir_calloc(count + 1, sizeof(*ids));
    WEIR_AUTO_FREE int64_t *labels = weir_calloc(count + 1, sizeof(*labels));
    WEIR_AUTO_FREE float *values = weir_calloc(count * width + 1, sizeof(*values));
    for (size_t i = 0; i < count; i++)
        places[i] = (struct place){.id = collector->ids[i], .index = i};
    qsort(places, count, sizeof(*places), compare_places);
    for (size_t i = 0; i < count; i++) {
        ids[i] = places[i].id;
        labels[i] = collector->labels[places[i].index];
        memcpy(values + i * width, collector->values + places[i].index * width,
               width * sizeof(*values));
    }
    struct weir_outputs outputs = {
        .ids = ids, .labels = labels, .values = values, .count = count, .width = width};
    return weir_outputs_write(path, &outputs, err);
}

void collector_fini(struct collector *collector)
{
    free(collector->ids);
    free(collector->labels);
    free(collector->values);
    *collector = (struct collector){0};
}
