/* Feature by feature or all at once, without what is missing: see statistic.h. */
#include "orchestrator/drift/statistic.h"

#include "core/base/memory.h"
#include "core/base/number.h"
#include "core/loop/work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double orchestrator_drift_correct(enum drift_correction correction, double *p_values, size_t count)
{
    if (count == 0)
        return NAN;
    qsort(p_values, count, sizeof(*p_values), weir_order_doubles);
    double least = p_values[0] * (double)count;
    for (size_t i = 1; i < count && correction == DRIFT_FDR; i++)
        least = fmin(least, p_values[i] * (double)count / (double)(i + 1));
    return fmin(least, 1);
}

/* ---- feature by feature ---- */

static double number_at(const struct drift_window *window, size_t width, size_t row, size_t feature)
{
    if (window->labels != NULL)
        return (double)window->labels[row];
    return (double)window->values[row * width + feature];
}

/* Returns how many are finite. */
static size_t take_column(const struct drift_window *window, size_t width, size_t feature,
                          double *ret_column)
{
    size_t count = 0;
    for (size_t i = 0; i < window->count; i++) {
        double value = number_at(window, width, i, feature);
        if (isfinite(value))
            ret_column[count++] = value;
    }
    qsort(ret_column, count, sizeof(*ret_column), weir_order_doubles);
    return count;
}

static struct drift_feature take_feature(const struct drift_input *input, size_t index,
                                         double *columns)
{
    double *current = columns + input->reference.count;
    struct drift_feature feature = {
        .reference = columns,
        .current = current,
        .reference_count = take_column(&input->reference, input->width, index, columns),
        .current_count = take_column(&input->current, input->width, index, current),
        .classes = input->reference.labels != NULL,
        .p_value = input->p_value,
    };
    feature.reference_missing = input->reference.count - feature.reference_count;
    feature.current_missing = input->current.count - feature.current_count;
    return feature;
}

static bool measure_features(const struct drift_request *asked, const struct drift_input *input,
                             struct drift_score *score)
{
    WEIR_AUTO_FREE double *columns =
        weir_calloc(input->reference.count + input->current.count, sizeof(*columns));
    WEIR_AUTO_FREE double *p_values = weir_calloc(input->width + 1, sizeof(*p_values));
    double sum = 0;
    for (size_t i = 0; i < input->width && weir_work_goes_on(input->work, i, input->width); i++) {
        struct drift_feature feature = take_feature(input, i, columns);
        struct drift_distance found = {.p_value = NAN};
        if (!asked->statistic->measure_feature(asked->options, &feature, &found))
            continue;
        p_values[score->features++] = found.p_value;
        sum += found.distance;
    }
    if (score->features == 0)
        return false;
    score->distance = sum / (double)score->features;
    if (input->p_value && asked->statistic->has_p_value)
        score->p_value = orchestrator_drift_correct(asked->correction, p_values, score->features);
    return true;
}

static double mean_of(const double *column, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += column[i];
    return count > 0 ? sum / (double)count : (double)NAN;
}

static struct drift_moved moved_of(const struct drift_input *input, size_t index,
                                   const struct drift_feature *feature, double distance)
{
    return (struct drift_moved){
        .feature = index,
        .distance = distance,
        .reference_mean = mean_of(feature->reference, feature->reference_count),
        .current_mean = mean_of(feature->current, feature->current_count),
        .reference_missing = (double)feature->reference_missing / (double)input->reference.count,
        .current_missing = (double)feature->current_missing / (double)input->current.count,
    };
}

static int compare_moved(const void *a, const void *b)
{
    const struct drift_moved *left = a, *right = b;
    if (left->distance != right->distance)
        return left->distance > right->distance ? -1 : 1;
    return left->feature < right->feature ? -1 : 1;
}

size_t orchestrator_drift_measure_each(const struct drift_request *asked,
                                       const struct drift_input *input,
                                       struct drift_moved *ret_moved)
{
    size_t count = 0;
    if (input->reference.count == 0 || input->current.count == 0)
        return 0;
    WEIR_AUTO_FREE double *columns =
        weir_calloc(input->reference.count + input->current.count, sizeof(*columns));
    for (size_t i = 0; i < input->width && weir_work_goes_on(input->work, i, input->width); i++) {
        struct drift_feature feature = take_feature(input, i, columns);
        struct drift_distance found = {.p_value = NAN};
        if (asked->statistic->measure_feature(asked->options, &feature, &found))
            ret_moved[count++] = moved_of(input, i, &feature, found.distance);
    }
    qsort(ret_moved, count, sizeof(*ret_moved), compare_moved);
    return count;
}

/* ---- all features at once ---- */

static bool is_whole(const float *row, size_t width)
{
    for (size_t i = 0; i < width; i++)
        if (!isfinite(row[i]))
            return false;
    return true;
}

/* The rows without holes: the window itself when all are, else a copy, which the caller frees. */
static struct drift_window whole_rows(const struct drift_window *window, size_t width,
                                      float **ret_copy)
{
    size_t first = 0;
    while (first < window->count && is_whole(window->values + first * width, width))
        first++;
    if (first == window->count)
        return *window;
    struct drift_window whole = {.count = first};
    *ret_copy = weir_calloc(window->count, width * sizeof(**ret_copy));
    memcpy(*ret_copy, window->values, first * width * sizeof(**ret_copy));
    for (size_t i = first + 1; i < window->count; i++) {
        const float *row = window->values + i * width;
        if (is_whole(row, width))
            memcpy(*ret_copy + whole.count++ * width, row, width * sizeof(*row));
    }
    whole.values = *ret_copy;
    return whole;
}

static bool measure_at_once(const struct drift_request *asked, const struct drift_input *input,
                            struct drift_score *score)
{
    WEIR_AUTO_FREE float *reference = NULL;
    WEIR_AUTO_FREE float *current = NULL;
    struct drift_distance found = {.p_value = NAN};
    struct drift_input whole = *input;
    whole.reference = whole_rows(&input->reference, input->width, &reference);
    whole.current = whole_rows(&input->current, input->width, &current);
    if (whole.reference.count == 0 || whole.current.count == 0 ||
        !asked->statistic->measure(asked->options, &whole, &found))
        return false;
    *score =
        (struct drift_score){.distance = found.distance, .p_value = found.p_value, .features = 1};
    return true;
}

bool orchestrator_drift_measure(const struct drift_request *asked, const struct drift_input *input,
                                struct drift_score *ret_score)
{
    bool labels = input->reference.labels != NULL;
    struct drift_score score = {.p_value = NAN};
    if (input->reference.count == 0 || input->current.count == 0 || input->width == 0 ||
        (labels && !asked->statistic->takes_labels))
        return false;
    bool found = asked->statistic->measure_feature != NULL ? measure_features(asked, input, &score)
                                                           : measure_at_once(asked, input, &score);
    if (found)
        *ret_score = score;
    return found;
}
