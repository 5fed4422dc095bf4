/* Outputs of a run for each sample, gathered batch by batch in any order and written in id order
 * (core/wire/outputs.h). Owned by: struct trainer. */
#ifndef WEIR_TRAINER_CLIENT_COLLECTOR_H
#define WEIR_TRAINER_CLIENT_COLLECTOR_H

#include "core/base/bytes.h"
#include "core/base/error.h"

#include <weir/client.h>

/* Zero-initialised but for `width` is empty. */
struct collector {
    uint32_t width; /* floats per sample */
    uint64_t *ids;
    int64_t *labels;
    int64_t *groups;     /* NULL: no tensor says which samples belong together */
    int64_t *slices;     /* (count, slice_columns); NULL: nothing tells samples apart */
    float *label_values; /* (count, label_width); NULL: labels are no vectors */
    float *values;       /* (count, width) */
    size_t count, capacity, label_width, slice_columns;
    /* of the batch that is added next, borrowed; NULL: there are none */
    const int64_t *batch_groups;
    const int64_t *batch_slices; /* the same, of `slice_columns` */
    uint8_t label_kind;          /* enum weir_label_kind, which the client's label types are */
    uint64_t epoch;              /* newest epoch that anything was said of */
    /* of the floats, `width` texts each ended by a NUL; empty: they have none */
    struct weir_buf names;
};

/* `values` (samples, width) of the batch's samples. */
void trainer_collector_add(struct collector *collector, const struct weir_batch *batch,
                           const float *values);
/* Takes `width` names, cut to WEIR_OUTPUT_NAME_MAX bytes, in the place of earlier ones. */
void trainer_collector_name(struct collector *collector, const char *const *names);
/* Writes the outputs; of a sample that came twice, because work was done again, the last one. */
enum weir_status trainer_collector_write(const struct collector *collector, const char *path,
                                         struct weir_error *err) WEIR_MUST_USE;
/* Adds what an earlier session wrote, going on in its epoch. NOT_FOUND; CORRUPT, also when it is of another width. */
enum weir_status trainer_collector_read(struct collector *collector, const char *path,
                                        struct weir_error *err) WEIR_MUST_USE;
void trainer_collector_fini(struct collector *collector);

#endif
