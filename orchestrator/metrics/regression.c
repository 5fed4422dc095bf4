/* Means of errors: see regression.h. */
#include "orchestrator/metrics/regression.h"

#include <math.h>

bool orchestrator_regression_measure(const struct metric_input *input, regression_error_fn *error,
                                     double *ret_value)
{
    double sum = 0;
    size_t count = 0;
    if (input->width != 1)
        return false;
    for (size_t i = 0; i < input->count; i++) {
        double label = (double)input->labels[i];
        if (isnan(input->values[i]))
            return false;
        double found = error((double)input->values[i] - label, label);
        if (isnan(found))
            continue;
        sum += found;
        count++;
    }
    *ret_value = sum / (double)count;
    return count > 0;
}
