/* performance: a trigger when the newest model does badly on what came since the check before. At
 * every check it predicts the new samples; a metric of its predictions is judged by criteria,
 * detectors of change follow its mistakes, and the misclassifications that a model trained now
 * would have avoided are counted up to a number: one of them is enough. As long as there is no
 * model, a check fires, unless the warm-up's policy decides. */
#include "orchestrator/triggers/trigger.h"

#include "core/base/memory.h"
#include "orchestrator/drift/criterion.h"
#include "orchestrator/metrics/metric.h"
#include "orchestrator/triggers/checks.h"
#include "orchestrator/triggers/mistakes.h"
#include "orchestrator/triggers/points.h"
#include "orchestrator/triggers/window.h"
#include "orchestrator/values/json_number.h"
#include "orchestrator/values/json_object.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CRITERIA_MAX = 8 };

struct performance_options {
    struct trigger_checks_options checks;
    uint64_t sample_size;
    const struct weir_yaml_node *metric, *criteria, *detectors;
    uint64_t avoidable;
    double expected_accuracy;
    bool allow_reduction;
};

struct performance {
    const struct performance_options *options;
    struct configured_metric *asked; /* NULL: accuracy */
    const struct metric *metric;
    struct criterion *criteria[CRITERIA_MAX];
    size_t criterion_count;
    struct mistakes mistakes;
    struct trigger_checks checks;
    struct window fresh; /* since the check before */
    uint64_t taken;      /* samples of the stream */
    double avoidable;    /* misclassifications since the newest trigger */
    uint64_t *ids;       /* of the newest request */
};

static const struct cfg_key OPTIONS[] = {
    TRIGGER_CHECKS_KEYS(struct performance_options, checks),
    CFG_U64(struct performance_options, sample_size, .fallback = "5000", .min = 1, .max = 20000,
            .doc = "samples that are predicted at a check, drawn from the new ones at random"),
    CFG_NODE(struct performance_options, metric,
             .doc = "metric of the predictions, as in evaluation.metrics; by default accuracy"),
    CFG_NODE(struct performance_options, criteria,
             .doc = "criteria by which the metric is too bad: a list, of which one is enough"),
    CFG_NODE(struct performance_options, detectors,
             .doc = "or: detectors of change in the model's mistakes, a list"),
    CFG_U64(struct performance_options, avoidable,
            .doc = "or: number of misclassifications since the newest trigger that a model of "
                   "expected_accuracy would not have made"),
    CFG_F64(struct performance_options, expected_accuracy, .min = 0, .max = 1,
            .doc = "of a model trained now"),
    CFG_BOOL(struct performance_options, allow_reduction, .fallback = "false",
             .doc = "a check that is better than expected makes up for earlier ones"),
    CFG_END,
};

/* ---- opening ---- */

static enum weir_status open_criteria(struct performance *performance, struct weir_error *err)
{
    const struct weir_yaml_node *list = performance->options->criteria;
    size_t count = weir_yaml_length(list);
    if (count > CRITERIA_MAX) {
        return weir_yaml_fail(list, err, "trigger.criteria: expected at most %d, found %zu",
                              CRITERIA_MAX, count);
    }
    for (size_t i = 0; i < count; i++) {
        enum weir_status status = orchestrator_criterion_open(
            weir_yaml_at(list, i), "trigger.criteria", &performance->criteria[i], err);
        if (status != WEIR_OK)
            return status;
        performance->criterion_count = i + 1;
        if (orchestrator_criterion_kind(performance->criteria[i])->wants_p_value) {
            return weir_yaml_fail(weir_yaml_at(list, i), err,
                                  "trigger.criteria: a metric has no p-value to be judged by");
        }
    }
    return WEIR_OK;
}

static enum weir_status check_options(const struct performance *performance,
                                      const struct weir_yaml_node *node, struct weir_error *err)
{
    const struct performance_options *options = performance->options;
    if (options->criteria == NULL && options->detectors == NULL && options->avoidable == 0) {
        return weir_yaml_fail(node, err,
                              "trigger: performance: expected criteria, detectors, or avoidable: "
                              "when to fire");
    }
    if ((options->avoidable > 0) != (weir_yaml_get(node, "expected_accuracy") != NULL)) {
        return weir_yaml_fail(
            node, err, "trigger: performance: expected avoidable and expected_accuracy together");
    }
    return WEIR_OK;
}

static enum weir_status open_metric(struct performance *performance, struct weir_error *err)
{
    const struct weir_yaml_node *named = performance->options->metric;
    enum weir_status status = WEIR_OK;
    if (named != NULL)
        status = orchestrator_metric_open(named, "trigger.metric", &performance->asked, err);
    performance->metric = performance->asked != NULL ? orchestrator_metric_of(performance->asked)
                                                     : orchestrator_metric_find("accuracy");
    return status;
}

static enum weir_status init(void *state, const void *options, const struct weir_yaml_node *node,
                             struct weir_error *err)
{
    struct performance *performance = state;
    performance->options = options;
    performance->fresh =
        (struct window){.length = {.samples = UINT64_MAX},
                        .room = (size_t)(2 * performance->options->sample_size + 1024)};
    enum weir_status status = open_metric(performance, err);
    if (status == WEIR_OK)
        status = check_options(performance, node, err);
    if (status == WEIR_OK) {
        status = orchestrator_trigger_checks_init(&performance->checks,
                                                  &performance->options->checks, node, err);
    }
    if (status == WEIR_OK)
        status = open_criteria(performance, err);
    return status == WEIR_OK
               ? orchestrator_mistakes_init(&performance->mistakes, performance->options->detectors,
                                            "trigger.detectors", err)
               : status;
}

static void fini(void *state)
{
    struct performance *performance = state;
    orchestrator_metric_close(performance->asked);
    for (size_t i = 0; i < performance->criterion_count; i++)
        orchestrator_criterion_close(performance->criteria[i]);
    orchestrator_mistakes_fini(&performance->mistakes);
    orchestrator_trigger_checks_fini(&performance->checks);
    orchestrator_window_fini(&performance->fresh);
    free(performance->ids);
}

/* ---- the stream ---- */

static bool before(void *state, const struct trigger_sample *sample)
{
    return orchestrator_trigger_checks_before(&((struct performance *)state)->checks, sample);
}

static bool tick(void *state, int64_t now_us)
{
    return orchestrator_trigger_checks_tick(&((struct performance *)state)->checks, now_us);
}

static bool observe(void *state, const struct trigger_sample *sample)
{
    struct performance *performance = state;
    const struct window_sample kept = {
        .id = sample->id, .number = ++performance->taken, .time_us = sample->time_us};
    orchestrator_window_add(&performance->fresh, &kept);
    return orchestrator_trigger_checks_observe(&performance->checks, sample);
}

static void fired(void *state)
{
    struct performance *performance = state;
    performance->avoidable = 0;
    orchestrator_mistakes_forget(&performance->mistakes);
    orchestrator_window_clear(&performance->fresh);
    orchestrator_trigger_checks_fired(&performance->checks);
}

static void forget(void *state, struct weir_u64s ids)
{
    orchestrator_window_forget(&((struct performance *)state)->fresh, ids);
}

/* ---- checks ---- */

static bool is_due(const void *state)
{
    return ((const struct performance *)state)->checks.is_due;
}

static void request(void *state, struct trigger_request *ret_request)
{
    struct performance *performance = state;
    free(performance->ids);
    performance->ids =
        orchestrator_window_draw(&performance->fresh, (size_t)performance->options->sample_size,
                                 &ret_request->current.count);
    ret_request->current.at = performance->ids;
    ret_request->subject = ret_request->current.count > 0 ? TRIGGER_PREDICTIONS : TRIGGER_NOTHING;
}

/* Value of the metric (NULL: accuracy); NaN: it is undefined. */
static double measure(const struct configured_metric *asked, const struct trigger_points *points)
{
    const struct metric_input input = orchestrator_trigger_points_input(points);
    double value;
    bool is_defined = asked == NULL ? orchestrator_trigger_points_accuracy(points, &value)
                                    : orchestrator_metric_value(asked, &input, &value);
    return is_defined ? value : (double)NAN;
}

/* One of the criteria is enough. */
static bool judge_metric(struct performance *performance, double value, json_t *decision)
{
    json_t *list = json_array();
    bool fires = false;
    for (size_t i = 0; i < performance->criterion_count; i++) {
        struct criterion *criterion = performance->criteria[i];
        const struct criterion_value judged = {
            .value = value,
            .p_value = NAN,
            .lower_is_worse = performance->metric->higher_is_better,
        };
        struct criterion_verdict verdict = {.limit = NAN};
        if (orchestrator_trigger_checks_warm_up(&performance->checks))
            orchestrator_criterion_learn(criterion, &judged);
        else
            verdict = orchestrator_criterion_judge(criterion, &judged);
        if (verdict.fires && !fires) {
            (void)snprintf(performance->checks.why, sizeof(performance->checks.why),
                           "%s %.6g, limit %.6g (%s)", performance->metric->name, value,
                           verdict.limit, orchestrator_criterion_kind(criterion)->name);
        }
        fires |= verdict.fires;
        json_array_append_new(
            list, JSON_FIELDS(JSON_TEXT("criterion", orchestrator_criterion_kind(criterion)->name),
                              JSON_NEW("limit", orchestrator_json_number(verdict.limit)),
                              JSON_FLAG("verdict", verdict.fires)));
    }
    json_object_set_new(decision, "criteria", list);
    return fires;
}

/* Counts the mistakes of all samples since the check before, estimated from those that were predicted. */
static bool count_avoidable(struct performance *performance, const struct trigger_points *points,
                            json_t *decision)
{
    const struct performance_options *options = performance->options;
    double accuracy;
    if (options->avoidable == 0 || !orchestrator_trigger_points_accuracy(points, &accuracy))
        return false;
    double added = (options->expected_accuracy - accuracy) * (double)performance->checks.since;
    added = options->allow_reduction ? added : fmax(0, added);
    performance->avoidable = fmax(0, performance->avoidable + nearbyint(added));
    bool fires = performance->avoidable >= (double)options->avoidable;
    if (fires && performance->checks.why[0] == '\0') {
        (void)snprintf(performance->checks.why, sizeof(performance->checks.why),
                       "%.0f avoidable misclassifications (accuracy %.4g, expected %.4g)",
                       performance->avoidable, accuracy, options->expected_accuracy);
    }
    json_object_set_new(decision, "avoidable", json_real(performance->avoidable));
    json_object_set_new(decision, "avoidable_limit", json_integer((json_int_t)options->avoidable));
    return fires;
}

/* True: the model has begun to make more mistakes. `ret_text`: what each detector compared. */
static bool follow_mistakes(struct performance *performance, const struct trigger_points *points,
                            json_t *decision, struct weir_buf *ret_text)
{
    if (performance->mistakes.count == 0)
        return false;
    json_t *list = json_array();
    bool changed = orchestrator_mistakes_take(&performance->mistakes, points, &performance->fresh,
                                              list, ret_text);
    json_object_set_new(decision, "detectors", list);
    if (changed && performance->checks.why[0] == '\0') {
        (void)snprintf(performance->checks.why, sizeof(performance->checks.why),
                       "the model's mistakes have changed");
    }
    return changed;
}

static bool judge(struct performance *performance, const struct trigger_points *points,
                  json_t *decision)
{
    WEIR_AUTO_BUF detectors = {0};
    double value = measure(performance->asked, points);
    performance->checks.why[0] = '\0';
    json_object_set_new(decision, "value", orchestrator_json_number(value));
    json_object_set_new(decision, "predicted", json_integer((json_int_t)points->count));
    bool fires = judge_metric(performance, value, decision);
    fires |= follow_mistakes(performance, points, decision, &detectors);
    fires |= count_avoidable(performance, points, decision);
    if (!fires && isnan(value)) {
        (void)snprintf(performance->checks.why, sizeof(performance->checks.why),
                       "%s is undefined on %zu samples", performance->metric->name, points->count);
    } else if (!fires) {
        (void)snprintf(performance->checks.why, sizeof(performance->checks.why), "%s %.6g",
                       performance->metric->name, value);
    }
    size_t told = strlen(performance->checks.why);
    if (detectors.size > 0)
        (void)snprintf(performance->checks.why + told, sizeof(performance->checks.why) - told,
                       "; %s", weir_buf_text(&detectors));
    return fires;
}

static bool measured(void *state, const struct trigger_measured *measured, json_t *decision)
{
    struct performance *performance = state;
    bool fires = true;
    json_object_set_new(decision, "policy", json_string("performance"));
    json_object_set_new(decision, "metric", json_string(performance->metric->name));
    json_object_set_new(decision, "current", orchestrator_window_json(&performance->fresh));
    if (measured->has_model)
        fires = judge(performance, &measured->current, decision);
    else
        (void)snprintf(performance->checks.why, sizeof(performance->checks.why),
                       "performance: there is no model yet");
    if (orchestrator_trigger_checks_warm_up(&performance->checks))
        performance->avoidable = 0;
    orchestrator_window_clear(&performance->fresh);
    return orchestrator_trigger_checks_decide(&performance->checks, fires, decision);
}

static void explain(const void *state, struct weir_buf *out)
{
    orchestrator_trigger_checks_explain(&((const struct performance *)state)->checks, out);
}

/* ---- saved ---- */

static void save(const void *state, struct weir_buf *out)
{
    const struct performance *performance = state;
    orchestrator_trigger_checks_save(&performance->checks, out);
    weir_buf_append_u64(out, performance->taken);
    weir_buf_append_f64(out, performance->avoidable);
    orchestrator_window_save(&performance->fresh, out);
    for (size_t i = 0; i < performance->criterion_count; i++)
        orchestrator_criterion_save(performance->criteria[i], out);
    orchestrator_mistakes_save(&performance->mistakes, out);
}

static enum weir_status restore(void *state, struct weir_bytes *bytes, struct weir_error *err)
{
    struct performance *performance = state;
    enum weir_status status = orchestrator_trigger_checks_restore(&performance->checks, bytes, err);
    if (status == WEIR_OK)
        status = orchestrator_trigger_take_u64(bytes, &performance->taken, err);
    if (status == WEIR_OK)
        status = orchestrator_trigger_take_f64(bytes, &performance->avoidable, err);
    if (status == WEIR_OK)
        status = orchestrator_window_restore(&performance->fresh, bytes, err);
    for (size_t i = 0; i < performance->criterion_count && status == WEIR_OK; i++)
        status = orchestrator_criterion_restore(performance->criteria[i], bytes, err);
    return status == WEIR_OK ? orchestrator_mistakes_restore(&performance->mistakes, bytes, err)
                             : status;
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

static const struct trigger_events EVENTS = {.tick = tick};

const struct trigger_policy orchestrator_trigger_performance = {
    .name = "performance",
    .summary = "fires when the newest model does badly on the newest samples",
    .options = OPTIONS,
    .options_size = sizeof(struct performance_options),
    .state_size = sizeof(struct performance),
    .events = &EVENTS,
    .measuring = &MEASURING,
    .init = init,
    .before = before,
    .observe = observe,
    .fired = fired,
    .explain = explain,
    .save = save,
    .restore = restore,
    .fini = fini,
};
