/* The sealed sample set (C5) as a file: what the selector writes once, and dispatcher, workers and
 * orchestrator map read-only. Ids ascend strictly; weights are absent when all are 1. The digest
 * covers count, ids, weights and epoch parts alone, so the same selection has the same digest on any
 * machine.
 *
 * A set that was drawn again for every epoch has epoch parts: the members that each epoch trains on, as
 * many in each, by their index in the ids. The ids are the union of the parts, so whoever asks which
 * samples a set holds need not know of them.
 *
 *     offset 0   8 bytes  "WEIRSET1"
 *            8   u64      count
 *           16   u32      flags: 1 = weights present, 2 = sums present, 4 = epoch parts present
 *           20   u32      number of epoch parts, or 0
 *           24   16 bytes digest (XXH3-128 of count, weights flag, ids, weights; of epoch parts their
 *                         number, their length and their indices)
 *           40   u64      XXH3-64 of the 40 bytes before
 *           48   u64      samples of each epoch part, or 0
 *           56   zeros
 *           64   u64[count] ids, then f32[count] weights if present, zeros up to a multiple of 8
 *                with sums, and the sums: u64 XXH3-64 of every 65 536 ids, and of as many weights;
 *                then u32[parts * samples] indices, ascending in each part
 */
#ifndef WEIR_WIRE_SAMPLE_SET_H
#define WEIR_WIRE_SAMPLE_SET_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/memory.h"

enum {
    WEIR_SET_HEADER_BYTES = 64,
    WEIR_SET_CHECKED_BYTES = 40,
    WEIR_SET_PARTS_AT = 20,
    WEIR_SET_DIGEST_AT = 24,
    WEIR_SET_PART_SAMPLES_AT = 48,
    WEIR_SET_WEIGHTS = 1,
    WEIR_SET_SUMS = 2,
    WEIR_SET_PARTS = 4,
    WEIR_SET_SUMMED = 65536, /* ids to a sum */
};

/* Part e is of epoch e: indices[e * samples … (e + 1) * samples - 1]. Zeroed: there are none. */
struct weir_epoch_parts {
    const uint32_t *indices; /* below the set's count, ascending strictly in each part */
    uint64_t samples;        /* of each part; > 0 */
    uint32_t count;
};

static inline size_t weir_epoch_parts_bytes(const struct weir_epoch_parts *parts)
{
    return parts->count * parts->samples * sizeof(*parts->indices);
}
/* Their part of a set's digest, which comes last: nothing when there are none. */
void weir_epoch_parts_hash(const struct weir_epoch_parts *parts, struct weir_hasher *hasher);

struct weir_sample_set {
    const uint64_t *ids;
    const float *weights; /* NULL: all 1 */
    size_t count;
    struct weir_digest digest;
    const uint64_t *sums; /* NULL: the file has none */
    struct weir_epoch_parts parts;
    void *map; /* private */
    size_t map_bytes;
};

/* A set of `count` ids, which come piece by piece, so that nobody has to hold them all. `weights` are of all of
 * them, or NULL, and borrowed until the end; when all are 1 they are left out. Until it is published
 * there is PATH.tmp at most. Freed by weir_sample_set_writer_free(), which gives up what was not published. */
struct weir_sample_set_writer;
enum weir_status weir_sample_set_begin(const char *path, uint64_t count, const float *weights,
                                       struct weir_sample_set_writer **ret_writer,
                                       struct weir_error *err) WEIR_MUST_USE;
/* Sets the epoch parts, whose union are all ids of the set (required); borrowed until the end. */
void weir_sample_set_divide(struct weir_sample_set_writer *writer,
                            const struct weir_epoch_parts *parts);
/* Ascending and distinct, across all calls (required). */
enum weir_status weir_sample_set_add(struct weir_sample_set_writer *writer, const uint64_t *ids,
                                     size_t count, struct weir_error *err) WEIR_MUST_USE;
/* All were added (required): writes what is left, and fsyncs. */
enum weir_status weir_sample_set_finish(struct weir_sample_set_writer *writer,
                                        struct weir_digest *ret_digest,
                                        struct weir_error *err) WEIR_MUST_USE;
/* Gives what is finished its name, and fsyncs the directory. */
enum weir_status weir_sample_set_publish(struct weir_sample_set_writer *writer, const char *path,
                                         struct weir_error *err) WEIR_MUST_USE;
void weir_sample_set_writer_free(struct weir_sample_set_writer *writer);
WEIR_DEFINE_AUTO(weir_sample_set_writer, weir_sample_set_writer_free)

/* All at once. `ids` ascending and distinct (required). */
enum weir_status weir_sample_set_write(const char *path, const uint64_t *ids, const float *weights,
                                       size_t count, struct weir_digest *ret_digest,
                                       struct weir_error *err) WEIR_MUST_USE;
/* Maps and checks the file: CORRUPT when truncated or its digest differs. Close with
 * weir_sample_set_close(). */
enum weir_status weir_sample_set_open(const char *path, struct weir_sample_set *ret_set,
                                      struct weir_error *err) WEIR_MUST_USE;
/* Checks the header alone: what is used of the body is to be checked before. A file without sums is checked
 * whole. */
enum weir_status weir_sample_set_open_unread(const char *path, struct weir_sample_set *ret_set,
                                             struct weir_error *err) WEIR_MUST_USE;
/* Checks `count` positions from `first` on: CORRUPT when ids or weights differ from their sums, or ids do not
 * ascend. */
enum weir_status weir_sample_set_check(const struct weir_sample_set *set, size_t first,
                                       size_t count, struct weir_error *err) WEIR_MUST_USE;
void weir_sample_set_close(struct weir_sample_set *set); /* zeroed is fine */
/* Index of `id`, or -1. */
int64_t weir_sample_set_find(const struct weir_sample_set *set, uint64_t id);

#endif
