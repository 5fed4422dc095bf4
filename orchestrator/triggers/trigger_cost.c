/* cost: a trigger when going on without training has cost more than training would. What waiting costs is an area over
 * event time: of delay, every sample that no model has learnt from, for as long as that is so (sample seconds); of
 * misclassifications, every one that a model trained now would have avoided, likewise. What training costs is foretold
 * from the trainings before by a straight line through (new samples, seconds), or given. A second of training is worth
 * `per_training_second` of the area; with every trigger it begins at 0 again. */
#include "orchestrator/triggers/trigger.h"

#include "orchestrator/triggers/checks.h"
#include "orchestrator/triggers/points.h"
#include "orchestrator/triggers/window.h"
#include "orchestrator/values/json_number.h"

#include <math.h>
#include <stdlib.h>

enum { TRAININGS_MAX = 16 };

enum cost_of { OF_DELAY, OF_MISCLASSIFICATIONS };
static const char *const OF[] = {"delay", "misclassifications", NULL};

struct cost_options {
    struct trigger_checks_options checks;
    int of;
    double per_training_second, seconds_per_sample, expected_accuracy;
    uint64_t sample_size;
};

struct cost {
    const struct cost_options *options;
    struct trigger_checks checks;
    struct window fresh; /* since the check before; empty of delay */
    uint64_t taken;      /* samples of the stream */
    uint64_t backlog;    /* of them, since the newest trigger */
    uint64_t newest_us;  /* event time of the newest sample, of the newest at the check before */
    uint64_t checked_us;
    double avoidable; /* misclassifications since the newest trigger */
    double area;
    uint64_t trainings; /* known, the newest ones */
    double samples[TRAININGS_MAX], seconds[TRAININGS_MAX];
    uint64_t *ids; /* of the newest request */
};

static const struct cfg_key OPTIONS[] = {
    TRIGGER_CHECKS_KEYS(struct cost_options, checks),
    CFG_CHOICE(
        struct cost_options, of, .fallback = "delay", .choices = OF,
        .doc =
            "cost of waiting: samples that no model has learnt from, or misclassifications that a "
            "new model would avoid, times the waiting time"),
    CFG_F64(struct cost_options, per_training_second, .required = true, .min = 1e-9, .max = 1e18,
            .doc = "sample seconds (misclassification seconds) that a second of training is worth"),
    CFG_F64(
        struct cost_options, seconds_per_sample, .min = 0, .max = 1e6,
        .doc =
            "seconds of training a sample; 0: predicted from earlier trainings, whose times depend "
            "on the machine"),
    CFG_F64(struct cost_options, expected_accuracy, .min = 0, .max = 1,
            .doc = "of a model trained now; with of: misclassifications"),
    CFG_U64(struct cost_options, sample_size, .fallback = "5000", .min = 1, .max = 20000,
            .doc = "samples that are predicted at a check, with of: misclassifications"),
    CFG_END,
};

static enum weir_status init(void *state, const void *options, const struct weir_yaml_node *node,
                             struct weir_error *err)
{
    struct cost *cost = state;
    cost->options = options;
    bool predicts = cost->options->of == OF_MISCLASSIFICATIONS;
    if (predicts != (weir_yaml_get(node, "expected_accuracy") != NULL)) {
        return weir_yaml_fail(node, err,
                              "trigger: cost: expected of: misclassifications and "
                              "expected_accuracy together");
    }
    cost->fresh = (struct window){.length = {.samples = UINT64_MAX},
                                  .room = (size_t)(2 * cost->options->sample_size + 1024)};
    return orchestrator_trigger_checks_init(&cost->checks, &cost->options->checks, node, err);
}

static void fini(void *state)
{
    struct cost *cost = state;
    orchestrator_trigger_checks_fini(&cost->checks);
    orchestrator_window_fini(&cost->fresh);
    free(cost->ids);
}

/* ---- the stream ---- */

static double seconds_between(uint64_t from_us, uint64_t to_us)
{
    return ((double)(int64_t)to_us - (double)(int64_t)from_us) / 1e6;
}

/* Event time goes on to `time_us`, unless it is there already. */
static void pass_time(struct cost *cost, int64_t time_us)
{
    if (cost->taken == 0)
        cost->newest_us = cost->checked_us = (uint64_t)time_us;
    if (time_us <= (int64_t)cost->newest_us)
        return;
    if (cost->options->of == OF_DELAY)
        cost->area += (double)cost->backlog * seconds_between(cost->newest_us, (uint64_t)time_us);
    cost->newest_us = (uint64_t)time_us;
}

static bool before(void *state, const struct trigger_sample *sample)
{
    return orchestrator_trigger_checks_before(&((struct cost *)state)->checks, sample);
}

static bool tick(void *state, int64_t now_us)
{
    return orchestrator_trigger_checks_tick(&((struct cost *)state)->checks, now_us);
}

static bool observe(void *state, const struct trigger_sample *sample)
{
    struct cost *cost = state;
    pass_time(cost, sample->time_us);
    const struct window_sample kept = {
        .id = sample->id, .number = ++cost->taken, .time_us = sample->time_us};
    cost->backlog++;
    if (cost->options->of == OF_MISCLASSIFICATIONS)
        orchestrator_window_add(&cost->fresh, &kept);
    return orchestrator_trigger_checks_observe(&cost->checks, sample);
}

static void fired(void *state)
{
    struct cost *cost = state;
    cost->backlog = 0;
    cost->area = 0;
    cost->avoidable = 0;
    cost->checked_us = cost->newest_us;
    orchestrator_window_clear(&cost->fresh);
    orchestrator_trigger_checks_fired(&cost->checks);
}

static void forget(void *state, struct weir_u64s ids)
{
    orchestrator_window_forget(&((struct cost *)state)->fresh, ids);
}

/* ---- what training costs ---- */

static void trained(void *state, uint64_t samples, double seconds)
{
    struct cost *cost = state;
    size_t place = cost->trainings % TRAININGS_MAX;
    cost->samples[place] = (double)samples;
    cost->seconds[place] = fmax(0, seconds);
    cost->trainings++;
}

/* Least squares through the trainings that are known; a share of their mean, when they do not tell a slope or one that
 * makes more samples cheaper. NaN: none is known. */
static double foretell(const struct cost *cost, double samples)
{
    size_t count = cost->trainings < TRAININGS_MAX ? (size_t)cost->trainings : TRAININGS_MAX;
    double n = 0, s = 0, nn = 0, ns = 0;
    if (cost->options->seconds_per_sample > 0)
        return cost->options->seconds_per_sample * samples;
    if (count == 0)
        return NAN;
    for (size_t i = 0; i < count; i++) {
        n += cost->samples[i] / (double)count;
        s += cost->seconds[i] / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        nn += (cost->samples[i] - n) * (cost->samples[i] - n);
        ns += (cost->samples[i] - n) * (cost->seconds[i] - s);
    }
    if (nn > 0 && ns > 0)
        return fmax(0, s + ns / nn * (samples - n));
    return n > 0 ? s / n * samples : s;
}

/* ---- checks ---- */

static bool is_due(const void *state)
{
    return ((const struct cost *)state)->checks.is_due;
}

static void request(void *state, struct trigger_request *ret_request)
{
    struct cost *cost = state;
    if (cost->options->of == OF_DELAY || cost->fresh.count == 0)
        return;
    free(cost->ids);
    cost->ids = orchestrator_window_draw(&cost->fresh, (size_t)cost->options->sample_size,
                                         &ret_request->current.count);
    ret_request->current.at = cost->ids;
    ret_request->subject = TRIGGER_PREDICTIONS;
}

/* Those that the new samples add came evenly since the check before. */
static void add_misclassifications(struct cost *cost, const struct trigger_points *points,
                                   json_t *decision)
{
    double accuracy;
    if (!orchestrator_trigger_points_accuracy(points, &accuracy))
        return;
    double passed = fmax(0, seconds_between(cost->checked_us, cost->newest_us));
    double added =
        fmax(0, cost->options->expected_accuracy - accuracy) * (double)cost->checks.since;
    cost->area += (cost->avoidable + added / 2) * passed;
    cost->avoidable += added;
    json_object_set_new(decision, "accuracy", json_real(accuracy));
    json_object_set_new(decision, "avoidable", json_real(cost->avoidable));
}

static bool decide(struct cost *cost, json_t *decision)
{
    double seconds = foretell(cost, (double)cost->backlog);
    double limit = seconds * cost->options->per_training_second;
    bool fires = isnan(seconds) || cost->area >= limit;
    if (isnan(seconds)) {
        (void)snprintf(cost->checks.why, sizeof(cost->checks.why),
                       "cost: no training is known yet");
    } else {
        (void)snprintf(cost->checks.why, sizeof(cost->checks.why),
                       "waiting costs %.6g %s seconds, %.3g s of training are worth %.6g",
                       cost->area, cost->options->of == OF_DELAY ? "sample" : "misclassification",
                       seconds, limit);
    }
    json_object_set_new(decision, "area", json_real(cost->area));
    json_object_set_new(decision, "limit", orchestrator_json_number(limit));
    json_object_set_new(decision, "training_seconds", orchestrator_json_number(seconds));
    json_object_set_new(decision, "backlog", json_integer((json_int_t)cost->backlog));
    return fires;
}

static bool measured(void *state, const struct trigger_measured *measured, json_t *decision)
{
    struct cost *cost = state;
    json_object_set_new(decision, "policy", json_string("cost"));
    json_object_set_new(decision, "of", json_string(OF[cost->options->of]));
    if (cost->options->of == OF_MISCLASSIFICATIONS && measured->has_model)
        add_misclassifications(cost, &measured->current, decision);
    bool fires = decide(cost, decision);
    cost->checked_us = cost->newest_us;
    orchestrator_window_clear(&cost->fresh);
    return orchestrator_trigger_checks_decide(&cost->checks, fires, decision);
}

static void explain(const void *state, struct weir_buf *out)
{
    orchestrator_trigger_checks_explain(&((const struct cost *)state)->checks, out);
}

/* ---- saved ---- */

static void save(const void *state, struct weir_buf *out)
{
    const struct cost *cost = state;
    const uint64_t whole[] = {cost->taken, cost->backlog, cost->newest_us, cost->checked_us,
                              cost->trainings};
    orchestrator_trigger_checks_save(&cost->checks, out);
    for (size_t i = 0; i < WEIR_COUNT(whole); i++)
        weir_buf_append_u64(out, whole[i]);
    weir_buf_append_f64(out, cost->avoidable);
    weir_buf_append_f64(out, cost->area);
    for (size_t i = 0; i < TRAININGS_MAX; i++) {
        weir_buf_append_f64(out, cost->samples[i]);
        weir_buf_append_f64(out, cost->seconds[i]);
    }
    orchestrator_window_save(&cost->fresh, out);
}

static enum weir_status restore_numbers(struct cost *cost, struct weir_bytes *bytes,
                                        struct weir_error *err)
{
    uint64_t *const whole[] = {&cost->taken, &cost->backlog, &cost->newest_us, &cost->checked_us,
                               &cost->trainings};
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < WEIR_COUNT(whole) && status == WEIR_OK; i++)
        status = orchestrator_trigger_take_u64(bytes, whole[i], err);
    if (status == WEIR_OK)
        status = orchestrator_trigger_take_f64(bytes, &cost->avoidable, err);
    if (status == WEIR_OK)
        status = orchestrator_trigger_take_f64(bytes, &cost->area, err);
    for (size_t i = 0; i < TRAININGS_MAX && status == WEIR_OK; i++) {
        status = orchestrator_trigger_take_f64(bytes, &cost->samples[i], err);
        if (status == WEIR_OK)
            status = orchestrator_trigger_take_f64(bytes, &cost->seconds[i], err);
    }
    return status;
}

static enum weir_status restore(void *state, struct weir_bytes *bytes, struct weir_error *err)
{
    struct cost *cost = state;
    enum weir_status status = orchestrator_trigger_checks_restore(&cost->checks, bytes, err);
    if (status == WEIR_OK)
        status = restore_numbers(cost, bytes, err);
    return status == WEIR_OK ? orchestrator_window_restore(&cost->fresh, bytes, err) : status;
}

static enum trigger_subject subject(const void *state)
{
    (void)state;
    return TRIGGER_PREDICTIONS;
}

static const struct trigger_measuring MEASURING = {
    .subject = subject,
    .is_due = is_due,
    .request = request,
    .measured = measured,
    .forget = forget,
};

static const struct trigger_events EVENTS = {
    .tick = tick,
    .trained = trained,
};

const struct trigger_policy orchestrator_trigger_cost = {
    .name = "cost",
    .summary = "fires when waiting has cost more than training would",
    .options = OPTIONS,
    .options_size = sizeof(struct cost_options),
    .state_size = sizeof(struct cost),
    .measuring = &MEASURING,
    .events = &EVENTS,
    .init = init,
    .before = before,
    .observe = observe,
    .fired = fired,
    .explain = explain,
    .save = save,
    .restore = restore,
    .fini = fini,
};
