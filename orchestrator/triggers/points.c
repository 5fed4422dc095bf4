/* Predictions of a check as an input of metrics. */
#include "orchestrator/triggers/points.h"

struct metric_input orchestrator_trigger_points_input(const struct trigger_points *points)
{
    return (struct metric_input){.values = points->values,
                                 .labels = points->labels,
                                 .count = points->count,
                                 .width = points->width,
                                 .numbers = points->numbers,
                                 .label_width = points->label_width,
                                 .work = points->work};
}

bool orchestrator_trigger_points_accuracy(const struct trigger_points *points, double *ret_accuracy)
{
    const struct metric_input input = orchestrator_trigger_points_input(points);
    return points->count > 0 &&
           orchestrator_metric_find("accuracy")->measure(NULL, &input, ret_accuracy);
}
