/* Messages through the pipes of a program (docs/guides/run-a-program.md): a request `exec_batch`,
 * an answer `exec_made` (core/wire/messages.def), each followed by the bytes of columns:
 *
 *     0  u32 number of the message    4  u32 bytes of the header    8  u64 bytes after the header
 *     16 the header, msgpack          then the bytes that its `sizes` count, end to end
 *
 * A column is its offsets (u32, rows + 1 of them; not if it is dense) and its values. */
#ifndef WEIR_PREPROCESS_OPERATORS_EXEC_FRAME_H
#define WEIR_PREPROCESS_OPERATORS_EXEC_FRAME_H

#include "core/wire/wire.h"
#include "preprocess/operators/operator.h"

enum { FRAME_HEAD_BYTES = 16, FRAME_PAYLOAD_BYTES_MAX = 512 << 20 };

/* Returns the size of the answer that `bytes` begins with; 0: not known yet, -1: it is no answer. */
int64_t preprocess_frame_size(struct weir_bytes bytes);

/* Some rows of a call, as a request. */
struct frame_rows {
    const struct operator_call *call;
    const uint32_t *rows; /* which, rising */
    size_t count;
};
/* Appends the request for them. */
void preprocess_frame_request(const struct frame_rows *rows, struct weir_buf *out);

/* An answer that was checked: one column of `count` rows. Borrowed from the bytes and the arena. */
struct frame_made {
    const uint32_t *states; /* of each row, enum weir_row…: see operator.h; NULL: all are OK */
    struct weir_strs reasons;
    const uint32_t *offsets; /* count + 1; NULL: dense */
    struct weir_bytes values;
};
/* Reads a whole answer for `count` rows of a column. INVALID with what was found and expected. */
enum weir_status preprocess_frame_read(struct weir_bytes answer, const struct column_about *about,
                                       size_t count, struct weir_arena *arena,
                                       struct frame_made *ret_made,
                                       struct weir_error *err) WEIR_MUST_USE;

#endif
