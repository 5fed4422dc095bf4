/* Reading a grid, and where it begins: see grid.h. */
#include "orchestrator/evaluations/grid.h"

enum weir_status orchestrator_grid_init(struct grid *grid, const struct grid_options *options,
                                        const struct weir_yaml_node *node, struct weir_error *err)
{
    grid->from = INT64_MIN;
    grid->to = INT64_MAX;
    enum weir_status status = orchestrator_period_read(
        weir_yaml_get(node, "every"), "evaluation.every", options->every, &grid->every, err);
    if (status == WEIR_OK)
        status = orchestrator_moment_read(weir_yaml_get(node, "from"), "evaluation.from",
                                          options->from, &grid->from, err);
    if (status == WEIR_OK)
        status = orchestrator_moment_read(weir_yaml_get(node, "to"), "evaluation.to", options->to,
                                          &grid->to, err);
    if (status == WEIR_OK && grid->from >= grid->to)
        return weir_yaml_fail(weir_yaml_get(node, "to"), err,
                              "evaluation.to: expected a time after from, %.40s, found '%.40s'",
                              options->from, options->to);
    return status;
}

/* The last boundary that is not after `time_us`: of a long enough run of them that ends after it. */
static int64_t boundary_before(const struct orchestrator_period *every, int64_t time_us)
{
    const int64_t longest_month_us = INT64_C(31) * 86400 * 1000000;
    int64_t back = every->months > 0 ? every->months * longest_month_us : every->us;
    int64_t boundary = orchestrator_period_next(every, time_us - back);
    for (int64_t next = boundary; next <= time_us; next = orchestrator_period_after(every, next))
        boundary = next;
    return boundary;
}

static int64_t first_of(const struct grid *grid, const struct evaluation_stream *stream)
{
    if (grid->from != INT64_MIN)
        return orchestrator_period_next(&grid->every, grid->from - 1);
    return boundary_before(&grid->every, stream->models[0].until_time);
}

uint64_t orchestrator_grid_count(const void *state, const struct evaluation_stream *stream)
{
    const struct grid *grid = state;
    int64_t end = grid->to <= stream->end_time ? grid->to - 1 : stream->end_time;

    return orchestrator_period_count(&grid->every, first_of(grid, stream), end);
}

int64_t orchestrator_grid_first(const struct grid *grid, const struct evaluation_stream *stream)
{
    uint64_t count = orchestrator_grid_count(grid, stream);
    int64_t first = first_of(grid, stream);

    for (; count > EVALUATION_INTERVALS_MAX && grid->every.months > 0; count--)
        first = orchestrator_period_after(&grid->every, first);
    if (count > EVALUATION_INTERVALS_MAX)
        first += (int64_t)(count - EVALUATION_INTERVALS_MAX) * grid->every.us;
    return first;
}
