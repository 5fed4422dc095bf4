/* Input of `weir push`: see push_input.h. */
#include "cli/push_input.h"

#include "core/base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 1 << 20 };

struct cli_push_input {
    int fd;
    struct cli_cut cut;
    bool has_ended;
    bool is_skipping; /* the rest of a record that is too long */
    struct weir_buf header;
    struct weir_buf buffer;     /* the header, then bytes that are not taken yet */
    struct cli_push_mark mark;  /* where they begin */
    struct weir_hasher *hasher; /* of all before */
    uint64_t left_out, first_left_out;
};

/* ---- marks ---- */

void cli_push_mark_pack(const struct cli_push_mark *mark, uint8_t out[CLI_PUSH_MARK_BYTES])
{
    weir_put_u64(out, mark->bytes);
    weir_put_u64(out + 8, mark->records);
    memcpy(out + 16, mark->digest.bytes, WEIR_DIGEST_BYTES);
}

bool cli_push_mark_unpack(struct weir_bytes packed, struct cli_push_mark *ret_mark)
{
    if (packed.size != CLI_PUSH_MARK_BYTES)
        return false;
    ret_mark->bytes = weir_get_u64(packed.at);
    ret_mark->records = weir_get_u64(packed.at + 8);
    memcpy(ret_mark->digest.bytes, packed.at + 16, WEIR_DIGEST_BYTES);
    return true;
}

/* ---- life ---- */

struct cli_push_input *cli_push_input_new(int fd, const struct cli_cut *cut)
{
    struct cli_push_input *input = weir_calloc(1, sizeof(*input));
    input->fd = fd;
    input->cut = *cut;
    input->hasher = weir_hasher_new();
    return input;
}

void cli_push_input_free(struct cli_push_input *input)
{
    if (input == NULL)
        return;
    weir_hasher_free(input->hasher);
    weir_buf_fini(&input->header);
    weir_buf_fini(&input->buffer);
    free(input);
}

/* ---- reading ---- */

static bool needs_header(const struct cli_push_input *input)
{
    return input->cut.has_header && input->header.size == 0;
}

static struct weir_bytes waiting(const struct cli_push_input *input)
{
    struct weir_bytes all = weir_buf_view(&input->buffer);

    return all.size == 0 ? all
                         : weir_bytes(all.at + input->header.size, all.size - input->header.size);
}

/* Moves the mark over the first `size` bytes that wait. */
static void pass(struct cli_push_input *input, size_t size)
{
    struct weir_bytes passed = weir_bytes(waiting(input).at, size);
    weir_hasher_add(input->hasher, passed.at, passed.size);
    input->mark.bytes += size;
    input->mark.records += cli_cut_count(&input->cut, passed);
    input->mark.digest = weir_hasher_digest(input->hasher);
}

/* Forgets the first `size` bytes that wait. */
static void drop(struct cli_push_input *input, size_t size)
{
    struct weir_bytes all = waiting(input);
    memmove(input->buffer.at + input->header.size, all.at + size, all.size - size);
    input->buffer.size -= size;
}

/* The first record goes to the front of every batch. */
static void take_header(struct cli_push_input *input)
{
    size_t size = input->cut.first;
    if (size == 0 && input->has_ended)
        size = input->buffer.size;
    if (size == 0)
        return;
    pass(input, size);
    weir_buf_append(&input->header, input->buffer.at, size);
    cli_cut_begin(&input->cut, size);
    cli_cut_scan(&input->cut, weir_buf_view(&input->buffer));
}

static void note_too_long(struct cli_push_input *input)
{
    uint64_t number = input->mark.records + (cli_cut_counts_lines(&input->cut) ? 1 : 0);
    if (input->left_out == 0)
        input->first_left_out = number;
    input->left_out++;
    input->is_skipping = true;
}

/* A record that is too long is dropped piece by piece, up to the next line break. */
static void skip_too_long(struct cli_push_input *input)
{
    struct weir_bytes all = waiting(input);
    if (!input->is_skipping && input->cut.last == 0 && all.size > CLI_PUSH_RECORD_MAX)
        note_too_long(input);
    if (!input->is_skipping)
        return;
    const uint8_t *end = all.size > 0 ? memchr(all.at, '\n', all.size) : NULL;
    size_t size = end != NULL ? (size_t)(end - all.at) + 1 : all.size;
    pass(input, size);
    drop(input, size);
    input->is_skipping = end == NULL;
    cli_cut_begin(&input->cut, input->header.size);
    cli_cut_scan(&input->cut, weir_buf_view(&input->buffer));
}

enum weir_status cli_push_input_read(struct cli_push_input *input, struct weir_error *err)
{
    struct weir_buf *buffer = &input->buffer;
    weir_buf_reserve(buffer, READ_BYTES);
    ssize_t got = read(input->fd, buffer->at + buffer->size, READ_BYTES);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return WEIR_OK;
    if (got < 0)
        return weir_fail(err, WEIR_IO, "the input cannot be read: %s", strerror(errno));
    buffer->size += (size_t)got;
    input->has_ended = got == 0;
    cli_cut_scan(&input->cut, weir_buf_view(buffer));
    if (needs_header(input))
        take_header(input);
    skip_too_long(input);
    return WEIR_OK;
}

bool cli_push_input_wants(const struct cli_push_input *input)
{
    return !input->has_ended &&
           (waiting(input).size < CLI_PUSH_BATCH_BYTES || input->cut.last == 0);
}

bool cli_push_input_is_done(const struct cli_push_input *input)
{
    return input->has_ended && waiting(input).size == 0;
}

bool cli_push_input_take(struct cli_push_input *input, bool flush, struct cli_push_batch *ret_batch)
{
    struct weir_bytes all = waiting(input);
    size_t size = input->has_ended      ? all.size
                  : input->cut.last > 0 ? input->cut.last - input->header.size
                                        : 0;
    if (size == 0 || needs_header(input) ||
        !(flush || input->has_ended || all.size >= CLI_PUSH_BATCH_BYTES))
        return false;
    bool counts_lines = cli_cut_counts_lines(&input->cut);
    struct weir_buf rest = {0};
    weir_buf_reserve(&rest, CLI_PUSH_BATCH_BYTES + READ_BYTES);
    weir_buf_append(&rest, input->header.at, input->header.size);
    weir_buf_append(&rest, all.at + size, all.size - size);
    ret_batch->first_record = input->mark.records + (counts_lines ? 1 : 0);
    ret_batch->header_records = cli_cut_count(&input->cut, weir_buf_view(&input->header));
    pass(input, size);
    ret_batch->end = input->mark;
    ret_batch->payload = input->buffer;
    ret_batch->payload.size = input->header.size + size;
    input->buffer = rest;
    cli_cut_begin(&input->cut, input->header.size);
    cli_cut_scan(&input->cut, weir_buf_view(&input->buffer));
    return true;
}

enum weir_status cli_push_input_skip(struct cli_push_input *input, const struct cli_push_mark *mark,
                                     struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    while (status == WEIR_OK && input->mark.bytes < mark->bytes) {
        uint64_t left = mark->bytes - input->mark.bytes;
        size_t size = waiting(input).size;
        if (needs_header(input) || size == 0) {
            if (input->has_ended)
                break;
            status = cli_push_input_read(input, err);
            continue;
        }
        size = size < left ? size : (size_t)left;
        pass(input, size);
        drop(input, size);
        cli_cut_begin(&input->cut, input->header.size);
    }
    if (status != WEIR_OK)
        return status;
    cli_cut_begin(&input->cut, input->header.size);
    cli_cut_scan(&input->cut, weir_buf_view(&input->buffer));
    if (input->mark.bytes == mark->bytes &&
        memcmp(input->mark.digest.bytes, mark->digest.bytes, WEIR_DIGEST_BYTES) == 0) {
        input->mark.records = mark->records;
        return WEIR_OK;
    }
    return weir_fail(
        err, WEIR_INVALID,
        "this input does not begin with the %llu bytes that this client pushed before: "
        "give another --client, or the same input",
        (unsigned long long)mark->bytes);
}

uint64_t cli_push_input_left_out(const struct cli_push_input *input, uint64_t *ret_first)
{
    *ret_first = input->first_left_out;
    return input->left_out;
}
