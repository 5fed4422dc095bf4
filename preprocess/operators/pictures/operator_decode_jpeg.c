/* decode_jpeg: JPEG files → pictures of any size, three channels (or one). When the next operator crops
 * or resizes, only what that one will read is decoded, and no larger than it needs. */
#include "preprocess/operators/pictures/jpeg.h"

#include <stdio.h>

#include <jpeglib.h>

struct options {
    const char *on;
    int channels;
    uint64_t pixels_max;
    bool strict;
    int scale;
};

static const char *const CHANNELS[] = {"rgb", "grey", NULL};
static const char *const SCALE[] = {"auto", "never", NULL};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of bytes"),
    CFG_CHOICE(struct options, channels, .fallback = "rgb", .choices = CHANNELS,
               .doc = "rgb: three, whatever the file has; grey: one"),
    CFG_U64(struct options, pixels_max, .fallback = "67108864", .min = 1, .max = 268435456,
            .doc = "a larger picture fails, before memory is taken for it"),
    CFG_BOOL(struct options, strict, .fallback = "false",
             .doc = "a picture fails when bytes of it had to be guessed; otherwise it is counted "
                    "as odd"),
    CFG_CHOICE(struct options, scale, .fallback = "auto", .choices = SCALE,
               .doc = "auto: what the next operator reads, no larger than it needs; never: the "
                      "whole picture as it is stored, so that it can be kept for all who read it"),
    CFG_END,
};

struct state {
    struct jpeg *jpeg;
    uint64_t pixels_max;
    bool strict;
};

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    enum weir_status status = preprocess_operator_schema_pick(
        schema, options->on, 1u << COLUMN_BYTES, &ret_plan->in, err);
    if (status != WEIR_OK)
        return status;
    state->jpeg = preprocess_jpeg_new();
    state->pixels_max = options->pixels_max;
    state->strict = options->strict;
    ret_plan->traits = options->scale == 0 ? 0 : OPERATOR_HEEDLESS;
    ret_plan->outputs = 1;
    ret_plan->output[0] = preprocess_column_about("picture", COLUMN_PICTURES, WEIR_U8,
                                                  options->channels == 0 ? 3 : 1);
    return WEIR_OK;
}

static void fini(void *owner)
{
    preprocess_jpeg_free(((struct state *)owner)->jpeg);
}

static bool decode(struct state *state, const struct operator_call *call, size_t row)
{
    const struct operator_next *next = call->next;
    if (!preprocess_jpeg_open(state->jpeg, column_row(call->in, row), state->pixels_max))
        return false;
    if (next == NULL)
        return preprocess_jpeg_read(state->jpeg, NULL, &call->out[0]);
    struct operator_call asked = *call;
    asked.step = next->step;
    struct picture_window window =
        next->op->window(next->state, &asked, row, preprocess_jpeg_height(state->jpeg),
                         preprocess_jpeg_width(state->jpeg));
    return preprocess_jpeg_read(state->jpeg, &window, &call->out[0]);
}

static void apply(void *owner, struct operator_call *call)
{
    struct state *state = owner;
    for (size_t row = 0; row < call->rows; row++) {
        bool is_whole = decode(state, call, row);
        unsigned warnings = preprocess_jpeg_warnings(state->jpeg);
        if (!is_whole)
            preprocess_picture_add_none(&call->out[0]);
        if (!is_whole)
            preprocess_operator_fail_row(call, row, "%s", preprocess_jpeg_reason(state->jpeg));
        else if (state->strict && warnings > 0)
            preprocess_operator_fail_row(call, row, "%u places had to be guessed", warnings);
        else
            call->warnings += warnings > 0;
    }
}

const struct preprocess_operator preprocess_operator_decode_jpeg = {
    .name = "decode_jpeg",
    .summary = "JPEG files to pictures, as they are stored (EXIF turns none); of those that are "
               "cropped next only the crop",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .reads_ahead = true,
    .version = LIBJPEG_TURBO_VERSION_NUMBER,
    .plan = plan,
    .apply = apply,
    .by_row = true,
    .fini = fini,
};
