/* The losses: logistic (binary), softmax (one class of several), squared (a number). */
#include "trainer_client/models/loss.h"

#include "core/base/bytes.h"
#include "core/base/elementary.h"

#include <math.h>
#include <string.h>

/* ---- logistic: -log p(label), p = 1 / (1 + exp(-output)) ---- */

static enum weir_status width_logistic(size_t classes, uint32_t outputs, uint32_t *ret_width,
                                       struct weir_error *err)
{
    (void)outputs;
    if (classes > 2)
        return weir_fail(err, WEIR_INVALID, "loss logistic: %zu classes, expected 2: use softmax",
                         classes);
    *ret_width = 1;
    return WEIR_OK;
}

static bool accepts_binary(double label, uint32_t width)
{
    (void)width;
    return label == 0.0 || label == 1.0;
}

static double measure_logistic(const float *outputs, uint32_t width, double label, float *slope)
{
    (void)width;
    double output = outputs[0], odds = weir_exp(-fabs(output)); /* of the less probable class */
    double sign = label > 0.5 ? -output : output; /* loss = log(1 + exp(sign)), without overflow */
    slope[0] = (float)((output < 0.0 ? odds : 1.0) / (1.0 + odds) - label);
    return (sign > 0.0 ? sign : 0.0) + weir_ln1p(odds);
}

static void predict_logistic(float *outputs, uint32_t width)
{
    (void)width;
    outputs[0] = (float)(1.0 / (1.0 + weir_exp(-(double)outputs[0])));
}

/* ---- softmax: -log p(label), p = exp(output) / sum ---- */

static enum weir_status width_softmax(size_t classes, uint32_t outputs, uint32_t *ret_width,
                                      struct weir_error *err)
{
    size_t width = classes > 0 ? classes : outputs;
    if (width < 2 || width > (1 << 20))
        return weir_fail(
            err, WEIR_INVALID,
            "loss softmax: %zu classes, expected 2 or more: declare them with label.classes",
            width);
    *ret_width = (uint32_t)width;
    return WEIR_OK;
}

static bool accepts_class(double label, uint32_t width)
{
    return label >= 0.0 && label < (double)width && label == floor(label);
}

/* Replaces outputs by probabilities, in `to`, and returns log(sum exp). */
static double normalise(const float *outputs, uint32_t width, float *to)
{
    double highest = outputs[0], sum = 0.0;
    for (uint32_t k = 1; k < width; k++)
        highest = outputs[k] > highest ? (double)outputs[k] : highest;
    for (uint32_t k = 0; k < width; k++) {
        double share = weir_exp((double)outputs[k] - highest);
        sum += share;
        to[k] = (float)share;
    }
    for (uint32_t k = 0; k < width; k++)
        to[k] = (float)(to[k] / sum);
    return highest + weir_ln(sum);
}

static double measure_softmax(const float *outputs, uint32_t width, double label, float *slope)
{
    size_t class = (size_t)label;
    double total = normalise(outputs, width, slope);
    slope[class] -= 1.0f;
    return total - (double)outputs[class];
}

static void predict_softmax(float *outputs, uint32_t width)
{
    normalise(outputs, width, outputs);
}

/* ---- squared: |output - label|^2 / 2 ---- */

static enum weir_status width_squared(size_t classes, uint32_t outputs, uint32_t *ret_width,
                                      struct weir_error *err)
{
    (void)err;
    *ret_width = classes == 0 && outputs > 0 ? outputs : 1;
    return WEIR_OK;
}

static bool accepts_number(double label, uint32_t width)
{
    (void)width;
    return isfinite(label);
}

static double measure_squared(const float *outputs, uint32_t width, double label, float *slope)
{
    (void)width;
    double difference = (double)outputs[0] - label;
    slope[0] = (float)difference;
    return difference * difference / 2.0;
}

static double measure_vector(const float *outputs, uint32_t width, const float *label, float *slope)
{
    double sum = 0.0;
    for (uint32_t k = 0; k < width; k++)
        sum += measure_squared(outputs + k, 1, (double)label[k], slope + k);
    return sum;
}

static void predict_itself(float *outputs, uint32_t width)
{
    (void)outputs;
    (void)width;
}

// clang-format off
#define LOSSES(X)                                                                                  \
    X("logistic", .summary = "two classes, one output: its probability of class 1",                \
      .width = width_logistic, .accepts = accepts_binary, .expected = "0 or 1", .takes_classes = true, \
      .measure = measure_logistic, .predict = predict_logistic)                                    \
    X("softmax", .summary = "one class of several, one output each",                               \
      .width = width_softmax, .accepts = accepts_class, .expected = "the number of a class", .takes_classes = true, \
      .measure = measure_softmax, .predict = predict_softmax)                                      \
    X("squared", .summary = "a number, one output; or a vector, one output for each of its numbers",\
      .width = width_squared, .accepts = accepts_number, .expected = "a finite number",            \
      .measure = measure_squared, .measure_values = measure_vector, .predict = predict_itself)
// clang-format on

static const struct loss ALL[] = {
#define X(name_, ...) {.name = name_, __VA_ARGS__},
    LOSSES(X)
#undef X
};
const char *const TRAINER_LOSS_NAMES[] = {
#define X(name, ...) name,
    LOSSES(X)
#undef X
        NULL,
};

const struct loss *trainer_loss_at(size_t index)
{
    return index < WEIR_COUNT(ALL) ? &ALL[index] : NULL;
}

const struct loss *trainer_loss_find(const char *name)
{
    for (size_t i = 0; i < WEIR_COUNT(ALL); i++) {
        if (weir_str_equal(ALL[i].name, name))
            return &ALL[i];
    }
    return NULL;
}

double trainer_loss_label(const struct weir_batch *batch, size_t index)
{
    if (batch->label_type != WEIR_LABELS_FLOAT)
        return (double)batch->labels[index];
    double label = 0.0;
    memcpy(&label, &batch->labels[index], sizeof(label));
    return label;
}

static double weight_of(const struct loss_work *work, const struct weir_batch *batch, size_t s)
{
    return (double)(work->weights != NULL ? work->weights[s] : batch->weights[s]);
}

double trainer_loss_weight(const struct loss_work *work, const struct weir_batch *batch)
{
    double weight = 0.0;
    for (size_t s = 0; s < batch->samples; s++)
        weight += weight_of(work, batch, s);
    return weight;
}

void trainer_loss_scale(const struct loss_work *work, const struct weir_batch *batch, double weight)
{
    for (size_t s = 0; s < batch->samples; s++) {
        double share = weight > 0.0 ? weight_of(work, batch, s) / weight : 0.0;
        for (uint32_t k = 0; k < work->width; k++)
            work->slopes[s * work->width + k] *= (float)share;
    }
}

/* Refuses labels that this loss cannot measure at all. */
static enum weir_status check_labels(const struct loss_work *work, const struct weir_batch *batch,
                                     struct weir_error *err)
{
    if (batch->label_type == WEIR_LABELS_NONE)
        return weir_fail(err, WEIR_INVALID,
                         "loss %s: the samples have no labels: declare datasets[].label",
                         work->loss->name);
    if (batch->label_type != WEIR_LABELS_VALUES)
        return WEIR_OK;
    if (work->loss->measure_values == NULL)
        return weir_fail(err, WEIR_INVALID,
                         "loss %s: labels are vectors of %zu numbers, expected %s: use squared",
                         work->loss->name, batch->label_width, work->loss->expected);
    if (batch->label_width != work->width)
        return weir_fail(err, WEIR_INVALID,
                         "loss %s: labels are vectors of %zu numbers, but the model has %u "
                         "outputs: set start_from: scratch",
                         work->loss->name, batch->label_width, work->width);
    return WEIR_OK;
}

static enum weir_status measure_one(const struct loss_work *work, const struct weir_batch *batch,
                                    size_t s, double *ret_loss, struct weir_error *err)
{
    const float *outputs = work->outputs + s * work->width;
    float *slope = work->slopes + s * work->width;
    if (batch->label_type == WEIR_LABELS_VALUES) {
        *ret_loss = work->loss->measure_values(outputs, work->width,
                                               batch->label_values + s * batch->label_width, slope);
        return WEIR_OK;
    }
    double label = trainer_loss_label(batch, s);
    if (!work->loss->accepts(label, work->width))
        return weir_fail(err, WEIR_INVALID, "loss %s: sample %llu: label %g, expected %s",
                         work->loss->name, (unsigned long long)batch->ids[s], label,
                         work->loss->expected);
    double unit = trainer_loss_unit(&work->scale), scaled = (label - work->scale.mean) / unit;
    *ret_loss = work->loss->measure(outputs, work->width, scaled, slope) * unit * unit;
    return WEIR_OK;
}

enum weir_status trainer_loss_measure(struct loss_work *work, const struct weir_batch *batch,
                                      struct weir_error *err)
{
    work->weighted = work->weight = 0.0;
    enum weir_status status = check_labels(work, batch, err);
    for (size_t s = 0; status == WEIR_OK && s < batch->samples; s++) {
        double loss = 0.0;
        status = measure_one(work, batch, s, &loss, err);
        if (status != WEIR_OK)
            break;
        if (work->losses != NULL)
            work->losses[s] = loss;
        work->weighted += weight_of(work, batch, s) * loss;
        work->weight += weight_of(work, batch, s);
    }
    return status;
}
