/* blur: pictures out of focus by chance, under a Gaussian kernel whose width is drawn. Options mean what
 * they mean in torchvision; beyond its edge a picture is continued by its mirror image. */
#include "preprocess/operators/pictures/picture.h"

#include "core/base/elementary.h"

enum { KERNEL_MAX = 63 };

struct options {
    const char *on;
    uint64_t kernel_size;
    struct cfg_texts sigma;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of pictures"),
    CFG_U64(struct options, kernel_size, .required = true, .min = 1, .max = KERNEL_MAX,
            .doc = "pixels a side that a new one is the mean of; odd"),
    CFG_TEXTS(struct options, sigma,
              .doc = "[least, most] standard deviation in pixels, drawn while training; by default "
                     "[0.1, 2]; one number blurs outside of training too"),
    CFG_END,
};

struct state {
    size_t taps;
    struct picture_range sigma;
    /* float: one row, as high as the kernel wants it, with its edges continued */
    struct weir_buf line;
    struct weir_buf blurred; /* float: the same row in both directions */
};

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    state->taps = options->kernel_size;
    state->sigma = (struct picture_range){0.1, 2};
    const struct picture_numbers sigma = {"sigma", options->sigma, 2, 0.001, 1000};
    enum weir_status status = preprocess_picture_pick(schema, options->on, &ret_plan->in, err);
    if (status == WEIR_OK)
        status = preprocess_picture_read_range(&sigma, &state->sigma, err);
    if (status != WEIR_OK)
        return status;
    if (state->taps % 2 == 0)
        return weir_fail(err, WEIR_INVALID, "kernel_size: found %zu, expected an odd number",
                         state->taps);
    ret_plan->outputs = 1;
    ret_plan->output[0] = schema->column[ret_plan->in];
    return WEIR_OK;
}

static void fini(void *owner)
{
    struct state *state = owner;
    weir_buf_fini(&state->line);
    weir_buf_fini(&state->blurred);
}

static void fill_kernel(size_t taps, double sigma, float *kernel)
{
    double weights[KERNEL_MAX], sum = 0, middle = (double)(taps - 1) / 2;
    for (size_t k = 0; k < taps; k++) {
        double away = ((double)k - middle) / sigma;
        weights[k] = weir_exp(-away * away / 2);
        sum += weights[k];
    }
    for (size_t k = 0; k < taps; k++)
        kernel[k] = (float)(weights[k] / sum);
}

/* The pixel of `size` that stands for one beyond the edges; the edge itself is not repeated. */
static size_t mirrored(ptrdiff_t at, size_t size)
{
    if (size == 1)
        return 0;
    ptrdiff_t period = 2 * ((ptrdiff_t)size - 1);
    at = (at % period + period) % period;
    return (size_t)(at < (ptrdiff_t)size ? at : period - at);
}

WEIR_CLONES
static void add_bytes(const uint8_t *from, float weight, size_t size, float *restrict to)
{
    for (size_t i = 0; i < size; i++)
        to[i] += weight * from[i];
}

WEIR_CLONES
static void add_floats(const float *from, float weight, size_t size, float *restrict to)
{
    for (size_t i = 0; i < size; i++)
        to[i] += weight * from[i];
}

WEIR_CLONES
static void fill(float value, size_t size, float *to)
{
    for (size_t i = 0; i < size; i++)
        to[i] = value;
}

WEIR_CLONES
static void cut(const float *from, size_t size, uint8_t *restrict to)
{
    for (size_t i = 0; i < size; i++)
        to[i] = (uint8_t)(int32_t)from[i];
}

/* Row y under the kernel from top to bottom, at `line`; half of the kernel lies before it and after it. */
static void blur_down(const struct picture *from, size_t y, const float *kernel, size_t taps,
                      float *line)
{
    size_t channels = from->channels, width = from->place.width, stride = width * channels;
    ptrdiff_t half = (ptrdiff_t)(taps / 2);
    fill(0, stride, line);
    for (size_t k = 0; k < taps; k++) {
        size_t row = mirrored((ptrdiff_t)(y + k) - half, from->place.height);
        add_bytes(from->at + row * stride, kernel[k], stride, line);
    }
    for (ptrdiff_t k = 1; k <= half; k++) {
        size_t before = mirrored(-k, width), behind = mirrored((ptrdiff_t)width - 1 + k, width);
        for (size_t c = 0; c < channels; c++) {
            line[-k * (ptrdiff_t)channels + (ptrdiff_t)c] = line[before * channels + c];
            line[stride + (size_t)(k - 1) * channels + c] = line[behind * channels + c];
        }
    }
}

static void blur(struct state *state, const struct picture *from, double sigma, uint8_t *to)
{
    float kernel[KERNEL_MAX];
    size_t taps = state->taps, channels = from->channels, stride = from->place.width * channels;
    fill_kernel(taps, sigma, kernel);
    weir_buf_reserve(&state->line, (stride + (taps - 1) * channels) * sizeof(float));
    weir_buf_reserve(&state->blurred, stride * sizeof(float));
    float *line = (float *)(void *)state->line.at, *blurred = (float *)(void *)state->blurred.at;
    for (size_t y = 0; y < from->place.height; y++) {
        blur_down(from, y, kernel, taps, line + taps / 2 * channels);
        fill(0.5f, stride, blurred);
        for (size_t k = 0; k < taps; k++)
            add_floats(line + k * channels, kernel[k], stride, blurred);
        cut(blurred, stride, to + y * stride);
    }
}

static void apply(void *owner, struct operator_call *call)
{
    struct state *state = owner;
    bool is_chance = state->sigma.least < state->sigma.most;
    for (size_t row = 0; row < call->rows; row++) {
        struct picture from = preprocess_picture_at(call->in, row);
        struct weir_rng rng;
        preprocess_operator_draw(call, row, call->step, &rng);
        double sigma = preprocess_picture_draw(&rng, state->sigma);
        if (is_chance && !call->batch->trains)
            preprocess_picture_add_same(&call->out[0], &from);
        else
            blur(state, &from, sigma,
                 preprocess_picture_add(&call->out[0], from.place.height, from.place.width));
    }
}

const struct preprocess_operator preprocess_operator_blur = {
    .name = "blur",
    .summary = "pictures out of focus by chance",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .traits = OPERATOR_VARIES,
    .plan = plan,
    .apply = apply,
    .by_row = true,
    .fini = fini,
};
