/* Answers of a user's program. The first byte chooses what it is to make, the second how many rows; the rest is what
 * came through the pipe, and once more what stands after a head that is right. Whatever the bytes: refused with a
 * reason, or a whole column. */
#include "preprocess/operators/exec/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROWS_MAX = 16, HEADER_BYTES = 2 };

static const struct column_about MAKES[] = {
    {.name = "out", .kind = COLUMN_DENSE, .type = WEIR_F32, .width = 3},
    {.name = "out", .kind = COLUMN_RAGGED, .type = WEIR_I64},
    {.name = "out", .kind = COLUMN_TEXT},
    {.name = "out", .kind = COLUMN_BYTES},
};

/* Reads everything that is said of each row. */
static uint64_t read_all(const struct frame_made *made, const struct column_about *about,
                         size_t count)
{
    uint64_t sum = 0;
    size_t unit = about->kind == COLUMN_RAGGED ? weir_dtype_bytes(about->type) : 1;
    for (size_t i = 0; i < count; i++) {
        sum += made->states != NULL ? made->states[i] : 0;
        if (made->offsets != NULL)
            weir_require(made->offsets[i] <= made->offsets[i + 1] &&
                         made->offsets[i + 1] * unit <= made->values.size);
    }
    for (size_t i = 0; i < made->values.size; i++)
        sum += made->values.at[i];
    for (size_t i = 0; i < made->reasons.count; i++)
        sum += (uint8_t)made->reasons.at[i][0];
    return sum;
}

static void take(struct weir_bytes pipe, const struct column_about *about, size_t count)
{
    struct weir_error err;
    struct frame_made made;
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    int64_t whole = preprocess_frame_size(pipe);
    if (whole <= 0 || (uint64_t)whole > pipe.size)
        return;
    if (preprocess_frame_read(weir_bytes(pipe.at, (size_t)whole), about, count, arena, &made,
                              &err) == WEIR_OK)
        (void)read_all(&made, about, count);
    else
        weir_require(err.text[0] != '\0');
}

/* The same with a head in front: a u16 says how much of it is the header. */
static void take_behind_head(struct weir_bytes rest, const struct column_about *about, size_t count)
{
    uint8_t head[FRAME_HEAD_BYTES] = {0};
    WEIR_AUTO_BUF frame = {0};
    if (rest.size < HEADER_BYTES)
        return;
    size_t body = rest.size - HEADER_BYTES, header = weir_get_u16(rest.at);
    header = header < body ? header : body;
    weir_put_u32(head, MSG_exec_made);
    weir_put_u32(head + 4, (uint32_t)header);
    weir_put_u64(head + 8, body - header);
    weir_buf_append(&frame, head, sizeof(head));
    weir_buf_append(&frame, rest.at + HEADER_BYTES, body);
    take(weir_buf_view(&frame), about, count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    const struct column_about *about = &MAKES[data[0] % WEIR_COUNT(MAKES)];
    size_t count = 1 + data[1] % ROWS_MAX;
    take(weir_bytes(data + 2, size - 2), about, count);
    take_behind_head(weir_bytes(data + 2, size - 2), about, count);
    return 0;
}
