/* Results of a run for each sample (evaluate, score, embed, predict), as a file the trainer writes
 * by rename and the orchestrator maps: ids, labels and `width` floats per sample, in id order.
 *
 *     0   8 bytes "WEIROUT1"     8  u64 count     16  u32 width     20  u8 weir_label_kind
 *    21   u8 1: groups are there, + 2 * slice columns
 *    22   u16 numbers of a label that is a vector, else 0
 *    24   XXH3-128 of everything after byte 64   40  XXH3-64 of the 40 bytes before, seeded by the epoch
 *    48   u64 bytes of the names below, else 0    56  u64 epoch of a training, else 0
 *    64   u64[count] ids, i64[count] labels, i64[count] groups if there,
 *         i64[count * slice columns], f32[count * width] values,
 *         f32[count * numbers] labels that are vectors,
 *         names of the values, `width` texts in UTF-8, each ended by a NUL
 */
#ifndef WEIR_WIRE_OUTPUTS_H
#define WEIR_WIRE_OUTPUTS_H

#include "core/base/bytes.h"
#include "core/base/error.h"

enum { WEIR_OUTPUTS_SLICES_MAX = 7 };

struct weir_outputs {
    const uint64_t *ids;
    const int64_t *labels;
    const int64_t *groups; /* samples of a group are ranked against each other; NULL: none */
    /* (count, slice_columns): values that samples are sliced by; NULL: none */
    const int64_t *slices;
    const float *values;       /* (count, width) */
    const float *label_values; /* (count, label_width); NULL: labels are no vectors */
    size_t count;
    size_t width;
    size_t label_width;
    size_t slice_columns;    /* at most WEIR_OUTPUTS_SLICES_MAX */
    uint8_t label_kind;      /* enum weir_label_kind; NONE reads as INT */
    uint64_t epoch;          /* of a training that is reported on; else 0 */
    struct weir_bytes names; /* of the values, `width` texts each ended by a NUL; empty: none */
    void *map;               /* private */
    size_t map_bytes;
};

enum weir_status weir_outputs_write(const char *path, const struct weir_outputs *outputs,
                                    struct weir_error *err) WEIR_MUST_USE;
/* CORRUPT when truncated or its checksum differs; IO where `path` is a symbolic link. */
enum weir_status weir_outputs_open(const char *path, struct weir_outputs *ret_outputs,
                                   struct weir_error *err) WEIR_MUST_USE;
void weir_outputs_close(struct weir_outputs *outputs);

#endif
