/* time: a trigger whenever event time crosses a boundary of a fixed grid ("every: 1 month" is the
 * first of each month at midnight UTC). It ends before the first sample behind the boundary.
 * Boundaries that pass without samples between them make one trigger together, not one each. In a live pipeline that has
 * taken all there is, the clock crosses boundaries, too. */
#include "orchestrator/triggers/trigger.h"

#include "core/base/clock.h"
#include "orchestrator/period.h"

#include <string.h>

struct time_options {
    const char *every;
};

struct time_state {
    const char *every;
    struct orchestrator_period period;
    uint64_t started;
    int64_t next_us;    /* boundary that fires when crossed */
    int64_t crossed_us; /* boundary crossed last, for explain() */
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct time_options, every, .required = true,
             .doc =
                 "length of event time between triggers: 1h, 1d, 1w, 1 month, 1d at 03:00 (UTC)"),
    CFG_END,
};

static enum weir_status init(void *state, const void *options, const struct weir_yaml_node *node,
                             struct weir_error *err)
{
    struct time_state *time = state;
    time->every = ((const struct time_options *)options)->every;
    return orchestrator_period_read(weir_yaml_get(node, "every"), time->every, &time->period, err);
}

static bool cross(struct time_state *time, int64_t time_us)
{
    if (time_us < time->next_us)
        return false;
    time->crossed_us = time->next_us;
    time->next_us = orchestrator_period_next(&time->period, time_us);
    return true;
}

static bool before(void *state, const struct trigger_sample *sample)
{
    struct time_state *time = state;
    if (time->started == 0) {
        time->started = 1;
        time->next_us = orchestrator_period_next(&time->period, sample->time_us);
        return false;
    }
    return cross(time, sample->time_us);
}

static bool tick(void *state, int64_t now_us)
{
    struct time_state *time = state;
    return time->started != 0 && cross(time, now_us);
}

static void explain(const void *state, struct weir_buf *out)
{
    const struct time_state *time = state;
    char text[WEIR_TIME_TEXT_MAX];
    weir_time_format(time->crossed_us, text);
    char *midnight = strstr(text, "T00:00:00Z");
    if (midnight != NULL)
        *midnight = '\0'; /* a day says it all */
    weir_buf_printf(out, "%s has passed (every %s)", text, time->every);
}

static void save(const void *state, struct weir_buf *out)
{
    const struct time_state *time = state;
    weir_buf_append_u64(out, time->started);
    weir_buf_append_u64(out, (uint64_t)time->next_us);
    weir_buf_append_u64(out, (uint64_t)time->crossed_us);
}

static enum weir_status restore(void *state, struct weir_bytes *bytes, struct weir_error *err)
{
    struct time_state *time = state;
    uint64_t saved[3] = {0};
    for (size_t i = 0; i < WEIR_COUNT(saved); i++) {
        enum weir_status status = orchestrator_trigger_take_u64(bytes, &saved[i], err);
        if (status != WEIR_OK)
            return status;
    }
    time->started = saved[0];
    time->next_us = (int64_t)saved[1];
    time->crossed_us = (int64_t)saved[2];
    return WEIR_OK;
}

const struct trigger_policy trigger_time = {
    .name = "time",
    .summary = "whenever event time crosses a boundary of days, weeks, months",
    .options = OPTIONS,
    .options_size = sizeof(struct time_options),
    .state_size = sizeof(struct time_state),
    .init = init,
    .before = before,
    .tick = tick,
    .explain = explain,
    .save = save,
    .restore = restore,
};
