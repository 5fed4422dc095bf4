/* Messages through the pipes of a program. */
#include "preprocess/operators/exec/frame.h"

#include "core/base/memory.h"
#include "core/base/utf8.h"

#include <string.h>

/* ---- asking ---- */

static size_t unit_of(const struct column_about *about)
{
    return about->kind == COLUMN_RAGGED ? weir_dtype_bytes(about->type) : 1;
}

/* The offsets of some rows of a column that is not dense. */
static size_t append_offsets(const struct frame_rows *rows, struct weir_buf *out)
{
    const uint32_t *offsets = column_offsets(rows->call->in);
    uint32_t end = 0;
    weir_buf_append(out, &end, sizeof(end));
    for (size_t i = 0; i < rows->count; i++) {
        end += offsets[rows->rows[i] + 1] - offsets[rows->rows[i]];
        weir_buf_append(out, &end, sizeof(end));
    }
    return (rows->count + 1) * sizeof(end);
}

static size_t append_values(const struct frame_rows *rows, struct weir_buf *out)
{
    const struct column *in = rows->call->in;
    bool is_dense = in->about.kind == COLUMN_DENSE;
    size_t width = in->about.width * weir_dtype_bytes(in->about.type), before = out->size;
    size_t unit = unit_of(&in->about);
    for (size_t i = 0; i < rows->count; i++) {
        uint32_t row = rows->rows[i];
        const uint32_t *offsets = column_offsets(in);
        if (is_dense)
            weir_buf_append(out, in->values.at + row * width, width);
        else
            weir_buf_append(out, in->values.at + offsets[row] * unit,
                            (offsets[row + 1] - offsets[row]) * unit);
    }
    return out->size - before;
}

void preprocess_frame_request(const struct frame_rows *rows, struct weir_buf *out)
{
    const struct operator_call *call = rows->call;
    const struct column_about *about = &call->in->about;
    WEIR_AUTO_BUF payload = {0};
    uint64_t sizes[3] = {rows->count * sizeof(uint64_t)};
    for (size_t i = 0; i < rows->count; i++) {
        uint64_t id = call->ids != NULL ? call->ids[rows->rows[i]] : 0;
        weir_buf_append(&payload, &id, sizeof(id));
    }
    sizes[1] = about->kind != COLUMN_DENSE ? append_offsets(rows, &payload) : 0;
    sizes[2] = append_values(rows, &payload);
    const struct msg_exec_batch request = {
        .rows = rows->count,
        .seed = call->batch->seed,
        .epoch = call->batch->epoch,
        .trains = call->batch->trains,
        .name = about->name,
        .kind = preprocess_column_kind_name(about->kind),
        .type = about->kind == COLUMN_DENSE || about->kind == COLUMN_RAGGED
                    ? weir_dtype_name(about->type)
                    : "",
        .width = about->kind == COLUMN_DENSE ? about->width : 0,
        .sizes = {sizes, WEIR_COUNT(sizes)},
    };
    uint8_t head[FRAME_HEAD_BYTES] = {0};
    size_t place = out->size;
    weir_buf_append(out, head, sizeof(head));
    weir_message_pack(MSG_exec_batch, &request, out);
    weir_put_u32(out->at + place, MSG_exec_batch);
    weir_put_u32(out->at + place + 4, (uint32_t)(out->size - place - sizeof(head)));
    weir_put_u64(out->at + place + 8, payload.size);
    weir_buf_append(out, payload.at, payload.size);
}

/* ---- the answer ---- */

int64_t preprocess_frame_size(struct weir_bytes bytes)
{
    if (bytes.size < FRAME_HEAD_BYTES)
        return 0;
    uint32_t header = weir_get_u32(bytes.at + 4);
    uint64_t payload = weir_get_u64(bytes.at + 8);
    if (weir_get_u32(bytes.at) != MSG_exec_made || header > WEIR_WIRE_HEADER_MAX ||
        payload > FRAME_PAYLOAD_BYTES_MAX)
        return -1;
    return FRAME_HEAD_BYTES + (int64_t)header + (int64_t)payload;
}

static enum weir_status check_sizes(const struct msg_exec_made *made, size_t count, size_t payload,
                                    struct weir_error *err)
{
    if (made->rows != count)
        return weir_fail(err, WEIR_INVALID, "%lu rows, expected %zu", made->rows, count);
    if (made->sizes.count != 2 || made->sizes.at[0] > payload ||
        made->sizes.at[1] != payload - made->sizes.at[0])
        return weir_fail(err, WEIR_INVALID,
                         "%zu bytes behind its header, expected two sizes that add up to them",
                         payload);
    if (made->states.count != 0 && made->states.count != count)
        return weir_fail(err, WEIR_INVALID, "%zu states, expected none or %zu", made->states.count,
                         count);
    for (size_t i = 0; i < made->states.count; i++) {
        if (made->states.at[i] > OPERATOR_ROW_FILTERED)
            return weir_fail(err, WEIR_INVALID, "state %u, expected 0, 1 or 2", made->states.at[i]);
    }
    return WEIR_OK;
}

static enum weir_status check_dense(const struct frame_made *made, const struct column_about *about,
                                    size_t offsets, size_t count, struct weir_error *err)
{
    size_t wanted = count * about->width * weir_dtype_bytes(about->type);
    if (offsets == 0 && made->values.size == wanted)
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID, "%zu bytes, expected %zu rows of %u %s",
                     made->values.size + offsets, count, about->width,
                     weir_dtype_name(about->type));
}

static enum weir_status check_ragged(const struct frame_made *made,
                                     const struct column_about *about, size_t offsets, size_t count,
                                     struct weir_error *err)
{
    bool is_right = offsets == (count + 1) * sizeof(uint32_t) && made->offsets[0] == 0 &&
                    made->offsets[count] * unit_of(about) == made->values.size;
    for (size_t i = 0; is_right && i < count; i++)
        is_right = made->offsets[i] <= made->offsets[i + 1];
    if (is_right)
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID, "offsets that do not rise from 0 to the end of the values");
}

/* Each row of a text is whole characters. */
static enum weir_status check_text(const struct frame_made *made, size_t count,
                                   struct weir_error *err)
{
    for (size_t row = 0; row < count; row++) {
        size_t at = made->offsets[row], size = made->offsets[row + 1] - at;
        if (weir_utf8_whole(weir_bytes(made->values.at + at, size)) < size)
            return weir_fail(err, WEIR_INVALID, "text that is no UTF-8 in row %zu", row);
    }
    return WEIR_OK;
}

enum weir_status preprocess_frame_read(struct weir_bytes answer, const struct column_about *about,
                                       size_t count, struct weir_arena *arena,
                                       struct frame_made *ret_made, struct weir_error *err)
{
    struct msg_exec_made message;
    size_t header = weir_get_u32(answer.at + 4);
    const uint8_t *payload = answer.at + FRAME_HEAD_BYTES + header;
    size_t size = answer.size - FRAME_HEAD_BYTES - header;
    enum weir_status status = weir_message_unpack(
        MSG_exec_made, weir_bytes(answer.at + FRAME_HEAD_BYTES, header), arena, &message, err);
    if (status == WEIR_OK)
        status = check_sizes(&message, count, size, err);
    if (status != WEIR_OK)
        return status;
    size_t offsets = message.sizes.at[0];
    bool is_dense = about->kind == COLUMN_DENSE;
    struct frame_made made = {
        .states = message.states.count > 0 ? message.states.at : NULL,
        .reasons = message.reasons,
        .offsets = is_dense ? NULL : weir_arena_copy(arena, payload, offsets),
        .values = weir_bytes(payload + offsets, size - offsets),
    };
    status = is_dense ? check_dense(&made, about, offsets, count, err)
                      : check_ragged(&made, about, offsets, count, err);
    if (status == WEIR_OK && about->kind == COLUMN_TEXT)
        status = check_text(&made, count, err);
    if (status == WEIR_OK)
        *ret_made = made;
    return status;
}
