/* pack: several short rows of a ragged tensor to one row of fixed length. Rows are taken in the
 * order of the batch; each goes into the fullest of the newest packed rows that has room for it, or
 * opens the next one. A packed row stands where the sample that opened it stands, and the others
 * have none: so the values of the tensor, end to end, are a matrix of packed rows. A second tensor
 * NAME_segment tells of each number which sample of the batch it is from, counted from 1; 0: it is
 * put in.
 *
 * A batch is packed by itself: nothing leaves its batch, or the slice of a rank. */
#include "core/base/utf8.h"
#include "preprocess/operators/numeric.h"
#include "preprocess/operators/operator.h"

#include <string.h>

enum { ROWS_OPEN_MAX = 64 };

static const char *const LONG[] = {"cut", "fail", NULL};
enum { LONG_CUT, LONG_FAIL };

struct options {
    const char *on;
    uint64_t length;
    const char *value;
    int too_long;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of ragged"),
    CFG_U64(struct options, length, .required = true, .min = 1, .max = COLUMN_WIDTH_MAX,
            .doc = "numbers of a packed row"),
    CFG_TEXT(struct options, value, .fallback = "0", .doc = "number that is put in"),
    CFG_CHOICE(struct options, too_long, .fallback = "cut", .choices = LONG,
               .doc = "a row that is longer: cut its end off, or fail it"),
    CFG_END,
};

struct state {
    enum weir_dtype type;
    size_t length;
    union numeric value;
    int too_long;
    struct weir_buf used; /* size_t: numbers in each packed row */
};

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    enum weir_status status = preprocess_operator_schema_pick(
        schema, options->on, 1u << COLUMN_RAGGED, &ret_plan->in, err);
    if (status != WEIR_OK)
        return status;
    const struct column_about *about = &schema->column[ret_plan->in];
    *state = (struct state){
        .type = about->type, .length = options->length, .too_long = options->too_long};
    char name[COLUMN_NAME_MAX];
    weir_utf8_print(name, sizeof(name), "%.20s_segment", about->name);
    ret_plan->outputs = 2;
    ret_plan->output[0] = *about;
    ret_plan->output[1] = preprocess_column_about(name, COLUMN_RAGGED, WEIR_I32, 0);
    return preprocess_numeric_read_option(state->type, "value", options->value, &state->value, err);
}

static void fini(void *owner)
{
    weir_buf_fini(&((struct state *)owner)->used);
}

/* The packed row for `count` numbers more; one after the last when there is none. */
static size_t row_for(const struct state *state, size_t count)
{
    const size_t *used = (const size_t *)(const void *)state->used.at;
    size_t rows = state->used.size / sizeof(*used), found = rows;
    for (size_t i = rows > ROWS_OPEN_MAX ? rows - ROWS_OPEN_MAX : 0; i < rows; i++) {
        bool is_fuller = found == rows || used[i] > used[found];
        if (used[i] + count <= state->length && is_fuller)
            found = i;
    }
    return found;
}

/* Opens a packed row of nothing but what is put in, in both tensors. */
static void open_row(struct state *state, struct column *out)
{
    size_t unit = weir_dtype_bytes(state->type);
    weir_buf_append(&state->used, &(size_t){0}, sizeof(size_t));
    weir_buf_reserve(&out[0].values, state->length * unit);
    for (size_t i = 0; i < state->length; i++)
        weir_buf_append(&out[0].values, &state->value, unit);
    weir_buf_reserve(&out[1].values, state->length * sizeof(int32_t));
    memset(out[1].values.at + out[1].values.size, 0, state->length * sizeof(int32_t));
    out[1].values.size += state->length * sizeof(int32_t);
}

/* Puts a sample, the `number`-th of the batch, into its packed row. */
static void put(struct state *state, struct weir_bytes numbers, int32_t number, struct column *out)
{
    size_t unit = weir_dtype_bytes(state->type), count = numbers.size / unit;
    size_t row = row_for(state, count);
    if (row == state->used.size / sizeof(size_t))
        open_row(state, out);
    size_t *used = (size_t *)(void *)state->used.at + row;
    size_t first = row * state->length + *used;
    if (count > 0)
        memcpy(out[0].values.at + first * unit, numbers.at, numbers.size);
    int32_t *segments = (int32_t *)(void *)out[1].values.at;
    for (size_t i = first; i < first + count; i++)
        segments[i] = number;
    *used += count;
}

static void apply(void *owner, struct operator_call *call)
{
    struct state *state = owner;
    const uint32_t *offsets = column_offsets(call->in);
    size_t unit = weir_dtype_bytes(state->type);
    int32_t number = 0;
    weir_buf_clear(&state->used);
    for (size_t i = 0; i < call->rows; i++) {
        size_t count = offsets[i + 1] - offsets[i];
        if (count > state->length && state->too_long == LONG_FAIL)
            preprocess_operator_fail_row(call, i, "%zu numbers, expected at most %zu", count,
                                         state->length);
        count = count < state->length ? count : state->length;
        if (call->failed[i] == OPERATOR_ROW_OK)
            put(state, weir_bytes(call->in->values.at + offsets[i] * unit, count * unit), ++number,
                call->out);
        preprocess_column_end_row(&call->out[0]);
        preprocess_column_end_row(&call->out[1]);
    }
}

const struct preprocess_operator preprocess_operator_pack = {
    .name = "pack",
    .summary = "several short rows to one of fixed length, with the sample of each number",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .plan = plan,
    .apply = apply,
    .by_batch = true,
    .fini = fini,
};
