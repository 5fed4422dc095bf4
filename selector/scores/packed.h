/* Scores as they are kept: a trainer's outputs (core/wire/outputs.h) in less than half the room.
 * Ids ascend, so each is kept as its distance from the one before, mostly in a byte; labels by
 * their distance from the least, in none when all are alike.
 *
 *     0   8 bytes "WEIRSCR1"     8  u64 count     16  u32 width     20  u32 bytes of a label: 0, 1, 2, 4, 8
 *    24   XXH3-128 of everything after byte 48   40  XXH3-64 of the 40 bytes before
 *    48   i64 least label       56  u64 bytes of all ids
 *    64   f32[count * width] values, labels, ids: the first, then distances, 7 bits a byte, the lowest first
 *
 * Integers are little-endian. */
#ifndef SELECTOR_SCORES_PACKED_H
#define SELECTOR_SCORES_PACKED_H

#include "core/wire/outputs.h"

struct scores_packed {
    struct weir_outputs outputs; /* values lie in the file, the rest beside it */
    uint64_t *ids;
    int64_t *labels;
    void *map; /* private */
    size_t map_bytes;
};

/* Writes the file by rename; the ids ascend. */
enum weir_status selector_scores_packed_write(const char *path, const struct weir_outputs *outputs,
                                              struct weir_error *err) WEIR_MUST_USE;
/* CORRUPT when truncated or a checksum differs; nothing is allocated for more samples than the file
 * has bytes of ids. */
enum weir_status selector_scores_packed_open(const char *path, struct scores_packed *ret_packed,
                                             struct weir_error *err) WEIR_MUST_USE;
void selector_scores_packed_close(struct scores_packed *packed);

#endif
