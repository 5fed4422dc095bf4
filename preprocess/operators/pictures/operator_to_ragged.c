/* to_ragged: pictures of any size → a ragged tensor of their pixels, u8, row by row (HWC), and a
 * second tensor NAME_shape with height, width and channels of each: for a loop that makes them of
 * one size itself, or need not. */
#include "preprocess/operators/pictures/picture.h"

#include "core/base/utf8.h"

struct options {
    const char *on;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of pictures of any size"),
    CFG_END,
};

static enum weir_status plan(void *state, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    (void)state;
    const struct options *options = given;
    enum weir_status status = preprocess_operator_schema_pick(
        schema, options->on, 1u << COLUMN_PICTURES, &ret_plan->in, err);
    if (status != WEIR_OK)
        return status;
    const char *of = schema->column[ret_plan->in].name;
    char name[COLUMN_NAME_MAX];
    weir_utf8_print(name, sizeof(name), "%.20s_shape", of);
    ret_plan->outputs = 2;
    ret_plan->output[0] = preprocess_column_about(of, COLUMN_RAGGED, WEIR_U8, 0);
    ret_plan->output[1] = preprocess_column_about(name, COLUMN_DENSE, WEIR_I32, 3);
    return WEIR_OK;
}

static void apply(void *state, struct operator_call *call)
{
    (void)state;
    struct column *out = call->out;
    for (size_t i = 0; i < call->rows; i++) {
        struct picture picture = preprocess_picture_at(call->in, i);
        const struct picture_place *place = &picture.place;
        const int32_t shape[] = {(int32_t)place->height, (int32_t)place->width,
                                 (int32_t)picture.channels};
        size_t bytes = (size_t)place->height * place->width * picture.channels;
        weir_buf_append(&out[0].values, picture.at, bytes);
        preprocess_column_end_row(&out[0]);
        weir_buf_append(&out[1].values, shape, sizeof(shape));
    }
}

const struct preprocess_operator preprocess_operator_to_ragged = {
    .name = "to_ragged",
    .summary = "pictures of any size to their pixels and shapes",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .plan = plan,
    .apply = apply,
};
