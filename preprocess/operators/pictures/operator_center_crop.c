/* center_crop: the middle of each picture; one that is smaller gets a black border. */
#include "preprocess/operators/pictures/picture.h"

#include <math.h>
#include <string.h>

struct options {
    const char *on;
    struct cfg_texts size;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of pictures"),
    CFG_TEXTS(struct options, size, .required = true, .doc = "one number, or [height, width]"),
    CFG_END,
};

struct state {
    uint32_t size[2];
};

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    enum weir_status status = preprocess_picture_pick(schema, options->on, &ret_plan->in, err);
    if (status == WEIR_OK)
        status = preprocess_picture_read_size(options->size, state->size, err);
    if (status != WEIR_OK)
        return status;
    ret_plan->outputs = 1;
    return preprocess_picture_dense(&schema->column[ret_plan->in], state->size[0], state->size[1],
                                    &ret_plan->output[0], err);
}

/* Returns the start of the middle `size` of `whole`. An odd pixel goes where torchvision puts it. */
static uint32_t start_of(uint32_t whole, uint32_t size)
{
    return whole > size ? (uint32_t)nearbyint((whole - size) / 2.0) : 0;
}

static struct picture_window window(const void *owner, const struct operator_call *call, size_t row,
                                    uint32_t height, uint32_t width)
{
    (void)call, (void)row;
    const struct state *state = owner;
    struct picture_window part = {.top = start_of(height, state->size[0]),
                                  .left = start_of(width, state->size[1]),
                                  .height = height < state->size[0] ? height : state->size[0],
                                  .width = width < state->size[1] ? width : state->size[1]};
    part.out_height = part.height;
    part.out_width = part.width;
    return part;
}

static void apply(void *owner, struct operator_call *call)
{
    const struct state *state = owner;
    for (size_t row = 0; row < call->rows; row++) {
        struct picture from = preprocess_picture_at(call->in, row);
        const struct picture_place *place = &from.place;
        preprocess_picture_add_none(&call->out[0]);
        uint8_t *to = call->out[0].values.at + call->out[0].values.size - call->out[0].about.width;
        struct picture_window part =
            window(state, call, row, place->whole_height, place->whole_width);
        size_t top = (state->size[0] - part.height) / 2, left = (state->size[1] - part.width) / 2;
        for (size_t y = 0; y < part.height; y++) {
            size_t old = (part.top - place->top + y) * place->width + part.left - place->left;
            size_t new = (top + y) * state->size[1] + left;
            memcpy(to + new *from.channels, from.at + old * from.channels,
                   part.width * (size_t)from.channels);
        }
    }
}

const struct preprocess_operator preprocess_operator_center_crop = {
    .name = "center_crop",
    .summary = "the middle of each picture",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .traits = OPERATOR_TOTAL,
    .plan = plan,
    .apply = apply,
    .window = window,
    .by_row = true,
};
