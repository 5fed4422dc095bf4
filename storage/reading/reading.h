/* An answer to `read` in the making. On the loop's thread it is planned, and told; between the two it may be read on
 * another, for all that it works on is its own. */
#ifndef WEIR_STORAGE_READING_H
#define WEIR_STORAGE_READING_H

#include "core/wire/compression.h"
#include "storage/reading/serve.h"

/* For a prefix of the requested ids. */
struct reading {
    struct sums *sums;
    size_t count; /* ids in the answer */
    uint32_t *states;
    uint64_t *lengths;
    int64_t *labels;
    uint64_t *places; /* of the samples in the payload */
    uint64_t bytes;   /* of the payload */
    uint64_t room;    /* bound of the bytes, unless the first sample alone has more */
    struct gather_range *ranges;
    size_t range_count;
    struct answer_values values;
    uint64_t epoch; /* of the plan */
    /* Of one that is read on a thread: */
    uint8_t *payload;
    size_t size;           /* of `payload`, once it is read */
    uint32_t *record_sums; /* CRC-32C, of each id */
    void *packed;          /* the payload, compressed; NULL: it is not */
    size_t packed_size;
    enum weir_compression compression;
    int64_t compress_ns;
};

/* LIMIT for more than an answer may be asked for. */
enum weir_status storage_reading_check(const struct msg_read *asked,
                                       struct weir_error *err) WEIR_MUST_USE;
/* Plans an answer; `asked` and `arena` live until it is told. Errors as storage_read(). */
enum weir_status storage_reading_plan(const struct serving *serving, const struct msg_read *asked,
                                      struct weir_arena *arena, struct reading *reading,
                                      struct weir_error *err) WEIR_MUST_USE;
/* On any thread: reads the records, and sums or compresses them. */
void storage_reading_do(struct reading *reading, const struct storage_secret *secret, bool sums,
                        enum weir_compression how);
/* Fills the answer, which borrows from `reading`, and takes the payload out of it. */
void storage_reading_tell(struct reading *reading, const struct msg_read *asked,
                          struct msg_read_is *answer, struct weir_frames *frames);
void storage_reading_end(struct reading *reading); /* zeroed is fine */

#endif
