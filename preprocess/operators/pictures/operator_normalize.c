/* normalize: pictures of one size → f32, (pixel / 255 - mean) / std per channel. When `to_chw` follows,
 * the planes are written at once. */
#include "preprocess/operators/pictures/picture.h"
#include "preprocess/operators/tensor_maker.h"

#include <math.h>

extern const struct preprocess_operator preprocess_operator_to_chw;

enum { CHANNELS_MAX = WEIR_TENSOR_STEP_CHANNELS_MAX, LEVELS = 256, MEAN_MAX = 2 };

struct options {
    const char *on;
    struct cfg_texts mean, std;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of pictures of one size"),
    CFG_TEXTS(struct options, mean,
              .doc = "one number, or one per channel, of pixels from 0 to 1; by default 0"),
    CFG_TEXTS(struct options, std, .doc = "one number, or one per channel; by default 1"),
    CFG_END,
};

static enum weir_status read_channels(const char *name, struct cfg_texts texts, double least,
                                      size_t channels, double *values, struct weir_error *err)
{
    const struct picture_numbers from = {name, texts, channels, least, 1e6};
    return texts.count > 0 ? preprocess_picture_read_numbers(&from, values, err) : WEIR_OK;
}

/* That of pixels from 0 to 255 would make all of them alike. */
static enum weir_status check_mean(const double *mean, size_t channels, struct weir_error *err)
{
    for (size_t c = 0; c < channels; c++)
        if (fabs(mean[c]) > MEAN_MAX)
            return weir_fail(err, WEIR_INVALID,
                             "mean: found %g, expected that of pixels divided by 255, which is "
                             "%.3f then; std likewise",
                             mean[c], mean[c] / (LEVELS - 1.0));
    return WEIR_OK;
}

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct tensor_maker *maker = owner;
    const struct options *options = given;
    double mean[CHANNELS_MAX] = {0, 0, 0}, std[CHANNELS_MAX] = {1, 1, 1};
    enum weir_status status = preprocess_picture_pick(schema, options->on, &ret_plan->in, err);
    if (status != WEIR_OK)
        return status;
    const struct column_about *about = &schema->column[ret_plan->in];
    if (about->kind != COLUMN_DENSE)
        return weir_fail(err, WEIR_INVALID,
                         "column %s holds pictures of any size, expected one size: crop them "
                         "first, or resize them to a height and a width, such as [32, 32]",
                         about->name);
    size_t channels = about->shape[2];
    weir_require(channels <= CHANNELS_MAX);
    status = read_channels("mean", options->mean, -1e6, channels, mean, err);
    if (status == WEIR_OK)
        status = check_mean(mean, channels, err);
    if (status == WEIR_OK)
        status = read_channels("std", options->std, 1e-6, channels, std, err);
    if (status != WEIR_OK)
        return status;
    maker->step = (struct weir_tensor_step){.kind = WEIR_STEP_NORMALIZE};
    for (size_t c = 0; c < channels; c++) {
        maker->step.factor[c] = (float)(1 / (LEVELS - 1.0) / std[c]);
        maker->step.offset[c] = (float)(-mean[c] / std[c]);
    }
    return preprocess_tensor_maker_plan(maker, about, ret_plan, err);
}

static void absorb(void *owner)
{
    struct tensor_maker *maker = owner;
    maker->step.option = 1;
}

const struct preprocess_operator preprocess_operator_normalize = {
    .name = "normalize",
    .summary = "pictures to f32, (pixel / 255 - mean) / std per channel",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct tensor_maker),
    .absorbs = &preprocess_operator_to_chw,
    .absorb = absorb,
    .traits = OPERATOR_TOTAL | OPERATOR_ELEMENTWISE,
    .plan = plan,
    .apply = preprocess_tensor_maker_apply,
    .step = preprocess_tensor_maker_step,
    .by_row = true,
};
