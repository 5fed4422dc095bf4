/* Gathering outputs and writing them in id order. */
#include "trainer_client/collector.h"

#include "core/base/memory.h"
#include "core/base/utf8.h"
#include "core/wire/outputs.h"

#include <stdlib.h>
#include <string.h>

/* The columns of a collector, and how much of each a sample takes. */
enum { COLUMNS = 6 };

struct column {
    void **at;
    const void *from; /* of what is added; NULL: the column is not there */
    size_t bytes;     /* of one sample */
};

static void list_columns(struct collector *collector, const struct weir_outputs *from,
                         struct column columns[COLUMNS])
{
    const struct column all[COLUMNS] = {
        {(void **)&collector->ids, from->ids, sizeof(*from->ids)},
        {(void **)&collector->labels, from->labels, sizeof(*from->labels)},
        {(void **)&collector->groups, from->groups, sizeof(*from->groups)},
        {(void **)&collector->slices, from->slices, from->slice_columns * sizeof(*from->slices)},
        {(void **)&collector->values, from->values, from->width * sizeof(*from->values)},
        {(void **)&collector->label_values, from->label_values,
         from->label_width * sizeof(*from->label_values)},
    };
    memcpy(columns, all, sizeof(all));
}

static void add(struct collector *collector, const struct weir_outputs *from)
{
    struct column columns[COLUMNS];
    size_t count = collector->count + from->count;
    bool grows = count > collector->capacity;
    collector->capacity = grows ? count * 2 : collector->capacity;
    collector->label_width = from->label_width;
    collector->slice_columns = from->slice_columns;
    collector->label_kind = from->label_kind;
    list_columns(collector, from, columns);
    for (size_t i = 0; i < COLUMNS; i++) {
        const struct column *column = &columns[i];
        if (column->from == NULL)
            continue;
        if (grows)
            *column->at = weir_realloc(*column->at, collector->capacity, column->bytes);
        memcpy((uint8_t *)*column->at + collector->count * column->bytes, column->from,
               from->count * column->bytes);
    }
    collector->count = count;
}

void trainer_collector_add(struct collector *collector, const struct weir_batch *batch,
                           const float *values)
{
    add(collector, &(struct weir_outputs){.ids = batch->ids,
                                          .labels = batch->labels,
                                          .groups = collector->batch_groups,
                                          .slices = collector->batch_slices,
                                          .slice_columns = collector->slice_columns,
                                          .values = values,
                                          .label_values = batch->label_values,
                                          .count = batch->samples,
                                          .width = collector->width,
                                          .label_width = batch->label_width,
                                          .label_kind = (uint8_t)batch->label_type});
}

void trainer_collector_name(struct collector *collector, const char *const *names)
{
    weir_buf_clear(&collector->names);
    for (uint32_t i = 0; i < collector->width; i++) {
        char name[WEIR_OUTPUT_NAME_MAX + 1];
        weir_utf8_print(name, sizeof(name), "%s", names[i]);
        weir_buf_append(&collector->names, name, strlen(name) + 1);
    }
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

/* The samples of one column, as `places` has them; NULL stays NULL, the caller frees. */
static void *in_order(const void *column, size_t bytes, const struct place *places, size_t count)
{
    if (column == NULL)
        return NULL;
    uint8_t *ordered = weir_calloc(count + 1, bytes);
    for (size_t i = 0; i < count; i++)
        memcpy(ordered + i * bytes, (const uint8_t *)column + places[i].index * bytes, bytes);
    return ordered;
}

enum weir_status trainer_collector_write(const struct collector *collector, const char *path,
                                         struct weir_error *err)
{
    size_t count = collector->count, width = collector->width;
    WEIR_AUTO_FREE struct place *places = weir_calloc(count + 1, sizeof(*places));
    for (size_t i = 0; i < count; i++)
        places[i] = (struct place){.id = collector->ids[i], .index = i};
    qsort(places, count, sizeof(*places), compare_places);
    count = drop_repeated(places, count);
    WEIR_AUTO_FREE uint64_t *ids = in_order(collector->ids, sizeof(*ids), places, count);
    WEIR_AUTO_FREE int64_t *labels = in_order(collector->labels, sizeof(*labels), places, count);
    WEIR_AUTO_FREE int64_t *groups = in_order(collector->groups, sizeof(*groups), places, count);
    WEIR_AUTO_FREE int64_t *slices =
        in_order(collector->slices, collector->slice_columns * sizeof(*slices), places, count);
    WEIR_AUTO_FREE float *values =
        in_order(collector->values, width * sizeof(*values), places, count);
    WEIR_AUTO_FREE float *label_values = in_order(
        collector->label_values, collector->label_width * sizeof(*label_values), places, count);
    struct weir_outputs outputs = {.ids = ids,
                                   .labels = labels,
                                   .groups = groups,
                                   .slices = slices,
                                   .slice_columns = slices == NULL ? 0 : collector->slice_columns,
                                   .values = values,
                                   .label_values = label_values,
                                   .count = count,
                                   .width = width,
                                   .label_width = collector->label_width,
                                   .label_kind = collector->label_kind,
                                   .epoch = collector->epoch,
                                   .names = weir_buf_view(&collector->names)};
    return weir_outputs_write(path, &outputs, err);
}

enum weir_status trainer_collector_read(struct collector *collector, const char *path,
                                        struct weir_error *err)
{
    struct weir_outputs outputs = {0};
    enum weir_status status = weir_outputs_open(path, &outputs, err);
    if (status != WEIR_OK)
        return status;
    if (outputs.count > 0 && outputs.width != collector->width)
        status = weir_fail(err, WEIR_CORRUPT, "%s: %zu numbers a sample, expected %u", path,
                           outputs.width, collector->width);
    else if (outputs.count > 0)
        add(collector, &outputs);
    if (status == WEIR_OK && outputs.epoch > collector->epoch)
        collector->epoch = outputs.epoch;
    weir_outputs_close(&outputs);
    return status;
}

void trainer_collector_fini(struct collector *collector)
{
    free(collector->ids);
    free(collector->labels);
    free(collector->groups);
    free(collector->slices);
    free(collector->label_values);
    free(collector->values);
    weir_buf_fini(&collector->names);
    *collector = (struct collector){0};
}
