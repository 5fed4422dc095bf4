/* Means of errors: see regression.h. */
#include "orchestrator/metrics/regression.h"

#include <math.h>

double orchestrator_label_number(const struct metric_input *input, size_t sample, size_t output)
{
    return input->numbers == NULL ? (double)input->labels[sample]
                                  : input->numbers[sample * input->label_width + output];
}

bool orchestrator_regression_error(const struct metric_input *input, size_t output,
                                   regression_error_fn *error, double *ret_value)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < input->count; i++) {
        double label = orchestrator_label_number(input, i, output);
        double value = (double)input->values[i * input->width + output];
        if (isnan(value)) {
            *ret_value = value;
            return true;
        }
        double found = error(value - label, label);
        if (isnan(found))
            continue;
        sum += found;
        count++;
    }
    *ret_value = sum / (double)count;
    return count > 0;
}

bool orchestrator_regression_mean(const struct metric_input *input, regression_output_fn *of_output,
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
