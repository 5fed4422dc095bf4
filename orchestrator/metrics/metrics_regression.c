/* mse, rmse, mae, mape, r2: how far a regression is off. Of labels that are vectors each number is an output of its
 * own, and the outputs' values are averaged. */
#include "orchestrator/metrics/metric.h"

#include <math.h>

static const struct cfg_key OPTIONS[] = {CFG_END};

static double label_of(const struct metric_input *input, size_t sample, size_t output)
{
    return input->numbers == NULL ? (double)input->labels[sample]
                                  : input->numbers[sample * input->label_width + output];
}

/* ---- one output: false when it is undefined ---- */

/* Error of one sample, which lies `off` its label; NaN: it is left out. */
typedef double error_fn(double off, double label);

static double squared(double off, double label)
{
    (void)label;
    return off * off;
}

static double absolute(double off, double label)
{
    (void)label;
    return fabs(off);
}

static double relative(double off, double label)
{
    return fabs(label) > 0 ? fabs(off / label) : (double)NAN;
}

/* The mean error over the samples; NaN when the model gives no number. */
static bool mean_error(const struct metric_input *input, size_t output, error_fn *error,
                       double *ret_value)
{
    double sum = 0;
    size_t count = 0;

    for (size_t i = 0; i < input->count; i++) {
        double label = label_of(input, i, output);
        double value = (double)input->values[i * input->width + output], found;

        if (isnan(value)) {
            *ret_value = value;
            return true;
        }
        found = error(value - label, label);
        if (isnan(found))
            continue;
        sum += found;
        count++;
    }
    *ret_value = sum / (double)count;
    return count > 0;
}

static bool mse(const struct metric_input *input, size_t output, double *ret_value)
{
    return mean_error(input, output, squared, ret_value);
}

static bool rmse(const struct metric_input *input, size_t output, double *ret_value)
{
    bool is_defined = mean_error(input, output, squared, ret_value);

    *ret_value = is_defined ? sqrt(*ret_value) : 0;
    return is_defined;
}

static bool mae(const struct metric_input *input, size_t output, double *ret_value)
{
    return mean_error(input, output, absolute, ret_value);
}

static bool mape(const struct metric_input *input, size_t output, double *ret_value)
{
    return mean_error(input, output, relative, ret_value);
}

static bool r2(const struct metric_input *input, size_t output, double *ret_value)
{
    double mean = 0, left = 0, all = 0;

    for (size_t i = 0; i < input->count; i++)
        mean += label_of(input, i, output) / (double)input->count;
    for (size_t i = 0; i < input->count; i++) {
        double label = label_of(input, i, output);
        double off = (double)input->values[i * input->width + output] - label;

        left += off * off;
        all += (label - mean) * (label - mean);
    }
    *ret_value = 1 - left / all;
    return all > 0;
}

/* ---- all outputs ---- */

/* The mean over the outputs that have a value. False: none has, or the model does not give one number for each of the
 * label. */
static bool mean_of(const struct metric_input *input,
                    bool (*of_output)(const struct metric_input *, size_t, double *),
                    double *ret_value)
{
    double sum = 0;
    size_t count = 0;

    if (input->width != (input->numbers == NULL ? 1 : input->label_width))
        return false;
    for (size_t output = 0; output < input->width; output++) {
        double value;

        if (!of_output(input, output, &value))
            continue;
        sum += value;
        count++;
    }
    *ret_value = sum / (double)count;
    return count > 0;
}

#define REGRESSION(name_, summary_, better)                                         \
    static bool measure_##name_(const void *options, const struct metric_input *in, \
                                double *ret_value)                                  \
    {                                                                               \
        (void)options;                                                              \
        return mean_of(in, name_, ret_value);                                       \
    }                                                                               \
    const struct metric orchestrator_metric_##name_ = {                             \
        .name = #name_,                                                             \
        .summary = summary_,                                                        \
        .options = OPTIONS,                                                         \
        .options_size = 1,                                                          \
        .higher_is_better = better,                                                 \
        .of_vectors = true,                                                         \
        .measure = measure_##name_,                                                 \
    };

REGRESSION(mse, "mean squared error of a regression", false)
REGRESSION(rmse, "root of the mean squared error of a regression", false)
REGRESSION(mae, "mean absolute error of a regression", false)
REGRESSION(mape, "mean absolute error as a share of the label; labels of 0 are left out", false)
REGRESSION(
    r2,
    "share of the variance of the labels that a regression explains; undefined when they are all alike",
    true)
