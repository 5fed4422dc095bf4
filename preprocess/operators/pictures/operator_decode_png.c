/* decode_png: PNG files → pictures of any size, three channels (or one). Transparency is left out, 16-bit
 * colours are cut to eight bits. */
#include "preprocess/operators/pictures/picture.h"
#include "preprocess/operators/pictures/png_decoder.h"

struct options {
    const char *on;
    int channels;
    uint64_t pixels_max;
};

static const char *const CHANNELS[] = {"rgb", "grey", NULL};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of bytes"),
    CFG_CHOICE(struct options, channels, .fallback = "rgb", .choices = CHANNELS,
               .doc = "rgb: three, whatever the file has; grey: one"),
    CFG_U64(struct options, pixels_max, .fallback = "67108864", .min = 1, .max = 268435456,
            .doc = "a larger picture fails, before memory is taken for it"),
    CFG_END,
};

struct state {
    uint64_t pixels_max;
    uint32_t channels;
    struct png_decoder *decoder;
    struct weir_buf colours; /* of one picture */
};

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    state->pixels_max = options->pixels_max;
    state->channels = options->channels == 0 ? PNG_DECODER_COLOURS : 1;
    state->decoder = preprocess_png_decoder_new();
    ret_plan->outputs = 1;
    ret_plan->output[0] =
        preprocess_column_about("picture", COLUMN_PICTURES, WEIR_U8, state->channels);
    return preprocess_operator_schema_pick(schema, options->on, 1u << COLUMN_BYTES, &ret_plan->in,
                                           err);
}

static void fini(void *owner)
{
    struct state *state = owner;
    preprocess_png_decoder_free(state->decoder);
    weir_buf_fini(&state->colours);
}

/* Limit of one picture: the option, or the room left in the column. */
static uint64_t pixels_max(const struct state *state, const struct operator_call *call)
{
    uint64_t room = (PICTURE_COLUMN_BYTES_MAX - call->out[0].values.size) / PNG_DECODER_COLOURS;
    return state->pixels_max < room ? state->pixels_max : room;
}

static bool decode(struct state *state, struct operator_call *call, size_t row)
{
    struct png_decoder *decoder = state->decoder;
    if (!preprocess_png_decoder_open(decoder, column_row(call->in, row), pixels_max(state, call)))
        return false;
    uint32_t height = preprocess_png_decoder_height(decoder),
             width = preprocess_png_decoder_width(decoder);
    size_t pixels = (size_t)height * width;
    weir_buf_clear(&state->colours);
    weir_buf_reserve(&state->colours, pixels * PNG_DECODER_COLOURS);
    if (!preprocess_png_decoder_read(decoder, state->colours.at))
        return false;
    preprocess_picture_copy(state->colours.at, pixels, state->channels,
                            preprocess_picture_add(&call->out[0], height, width));
    return true;
}

static void apply(void *owner, struct operator_call *call)
{
    struct state *state = owner;
    for (size_t row = 0; row < call->rows; row++) {
        if (decode(state, call, row))
            continue;
        preprocess_operator_fail_row(call, row, "%s",
                                     preprocess_png_decoder_reason(state->decoder));
        preprocess_picture_add_none(&call->out[0]);
    }
}

const struct preprocess_operator preprocess_operator_decode_png = {
    .name = "decode_png",
    .summary = "PNG files to pictures",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .plan = plan,
    .apply = apply,
    .by_row = true,
    .fini = fini,
};
