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

static void add(struct collector *collector, const uint64_t *ids, const int64_t *labels,
                const float *values, size_t samples)
{
    size_t at = collector->count, width = collector->width;
    reserve(collector, samples);
    memcpy(collector->ids + at, ids, samples * sizeof(*ids));
    memcpy(collector->labels + at, labels, samples * sizeof(*labels));
    memcpy(collector->values + at * width, values, samples * width * sizeof(*values));
    collector->count += samples;
}

void collector_add(struct collector *collector, const struct weir_batch *batch, const float *values)
{
    add(collector, batch->ids, batch->labels, values, batch->samples);
}

struct place {
    uint64_t id;
    size_t index; /* in the collector */
};

/* By id; of one id what was said last comes first. */
static int compare_places(const void *a, const void *b)
{
    const struct place *left = a, *right = b;
    if (left->id != right->id)
        return left->id < right->id ? -1 : 1;
    return left->index > right->index ? -1 : left->index < right->index;
}

static size_t drop_repeated(struct place *places, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || places[kept - 1].id != places[i].id)
            places[kept++] = places[i];
    return kept;
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
    count = drop_repeated(places, count);
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

enum weir_status collector_read(struct collector *collector, const char *path,
                                struct weir_error *err)
{
    struct weir_outputs outputs = {0};
    enum weir_status status = weir_outputs_open(path, &outputs, err);
    if (status != WEIR_OK)
        return status;
    if (outputs.count > 0 && outputs.width != collector->width)
        status = weir_fail(err, WEIR_CORRUPT, "%s: %zu numbers a sample, expected %u", path,
                           outputs.width, collector->width);
    else
        add(collector, outputs.ids, outputs.labels, outputs.values, outputs.count);
    weir_outputs_close(&outputs);
    return status;
}

void collector_fini(struct collector *collector)
{
    free(collector->ids);
    free(collector->labels);
    free(collector->values);
    *collector = (struct collector){0};
}
