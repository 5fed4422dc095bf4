/* Input of `weir push`: bytes of a file or pipe, taken apart into batches of whole records. Knows where in the input
 * each batch stands, so that reading can go on after it. */
#ifndef CLI_PUSH_INPUT_H
#define CLI_PUSH_INPUT_H

#include "cli/cut.h"
#include "core/base/hash.h"

enum {
    CLI_PUSH_BATCH_BYTES = 4 << 20, /* a batch is sent when it has so many */
    CLI_PUSH_RECORD_MAX = 16 << 20, /* as storage has it: a longer record is left out */
    CLI_PUSH_MARK_BYTES = 8 + 8 + WEIR_DIGEST_BYTES,
};

/* A place after whole records of the input; on the wire CLI_PUSH_MARK_BYTES. */
struct cli_push_mark {
    uint64_t bytes;            /* of the input, before it */
    uint64_t records;          /* lines or records before it */
    struct weir_digest digest; /* of these bytes */
};
void cli_push_mark_pack(const struct cli_push_mark *mark, uint8_t out[CLI_PUSH_MARK_BYTES]);
/* False when these are no such bytes. */
bool cli_push_mark_unpack(struct weir_bytes packed, struct cli_push_mark *ret_mark);

struct cli_push_batch {
    struct weir_buf payload; /* header and records */
    uint64_t first_record;   /* of the input: line from 1, or record from 0 */
    uint64_t header_records; /* records before it in the payload */
    struct cli_push_mark end;
};

struct cli_push_input;

/* Reads from `fd`, which stays the caller's; `cut` is copied. */
struct cli_push_input *cli_push_input_new(int fd, const struct cli_cut *cut);
void cli_push_input_free(struct cli_push_input *input);
WEIR_DEFINE_AUTO(cli_push_input, cli_push_input_free)

/* Reads once, which blocks unless the descriptor is readable. IO. */
enum weir_status cli_push_input_read(struct cli_push_input *input,
                                     struct weir_error *err) WEIR_MUST_USE;
/* More may be read: the input has not ended, and there is room. */
bool cli_push_input_wants(const struct cli_push_input *input);
/* Everything was read and taken. */
bool cli_push_input_is_done(const struct cli_push_input *input);
/* The next batch, when one is full or the input has ended; with `flush` as soon as there is a record. */
bool cli_push_input_take(struct cli_push_input *input, bool flush,
                         struct cli_push_batch *ret_batch);
/* Reads on to `mark`, blocking. INVALID when the input does not begin with the bytes it stands for. */
enum weir_status cli_push_input_skip(struct cli_push_input *input, const struct cli_push_mark *mark,
                                     struct weir_error *err) WEIR_MUST_USE;
/* Records that were left out because they are too long; `ret_first` is the first one's number. */
uint64_t cli_push_input_left_out(const struct cli_push_input *input, uint64_t *ret_first);

#endif
