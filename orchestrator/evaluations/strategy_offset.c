/* offset: intervals that lie beside the samples a model was trained on: so far before the first of them, or so far
 * after the last. */
#include "orchestrator/evaluations/strategy.h"

#include <stdlib.h>
#include <string.h>

enum { OFFSETS_MAX = 32 };

struct offset_options {
    struct cfg_texts offsets;
};

struct offset {
    size_t count;
    int64_t at[OFFSETS_MAX]; /* INT64_MIN + 1 and INT64_MAX: without end */
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXTS(struct offset_options, offsets, .required = true,
              .doc =
                  "of each model: 7d is the week after its newest sample, -7d the week before its "
                  "oldest, inf and -inf all that come after and before"),
    CFG_END,
};

static bool read_offset(const char *text, int64_t *ret_offset)
{
    bool before = text[0] == '-';
    if (before || text[0] == '+')
        text++;
    if (strcmp(text, "inf") == 0)
        *ret_offset = INT64_MAX;
    else if (!cfg_parse_duration(text, ret_offset) || *ret_offset <= 0)
        return false;
    if (before)
        *ret_offset = -*ret_offset;
    return true;
}

static enum weir_status init(void *state, const void *options, const struct weir_yaml_node *node,
                             struct weir_error *err)
{
    struct offset *offset = state;
    const struct cfg_texts *given = &((const struct offset_options *)options)->offsets;
    if (given->count == 0 || given->count > OFFSETS_MAX)
        return weir_yaml_fail(node, err, "evaluation.offsets: expected 1 to %d, found %zu",
                              OFFSETS_MAX, given->count);
    for (size_t i = 0; i < given->count; i++) {
        const struct weir_yaml_node *item = weir_yaml_at(given->node, i);
        const char *text = weir_yaml_text(item);
        if (text == NULL || !read_offset(text, &offset->at[offset->count++]))
            return weir_yaml_fail(
                item, err, "evaluation.offsets: expected 7d, -7d, inf or -inf, found '%.40s'",
                text == NULL ? "" : text);
    }
    return WEIR_OK;
}

static int64_t clamped_add(int64_t time_us, int64_t offset)
{
    int64_t sum = 0;
    if (llabs(offset) != INT64_MAX && !__builtin_add_overflow(time_us, offset, &sum))
        return sum;
    return offset > 0 ? INT64_MAX : INT64_MIN + 1;
}

static void intervals_of(const void *state, const struct evaluation_stream *stream, size_t model,
                         struct evaluation_intervals *intervals)
{
    const struct offset *offset = state;
    int64_t behind = stream->models[model].until_time + 1;
    for (size_t i = 0; i < offset->count; i++) {
        if (offset->at[i] > 0) {
            orchestrator_intervals_add(intervals, behind, clamped_add(behind, offset->at[i]));
        } else if (model > 0) { /* nothing lies before the first one's samples */
            int64_t first = stream->models[model - 1].until_time + 1;
            orchestrator_intervals_add(intervals, clamped_add(first, offset->at[i]), first);
        }
    }
}

const struct evaluation_strategy orchestrator_strategy_offset = {
    .name = "offset",
    .summary = "intervals beside the samples that each model was trained on",
    .options = OPTIONS,
    .options_size = sizeof(struct offset_options),
    .state_size = sizeof(struct offset),
    .init = init,
    .intervals_of = intervals_of,
};
