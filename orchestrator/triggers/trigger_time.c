/* time: a trigger whenever event time crosses a boundary of a fixed grid ("every: 1 month" is the
 * first of each month at midnight UTC). It ends before the first sample after the boundary.
 * Boundaries that pass without samples between them make one trigger together, not one each. In a
 * live pipeline that has taken all there is, the clock crosses boundaries, too. */
#include "orchestrator/triggers/trigger.h"

#include "core/base/clock.h"
#include "orchestrator/values/period.h"

#include <string.h>

struct time_options {
    const char *every, *from, *to;
};

static const int64_t CORRECTION_US_MAX = INT64_C(3600) * 1000000;

/* As saved. */
enum { NOT_STARTED, STARTED, CROSSED_BY_CLOCK /* the newest boundary, and not by a sample */ };

struct time_state {
    const char *every;
    struct orchestrator_period period;
    int64_t from_us, to_us; /* boundaries that count: the first is in, the last is not */
    uint64_t started;
    int64_t next_us;    /* boundary that fires when crossed */
    int64_t crossed_us; /* boundary crossed last, for explain() */
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct time_options, every, .required = true,
             .doc =
                 "length of event time between triggers: 1h, 1d, 1w, 1 month, 1d at 03:00 (UTC)"),
    CFG_TEXT(struct time_options, from,
             .doc = "boundaries before this time fire nothing: what is older is learnt from with "
                    "the first one that does"),
    CFG_TEXT(struct time_options, to,
             .doc = "from this time on nothing fires: a pipeline that trains once names two "
                    "times with one boundary between them"),
    CFG_END,
};

/* The first one after `time_us` that counts; INT64_MAX: none. */
static int64_t next_boundary(const struct time_state *time, int64_t time_us)
{
    int64_t boundary = orchestrator_period_next(
        &time->period, time_us < time->from_us ? time->from_us - 1 : time_us);
    return boundary < time->to_us ? boundary : INT64_MAX;
}

static enum weir_status init(void *state, const void *options, const struct weir_yaml_node *node,
                             struct weir_error *err)
{
    struct time_state *time = state;
    const struct time_options *given = options;
    *time = (struct time_state){.every = given->every, .from_us = INT64_MIN, .to_us = INT64_MAX};
    const struct weir_yaml_node *from = weir_yaml_get(node, "from"),
                                *to = weir_yaml_get(node, "to");
    enum weir_status status = orchestrator_period_read(
        weir_yaml_get(node, "every"), "trigger.every", time->every, &time->period, err);
    if (status == WEIR_OK)
        status = orchestrator_moment_read(from, "trigger.from", given->from, &time->from_us, err);
    if (status == WEIR_OK)
        status = orchestrator_moment_read(to, "trigger.to", given->to, &time->to_us, err);
    if (status == WEIR_OK && from != NULL && to != NULL &&
        next_boundary(time, time->from_us - 1) == INT64_MAX)
        return weir_yaml_fail(
            to, err, "trigger.to: found no boundary (every %s) from %s to %s, expected one",
            time->every, given->from, given->to);
    return status;
}

static bool cross(struct time_state *time, int64_t time_us)
{
    if (time_us < time->next_us)
        return false;
    time->crossed_us = time->next_us;
    time->next_us = next_boundary(time, time_us);
    return true;
}

static bool before(void *state, const struct trigger_sample *sample)
{
    struct time_state *time = state;
    if (time->started == NOT_STARTED) {
        time->started = STARTED;
        time->next_us = next_boundary(time, sample->time_us);
        return false;
    }
    bool crossed = cross(time, sample->time_us);
    if (crossed)
        time->started = STARTED;
    return crossed;
}

/* A clock that jumps forwards is one trigger. Set back after that, it must not keep the next one away until it has
 * come there again: boundaries go on from where it stands. Corrections of less than an hour are none. */
static bool tick(void *state, int64_t now_us)
{
    struct time_state *time = state;
    if (time->started == CROSSED_BY_CLOCK &&
        next_boundary(time, now_us + CORRECTION_US_MAX) < time->next_us) {
        time->started = STARTED;
        time->next_us = next_boundary(time, now_us);
    }
    bool crossed = time->started != NOT_STARTED && cross(time, now_us);
    if (crossed)
        time->started = CROSSED_BY_CLOCK;
    return crossed;
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

static const struct trigger_events EVENTS = {.tick = tick};

const struct trigger_policy orchestrator_trigger_time = {
    .name = "time",
    .summary = "whenever event time crosses a boundary of days, weeks, months",
    .options = OPTIONS,
    .options_size = sizeof(struct time_options),
    .state_size = sizeof(struct time_state),
    .events = &EVENTS,
    .init = init,
    .before = before,
    .explain = explain,
    .save = save,
    .restore = restore,
};
