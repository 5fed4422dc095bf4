/* Mean, deviation and range of numbers. */
#include "preprocess/operators/moments.h"

#include <math.h>
#include <stdbool.h>

void preprocess_moments_add(struct moments *moments, double value)
{
    if (!isfinite(value))
        return;
    double delta = value - moments->mean;
    bool is_first = moments->count == 0;
    moments->least = is_first || value < moments->least ? value : moments->least;
    moments->greatest = is_first || value > moments->greatest ? value : moments->greatest;
    moments->mean += delta / (double)++moments->count;
    moments->squares += delta * (value - moments->mean);
}

void preprocess_moments_merge(struct moments *to, const struct moments *from)
{
    if (from->count == 0)
        return;
    if (to->count == 0) {
        *to = *from;
        return;
    }
    double total = (double)(to->count + from->count), delta = from->mean - to->mean;
    double share = (double)from->count / total;
    to->mean += delta * share;
    to->squares += from->squares + delta * delta * ((double)to->count * share);
    to->count += from->count;
    to->least = from->least < to->least ? from->least : to->least;
    to->greatest = from->greatest > to->greatest ? from->greatest : to->greatest;
}

double preprocess_moments_deviation(const struct moments *moments)
{
    double deviation = moments->count > 0 ? sqrt(moments->squares / (double)moments->count) : 0;
    return deviation > 0 ? deviation : 1;
}

double preprocess_moments_range(const struct moments *moments)
{
    double range = moments->greatest - moments->least;
    return range > 0 ? range : 1;
}
