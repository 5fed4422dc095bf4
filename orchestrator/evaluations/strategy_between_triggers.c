/* between_triggers: the samples of each trigger, from after the newest of one to the newest of the next, which is in;
 * and when the stream has ended, what came after the last. Of more than EVALUATION_INTERVALS_MAX the newest count. */
#include "orchestrator/evaluations/strategy.h"

static const struct cfg_key OPTIONS[] = {CFG_END};

static enum weir_status init(void *state, const void *options, const struct weir_yaml_node *node,
                             struct weir_error *err)
{
    (void)state;
    (void)options;
    (void)node;
    (void)err;
    return WEIR_OK;
}

static void intervals(const void *state, const struct evaluation_stream *stream,
                      struct evaluation_intervals *intervals)
{
    (void)state;
    size_t max = EVALUATION_INTERVALS_MAX - (stream->ended ? 1 : 0);
    size_t first = stream->count > max ? stream->count - max : 1;
    for (size_t i = first; i < stream->count; i++)
        orchestrator_intervals_add(intervals, stream->models[i - 1].until_time + 1,
                                   stream->models[i].until_time + 1);
    if (stream->ended)
        orchestrator_intervals_add(intervals, stream->models[stream->count - 1].until_time + 1,
                                   stream->end_time + 1);
}

static uint64_t count(const void *state, const struct evaluation_stream *stream)
{
    (void)state;
    return stream->count == 0 ? 0 : stream->count - (stream->ended ? 0 : 1);
}

const struct evaluation_strategy orchestrator_strategy_between_triggers = {
    .name = "between_triggers",
    .summary = "the samples of each trigger that made a model, after those of the one before",
    .options = OPTIONS,
    .options_size = 1,
    .state_size = 1,
    .init = init,
    .intervals = intervals,
    .count = count,
};
