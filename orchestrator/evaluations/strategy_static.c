/* static: the intervals that the file names. */
#include "orchestrator/evaluations/strategy.h"
#include "orchestrator/values/period.h"

#include <stdlib.h>

enum { GIVEN_MAX = 256 };

struct static_options {
    const struct weir_yaml_node *intervals;
};

static const struct cfg_key OPTIONS[] = {
    CFG_NODE(
        struct static_options, intervals, .required = true,
        .doc =
            "list of {from: TIME, to: TIME}; without `from`, all before; without `to`, all after"),
    CFG_END,
};

struct given_interval {
    const char *from, *to;
};

static const struct cfg_key INTERVAL_KEYS[] = {
    CFG_TEXT(struct given_interval, from,
             .doc = "first time of the interval (default: the beginning)"),
    CFG_TEXT(struct given_interval, to, .doc = "first time after it (default: the end)"),
    CFG_END,
};

static int by_beginning(const void *a, const void *b)
{
    const struct evaluation_interval *left = a;
    const struct evaluation_interval *right = b;
    if (left->from != right->from)
        return left->from < right->from ? -1 : 1;
    return (left->to > right->to) - (left->to < right->to);
}

static enum weir_status read_interval(struct evaluation_intervals *given,
                                      const struct weir_yaml_node *node, struct weir_error *err)
{
    struct given_interval section = {0};
    struct evaluation_interval interval = {INT64_MIN + 1, INT64_MAX};
    enum weir_status status =
        cfg_read(INTERVAL_KEYS, CFG_CLOSED, node, "evaluation.intervals", NULL, &section, err);
    if (status == WEIR_OK)
        status = orchestrator_moment_read(weir_yaml_get(node, "from"), "evaluation.intervals.from",
                                          section.from, &interval.from, err);
    if (status == WEIR_OK)
        status = orchestrator_moment_read(weir_yaml_get(node, "to"), "evaluation.intervals.to",
                                          section.to, &interval.to, err);
    if (status == WEIR_OK && interval.from >= interval.to)
        return weir_yaml_fail(weir_yaml_get(node, "to"), err,
                              "evaluation.intervals.to: expected a time after from, %.40s, found "
                              "'%.40s'",
                              section.from, section.to);
    if (status == WEIR_OK)
        orchestrator_intervals_add(given, interval.from, interval.to);
    return status;
}

static enum weir_status init(void *state, const void *options, const struct weir_yaml_node *node,
                             struct weir_error *err)
{
    struct evaluation_intervals *given = state;
    const struct weir_yaml_node *list = ((const struct static_options *)options)->intervals;
    size_t count = weir_yaml_length(list);
    enum weir_status status = WEIR_OK;
    if (count == 0 || count > GIVEN_MAX)
        return weir_yaml_fail(node, err,
                              "evaluation.intervals: expected 1 to %d intervals, found %zu",
                              GIVEN_MAX, count);
    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        status = read_interval(given, weir_yaml_at(list, i), err);
    if (status == WEIR_OK)
        qsort(given->at, given->count, sizeof(*given->at), by_beginning);
    return status;
}

static void intervals(const void *state, const struct evaluation_stream *stream,
                      struct evaluation_intervals *intervals)
{
    const struct evaluation_intervals *given = state;
    (void)stream;
    for (size_t i = 0; i < given->count; i++)
        orchestrator_intervals_add(intervals, given->at[i].from, given->at[i].to);
}

static void fini(void *state)
{
    orchestrator_intervals_fini(state);
}

const struct evaluation_strategy orchestrator_strategy_static = {
    .name = "static",
    .summary = "the intervals that the file names",
    .options = OPTIONS,
    .options_size = sizeof(struct static_options),
    .state_size = sizeof(struct evaluation_intervals),
    .init = init,
    .intervals = intervals,
    .fini = fini,
};
