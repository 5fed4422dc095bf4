/* grayscale: pictures without their colours, one channel (ITU-R BT.601, as Pillow and torchvision weigh them). */
#include "preprocess/operators/pictures/picture.h"

struct options {
    const char *on;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of pictures"),
    CFG_END,
};

static enum weir_status plan(void *state, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    (void)state;
    const struct options *options = given;
    enum weir_status status = preprocess_picture_pick(schema, options->on, &ret_plan->in, err);
    if (status != WEIR_OK)
        return status;
    struct column_about about = schema->column[ret_plan->in];
    bool is_dense = about.kind == COLUMN_DENSE;
    about.width = is_dense ? about.shape[0] * about.shape[1] : 1;
    about.shape[2] = is_dense ? 1 : 0;
    ret_plan->outputs = 1;
    ret_plan->output[0] = about;
    return WEIR_OK;
}

static void apply(void *state, struct operator_call *call)
{
    (void)state;
    for (size_t row = 0; row < call->rows; row++) {
        struct picture from = preprocess_picture_at(call->in, row);
        uint32_t height = from.place.height, width = from.place.width;
        uint8_t *to = preprocess_picture_add(&call->out[0], height, width);
        size_t pixels = (size_t)height * width;
        for (size_t i = 0; i < pixels && from.channels == 1; i++)
            to[i] = from.at[i];
        if (from.channels != 1)
            preprocess_picture_copy(from.at, pixels, 1, to);
    }
}

const struct preprocess_operator preprocess_operator_grayscale = {
    .name = "grayscale",
    .summary = "pictures without their colours, one channel",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .traits = OPERATOR_TOTAL | OPERATOR_ELEMENTWISE,
    .plan = plan,
    .apply = apply,
    .by_row = true,
};
