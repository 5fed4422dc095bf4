/* color_jitter: brightness, contrast, saturation and hue changed by chance and in any order, while
 * training. Options and draws mean what they mean in torchvision; the first three round as Pillow does,
 * and hue turns without the steps of Pillow's eight bits. */
#include "preprocess/operators/pictures/picture.h"

#include <math.h>

enum { CHANGES = 4, COLOURS = 3, FACTOR_MAX = 1000 };

struct options {
    const char *on;
    struct cfg_texts brightness, contrast, saturation, hue;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of pictures"),
    CFG_TEXTS(struct options, brightness,
              .doc = "[least, most] factor, or how far it may be from 1; 0 is black; by default "
                     "it stays"),
    CFG_TEXTS(struct options, contrast, .doc = "the same; 0 is the mean grey of the picture"),
    CFG_TEXTS(struct options, saturation, .doc = "the same; 0 is without colours"),
    CFG_TEXTS(struct options, hue,
              .doc = "[least, most] share of the colour wheel, from -0.5 to 0.5, or how far it may "
                     "be from 0; by default it stays"),
    CFG_END,
};

/* One kind of change, from `from` on; `neutral` is the amount that changes nothing. */
struct change {
    const char *name;
    double neutral, min, max;
    void (*make)(uint8_t *at, size_t pixels, size_t channels, float amount);
};

struct state {
    struct picture_range range[CHANGES];
};

/* to = base + factor (to - base), within a byte. */
WEIR_CLONES
static void blend(uint8_t *to, size_t size, float base, float factor)
{
    for (size_t i = 0; i < size; i++) {
        float value = base + factor * ((float)to[i] - base);
        value = value > 0 ? value : 0;
        to[i] = (uint8_t)(int32_t)(value < UINT8_MAX ? value : UINT8_MAX);
    }
}

static void change_brightness(uint8_t *at, size_t pixels, size_t channels, float factor)
{
    blend(at, pixels * channels, 0, factor);
}

static void change_contrast(uint8_t *at, size_t pixels, size_t channels, float factor)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < pixels; i++)
        sum += channels == COLOURS ? picture_grey(at + i * channels) : at[i];
    weir_require(pixels > 0);
    uint64_t mean = (2 * sum + pixels) / (2 * pixels);
    blend(at, pixels * channels, (float)mean, factor);
}

static void change_saturation(uint8_t *at, size_t pixels, size_t channels, float factor)
{
    for (size_t i = 0; i < pixels && channels == COLOURS; i++, at += COLOURS) {
        float grey = picture_grey(at);
        for (size_t c = 0; c < COLOURS; c++) {
            float value = fmaxf(0, grey + factor * ((float)at[c] - grey));
            at[c] = (uint8_t)fminf(value, UINT8_MAX);
        }
    }
}

/* Returns the hue, in sixths, of a pixel that is not grey: red is 0, green 2, blue 4. */
static float sixths_of(const uint8_t *pixel, int most, int spread)
{
    int red = pixel[0], green = pixel[1], blue = pixel[2];
    float chroma = (float)spread;
    if (most == red)
        return (float)(green - blue) / chroma;
    if (most == green)
        return 2 + (float)(blue - red) / chroma;
    return 4 + (float)(red - green) / chroma;
}

/* The most and the least of the three stay what they are (Smith, "Color Gamut Transform Pairs", 1978). */
static void turn(uint8_t *pixel, float sixths)
{
    static const float TURNS[COLOURS] = {5, 3, 1};
    int most = pixel[0] > pixel[1] ? pixel[0] : pixel[1], least = pixel[0] + pixel[1] - most;
    most = most > pixel[2] ? most : pixel[2];
    least = least < pixel[2] ? least : pixel[2];
    if (most == least)
        return;
    sixths += sixths_of(pixel, most, most - least);
    for (size_t c = 0; c < COLOURS; c++) {
        float place = sixths + TURNS[c];
        place -= 6 * floorf(place / 6);
        float share = fmaxf(0, fminf(1, fminf(place, 4 - place)));
        pixel[c] = (uint8_t)((float)most - share * (float)(most - least) + 0.5f);
    }
}

static void change_hue(uint8_t *at, size_t pixels, size_t channels, float turns)
{
    for (size_t i = 0; i < pixels && channels == COLOURS; i++)
        turn(at + i * COLOURS, 6 * turns);
}

static const struct change CHANGE[CHANGES] = {
    {"brightness", 1, 0, FACTOR_MAX, change_brightness},
    {"contrast", 1, 0, FACTOR_MAX, change_contrast},
    {"saturation", 1, 0, FACTOR_MAX, change_saturation},
    {"hue", 0, -0.5, 0.5, change_hue},
};

/* One number is how far from the neutral one. */
static enum weir_status read_change(const struct change *change, struct cfg_texts texts,
                                    struct picture_range *range, struct weir_error *err)
{
    double far = 0;
    *range = (struct picture_range){change->neutral, change->neutral};
    if (texts.count != 1) {
        const struct picture_numbers ends = {change->name, texts, 2, change->min, change->max};
        return preprocess_picture_read_range(&ends, range, err);
    }
    const struct picture_numbers one = {change->name, texts, 1, 0, change->max - change->neutral};
    enum weir_status status = preprocess_picture_read_numbers(&one, &far, err);
    range->least = fmax(change->neutral - far, change->min);
    range->most = change->neutral + far;
    return status;
}

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    const struct cfg_texts texts[CHANGES] = {options->brightness, options->contrast,
                                             options->saturation, options->hue};
    enum weir_status status = preprocess_picture_pick(schema, options->on, &ret_plan->in, err);
    for (size_t i = 0; i < CHANGES && status == WEIR_OK; i++)
        status = read_change(&CHANGE[i], texts[i], &state->range[i], err);
    if (status != WEIR_OK)
        return status;
    ret_plan->outputs = 1;
    ret_plan->output[0] = schema->column[ret_plan->in];
    return WEIR_OK;
}

static void shuffle(struct weir_rng *rng, size_t order[CHANGES])
{
    for (size_t i = 0; i < CHANGES; i++) {
        size_t other = weir_rng_below(rng, i + 1);
        order[i] = order[other];
        order[other] = i;
    }
}

/* All is drawn, whatever the options, so that one of them does not move the others. */
static void jitter(const struct state *state, struct weir_rng *rng, const struct picture *from,
                   uint8_t *to)
{
    size_t order[CHANGES] = {0};
    double amount[CHANGES];
    size_t pixels = (size_t)from->place.height * from->place.width;
    shuffle(rng, order);
    for (size_t i = 0; i < CHANGES; i++)
        amount[i] = preprocess_picture_draw(rng, state->range[i]);
    for (size_t i = 0; i < CHANGES && pixels > 0; i++) {
        size_t next = order[i];
        if (amount[next] != CHANGE[next].neutral)
            CHANGE[next].make(to, pixels, from->channels, (float)amount[next]);
    }
}

static void apply(void *owner, struct operator_call *call)
{
    for (size_t row = 0; row < call->rows; row++) {
        struct picture from = preprocess_picture_at(call->in, row);
        uint8_t *to = preprocess_picture_add_same(&call->out[0], &from);
        struct weir_rng rng;
        preprocess_operator_draw(call, row, call->step, &rng);
        if (call->batch->trains)
            jitter(owner, &rng, &from, to);
    }
}

const struct preprocess_operator preprocess_operator_color_jitter = {
    .name = "color_jitter",
    .summary = "brightness, contrast, saturation and hue changed by chance, while training",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .traits = OPERATOR_NEARLY_ELEMENTWISE | OPERATOR_VARIES,
    .plan = plan,
    .apply = apply,
    .by_row = true,
};
