/* decode_png: PNG files → pictures of any size, three channels (or one). Transparency is left out, deeper
 * colours are cut to eight bits. A decoder of libspng is for one picture, so each takes a new one. */
#include "preprocess/operators/pictures/picture.h"

#include <spng.h>

enum { CHUNK_BYTES_MAX = 1 << 20, CACHED_BYTES_MAX = 4 << 20, COLOURS = 3 };

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
    struct weir_buf colours; /* of a picture that is to be grey */
};

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    state->pixels_max = options->pixels_max;
    state->channels = options->channels == 0 ? COLOURS : 1;
    ret_plan->outputs = 1;
    ret_plan->output[0] = column_about("picture", COLUMN_PICTURES, WEIR_U8, state->channels);
    return operator_schema_pick(schema, options->on, 1u << COLUMN_BYTES, &ret_plan->in, err);
}

static void fini(void *owner)
{
    weir_buf_fini(&((struct state *)owner)->colours);
}

/* Reads the header. False, and the row failed, when it is none or speaks of too much. */
static bool open_picture(const struct state *state, spng_ctx *png, struct operator_call *call,
                         size_t row, struct spng_ihdr *ret_header)
{
    struct weir_bytes file = column_row(call->in, row);
    spng_set_image_limits(png, PICTURE_COLUMN_BYTES_MAX / COLOURS,
                          PICTURE_COLUMN_BYTES_MAX / COLOURS);
    spng_set_chunk_limits(png, CHUNK_BYTES_MAX, CACHED_BYTES_MAX);
    int problem = spng_set_png_buffer(png, file.at, file.size);
    if (problem == 0)
        problem = spng_get_ihdr(png, ret_header);
    if (problem != 0) {
        operator_fail_row(call, row, "%s", spng_strerror(problem));
        return false;
    }
    uint64_t pixels = (uint64_t)ret_header->width * ret_header->height;
    if (pixels <= state->pixels_max &&
        pixels * COLOURS <= PICTURE_COLUMN_BYTES_MAX - call->out[0].values.size)
        return true;
    operator_fail_row(call, row, "%u x %u pixels, expected at most %lu in all", ret_header->width,
                      ret_header->height, state->pixels_max);
    return false;
}

static bool decode(struct state *state, spng_ctx *png, struct operator_call *call, size_t row)
{
    struct spng_ihdr header;
    if (!open_picture(state, png, call, row, &header))
        return false;
    size_t pixels = (size_t)header.width * header.height;
    weir_buf_clear(&state->colours);
    weir_buf_reserve(&state->colours, pixels * COLOURS);
    int problem = spng_decode_image(png, state->colours.at, pixels * COLOURS, SPNG_FMT_RGB8, 0);
    if (problem != 0) {
        operator_fail_row(call, row, "%s", spng_strerror(problem));
        return false;
    }
    picture_copy(state->colours.at, pixels, state->channels,
                 picture_add(&call->out[0], header.height, header.width));
    return true;
}

static void apply(void *owner, struct operator_call *call)
{
    for (size_t row = 0; row < call->rows; row++) {
        spng_ctx *png = spng_ctx_new(0);
        weir_require(png != NULL);
        if (!decode(owner, png, call, row))
            picture_add_none(&call->out[0]);
        spng_ctx_free(png);
    }
}

const struct preprocess_operator operator_decode_png = {
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
