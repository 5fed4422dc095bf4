/* drift: a trigger when the newest samples have drifted from those of the newest trigger. At every check two windows
 * are compared: what was newest when the newest trigger fired (reference), and what is newest now (current): by their
 * labels, which the stream tells; by what the operators make of the samples; or by what the newest model makes of them.
 * The first check has nothing to compare with and fires, unless the warm-up's policy decides. What little a young
 * stream has makes no reference: the first check at which there is a quarter of the window fires, too. Nor is less than
 * a quarter of the current window compared. */
#include "orchestrator/triggers/trigger.h"

#include "core/base/memory.h"
#include "core/base/utf8.h"
#include "orchestrator/triggers/checks.h"
#include "orchestrator/triggers/drift_labels.h"
#include "orchestrator/triggers/drift_told.h"
#include "orchestrator/triggers/window.h"

#include <stdlib.h>
#include <string.h>

enum drift_on { ON_LABELS, ON_FEATURES, ON_EMBEDDINGS };
static const char *const ON[] = {"labels", "features", "embeddings", NULL};
static const enum trigger_subject SUBJECT_ON[] = {
    [ON_LABELS] = TRIGGER_NOTHING,
    [ON_FEATURES] = TRIGGER_FEATURES,
    [ON_EMBEDDINGS] = TRIGGER_EMBEDDINGS,
};
static const char *const LABELS[] = {
    [LABELS_CLASSES] = "classes", [LABELS_INTEGERS] = "integers", [LABELS_REALS] = "reals", NULL};
enum drift_after { AFTER_RESET, AFTER_SLIDE };
static const char *const AFTER[] = {"reset", "slide", NULL};

struct drift_options {
    struct trigger_checks_options checks;
    int on, labels, after_trigger;
    const char *reference, *current;
    uint64_t sample_size, seed;
    const struct weir_yaml_node *statistics;
    const char *votes;
};

struct drift {
    const struct drift_options *options;
    struct drift_judge *judge;
    struct trigger_checks checks;
    struct window recent; /* what a trigger would make the reference */
    struct window current, reference;
    uint64_t taken;   /* samples of the stream */
    int64_t first_us; /* of the first one */
    bool has_reference;
    bool is_settled;  /* the stream was as long as the reference window when that was taken */
    uint64_t *ids[2]; /* of the newest request */
};

static const struct cfg_key OPTIONS[] = {
    CFG_CHOICE(
        struct drift_options, on, .fallback = "features", .choices = ON,
        .doc =
            "values that are compared: labels; features, the tensors that the operators make of a "
            "sample; embeddings by the newest model"),
    TRIGGER_CHECKS_KEYS(struct drift_options, checks),
    CFG_TEXT(struct drift_options, reference, .fallback = "1000",
             .doc =
                 "length of the reference window, a number of samples or a time such as 30d: what "
                 "was newest when the newest trigger fired"),
    CFG_TEXT(struct drift_options, current, .fallback = "1000",
             .doc = "length of the current window: what is newest at the check"),
    CFG_CHOICE(
        struct drift_options, after_trigger, .fallback = "reset", .choices = AFTER,
        .doc = "reset: the current window begins again with every trigger; slide: it slides on"),
    CFG_U64(struct drift_options, sample_size, .fallback = "5000", .min = 2, .max = 20000,
            .doc = "samples of a window that are compared, drawn from it at random"),
    CFG_U64(struct drift_options, seed, .fallback = "1", .doc = "of the statistics that draw"),
    CFG_CHOICE(struct drift_options, labels, .fallback = "classes", .choices = LABELS,
               .doc = "with on: labels, what they are"),
    CFG_NODE(struct drift_options, statistics, .required = true,
             .doc =
                 "statistics of the distance between the windows, each with a criterion; a list"),
    CFG_TEXT(struct drift_options, votes, .fallback = "majority",
             .doc = "number of statistics that must fire: majority, or a number"),
    CFG_END,
};

/* ---- opening ---- */

static enum weir_status open_windows(struct drift *drift, const struct weir_yaml_node *node,
                                     struct weir_error *err)
{
    const struct drift_options *options = drift->options;
    struct window_length reference = {0}, current = {0};
    enum weir_status status = orchestrator_window_length_read(
        options->reference, weir_yaml_get(node, "reference"), &reference, err);
    if (status == WEIR_OK)
        status = orchestrator_window_length_read(options->current, weir_yaml_get(node, "current"),
                                                 &current, err);
    size_t room = (size_t)(2 * options->sample_size + 1024);
    drift->recent = (struct window){.length = reference, .room = room};
    drift->reference = drift->recent;
    drift->current = (struct window){.length = current, .room = room};
    return status;
}

static enum weir_status init(void *state, const void *options, const struct weir_yaml_node *node,
                             struct weir_error *err)
{
    struct drift *drift = state;
    drift->options = options;
    enum weir_status status =
        orchestrator_trigger_checks_init(&drift->checks, &drift->options->checks, node, err);
    if (status == WEIR_OK)
        status = open_windows(drift, node, err);
    if (status == WEIR_OK) {
        status = orchestrator_judge_open(drift->options->statistics, drift->options->votes,
                                         drift->options->on == ON_LABELS &&
                                             drift->options->labels == LABELS_CLASSES,
                                         "trigger", &drift->judge, err);
    }
    return status;
}

static void fini(void *state)
{
    struct drift *drift = state;
    orchestrator_judge_close(drift->judge);
    orchestrator_trigger_checks_fini(&drift->checks);
    orchestrator_window_fini(&drift->recent);
    orchestrator_window_fini(&drift->current);
    orchestrator_window_fini(&drift->reference);
    free(drift->ids[0]);
    free(drift->ids[1]);
}

/* ---- the stream ---- */

static bool before(void *state, const struct trigger_sample *sample)
{
    return orchestrator_trigger_checks_before(&((struct drift *)state)->checks, sample);
}

static bool tick(void *state, int64_t now_us)
{
    return orchestrator_trigger_checks_tick(&((struct drift *)state)->checks, now_us);
}

static bool observe(void *state, const struct trigger_sample *sample)
{
    struct drift *drift = state;
    if (drift->taken == 0)
        drift->first_us = sample->time_us;
    const struct window_sample kept = {
        .id = sample->id,
        .number = ++drift->taken,
        .time_us = sample->time_us,
        .label = drift->options->on == ON_LABELS ? sample->label : 0,
    };
    orchestrator_window_add(&drift->recent, &kept);
    orchestrator_window_add(&drift->current, &kept);
    return orchestrator_trigger_checks_observe(&drift->checks, sample);
}

static uint64_t quarter_of(uint64_t samples)
{
    return (samples + 3) / 4;
}

/* True with a quarter of the reference window: with a handful of samples against thousands, distances say nothing. */
static bool is_long_enough(const struct drift *drift)
{
    const struct window_length *length = &drift->recent.length;
    return length->samples > 0
               ? drift->taken >= quarter_of(length->samples)
               : drift->taken > 0 && drift->recent.newest_us - drift->first_us >= length->us / 4;
}

/* Makes the newest samples the reference that later ones are compared with. */
static void set_reference(struct drift *drift)
{
    orchestrator_window_slide(&drift->recent, drift->taken);
    orchestrator_window_copy(&drift->reference, &drift->recent);
    if (drift->options->after_trigger == AFTER_RESET)
        orchestrator_window_clear(&drift->current);
    drift->has_reference = true;
    drift->is_settled = is_long_enough(drift);
}

static void fired(void *state)
{
    struct drift *drift = state;
    set_reference(drift);
    orchestrator_trigger_checks_fired(&drift->checks);
}

static void forget(void *state, struct weir_u64s ids)
{
    struct drift *drift = state;
    orchestrator_window_forget(&drift->recent, ids);
    orchestrator_window_forget(&drift->current, ids);
    orchestrator_window_forget(&drift->reference, ids);
}

/* ---- checks ---- */

static bool is_due(const void *state)
{
    return ((const struct drift *)state)->checks.is_due;
}

static struct weir_u64s draw(struct drift *drift, size_t which, const struct window *window)
{
    struct weir_u64s drawn = {0};
    free(drift->ids[which]);
    drift->ids[which] =
        orchestrator_window_draw(window, (size_t)drift->options->sample_size, &drawn.count);
    drawn.at = drift->ids[which];
    return drawn;
}

/* A few samples make any distance look large. A window of time holds what there is. */
static bool awaits_current(const struct drift *drift)
{
    const struct window *current = &drift->current;
    uint64_t held = current->count > 0 ? drift->taken - current->at[0].number + 1 : 0;
    return held < quarter_of(current->length.samples);
}

/* One sample has no distance. */
static bool has_windows(const struct drift *drift)
{
    return drift->has_reference && drift->is_settled && drift->reference.count > 1 &&
           drift->current.count > 0 && !awaits_current(drift);
}

static void request(void *state, struct trigger_request *ret_request)
{
    struct drift *drift = state;
    orchestrator_window_slide(&drift->current, drift->taken);
    if (!has_windows(drift))
        return; /* nothing to compare */
    ret_request->subject = SUBJECT_ON[drift->options->on];
    if (ret_request->subject == TRIGGER_NOTHING)
        return;
    ret_request->reference = draw(drift, 0, &drift->reference);
    ret_request->current = draw(drift, 1, &drift->current);
}

static struct drift_input input_of(const struct trigger_measured *measured)
{
    const struct trigger_points *reference = &measured->reference;
    const struct trigger_points *current = &measured->current;
    bool alike = reference->width == current->width; /* not if one of them is empty */
    return (struct drift_input){
        .reference = {.count = alike ? reference->count : 0, .values = reference->values},
        .current = {.count = alike ? current->count : 0, .values = current->values},
        .width = current->width,
    };
}

/* Says what was found: a sentence into why, numbers into the decision. */
static void tell(struct drift *drift, const struct trigger_measured *measured,
                 const struct drift_input *input, const struct drift_findings *findings,
                 json_t *decision)
{
    WEIR_AUTO_BUF text = {0};
    const char *on = ON[drift->options->on];
    const char *names = drift->options->on == ON_LABELS ? "label" : measured->current.names;
    weir_buf_printf(&text, "drift of %s: ", on);
    orchestrator_judge_explain(drift->judge, findings, &text);
    orchestrator_drift_tell(drift->judge, findings, decision);
    if (findings->fires && input->reference.labels != NULL)
        orchestrator_drift_tell_classes(input, &measured->classes, decision, &text);
    else if (findings->fires)
        orchestrator_drift_tell_moved(drift->judge, input, names, on, decision, &text);
    weir_utf8_print(drift->checks.why, sizeof(drift->checks.why), "%s", weir_buf_text(&text));
}

/* True: the windows are too far apart. */
static bool compare(struct drift *drift, const struct trigger_measured *measured, json_t *decision)
{
    struct drift_findings findings = {0};
    struct drift_labels labels = {0};
    struct drift_input input = drift->options->on == ON_LABELS
                                   ? orchestrator_drift_labels_open(
                                         &labels, (enum drift_labels_kind)drift->options->labels,
                                         &drift->reference, &drift->current)
                                   : input_of(measured);
    input.seed = drift->options->seed;
    input.work = measured->work;
    orchestrator_judge_measure(drift->judge, &input, &findings);
    if (orchestrator_trigger_checks_warm_up(&drift->checks))
        orchestrator_judge_learn(drift->judge, &findings);
    else
        orchestrator_judge_decide(drift->judge, &findings);
    tell(drift, measured, &input, &findings, decision);
    orchestrator_drift_labels_fini(&labels);
    return findings.fires;
}

static bool is_comparable(const struct drift *drift, const struct trigger_measured *measured)
{
    return has_windows(drift) && (measured->has_model || drift->options->on == ON_LABELS);
}

/* The window of which a quarter has to come first; NULL: none. */
static const char *awaited(const struct drift *drift)
{
    if (!drift->has_reference)
        return NULL;
    if (!drift->is_settled)
        return is_long_enough(drift) ? NULL : "reference";
    return awaits_current(drift) ? "current" : NULL;
}

/* True: that there is nothing to compare with is a reason to fire. */
static bool begin_again(struct drift *drift)
{
    struct trigger_checks *checks = &drift->checks;
    const char *window = awaited(drift);
    if (window == NULL)
        (void)snprintf(checks->why, sizeof(checks->why), "drift: nothing to compare with yet");
    else
        (void)snprintf(checks->why, sizeof(checks->why),
                       "drift: nothing to compare with until a quarter of the %s window has come",
                       window);
    return window == NULL;
}

static void begin_decision(const struct drift *drift, json_t *decision)
{
    json_object_set_new(decision, "policy", json_string("drift"));
    json_object_set_new(decision, "on", json_string(ON[drift->options->on]));
    json_object_set_new(decision, "reference", orchestrator_window_json(&drift->reference));
    json_object_set_new(decision, "current", orchestrator_window_json(&drift->current));
}

static bool measured(void *state, const struct trigger_measured *measured, json_t *decision)
{
    struct drift *drift = state;
    begin_decision(drift, decision);
    bool fires =
        is_comparable(drift, measured) ? compare(drift, measured, decision) : begin_again(drift);
    if (orchestrator_trigger_checks_warm_up(&drift->checks))
        set_reference(drift); /* so that usual distances are learnt, from one check to the next */
    return orchestrator_trigger_checks_decide(&drift->checks, fires, decision);
}

static void explain(const void *state, struct weir_buf *out)
{
    orchestrator_trigger_checks_explain(&((const struct drift *)state)->checks, out);
}

/* ---- saved ---- */

/* The state of the reference. An older Weir, which did not ask whether there was enough, wrote NONE and TAKEN. */
enum {
    REFERENCE_NONE,
    REFERENCE_TAKEN,
    REFERENCE_REPORTED,
    REFERENCE_REPORTED_TAKEN,
    REFERENCE_SETTLED
};

static uint64_t reference_code(const struct drift *drift)
{
    if (!drift->has_reference)
        return REFERENCE_REPORTED;
    return drift->is_settled ? REFERENCE_SETTLED : REFERENCE_REPORTED_TAKEN;
}

static void save(const void *state, struct weir_buf *out)
{
    const struct drift *drift = state;
    orchestrator_trigger_checks_save(&drift->checks, out);
    weir_buf_append_u64(out, drift->taken);
    weir_buf_append_u64(out, reference_code(drift));
    weir_buf_append_u64(out, (uint64_t)drift->first_us);
    orchestrator_window_save(&drift->recent, out);
    orchestrator_window_save(&drift->current, out);
    orchestrator_window_save(&drift->reference, out);
    orchestrator_judge_save(drift->judge, out);
}

static enum weir_status restore_reference(struct drift *drift, struct weir_bytes *bytes,
                                          struct weir_error *err)
{
    uint64_t code = 0, first_us = 0;
    enum weir_status status = orchestrator_trigger_take_u64(bytes, &code, err);
    if (status == WEIR_OK && code > REFERENCE_SETTLED)
        status = weir_fail(err, WEIR_INVALID, "saved trigger state: expected 0 to %d, found %llu",
                           REFERENCE_SETTLED, (unsigned long long)code);
    if (status == WEIR_OK && code >= REFERENCE_REPORTED)
        status = orchestrator_trigger_take_u64(bytes, &first_us, err);
    drift->first_us = (int64_t)first_us;
    drift->has_reference = code != REFERENCE_NONE && code != REFERENCE_REPORTED;
    drift->is_settled = code == REFERENCE_TAKEN || code == REFERENCE_SETTLED;
    return status;
}

static enum weir_status restore_windows(struct drift *drift, struct weir_bytes *bytes,
                                        struct weir_error *err)
{
    enum weir_status status = orchestrator_window_restore(&drift->recent, bytes, err);
    if (status == WEIR_OK)
        status = orchestrator_window_restore(&drift->current, bytes, err);
    return status == WEIR_OK ? orchestrator_window_restore(&drift->reference, bytes, err) : status;
}

static enum weir_status restore(void *state, struct weir_bytes *bytes, struct weir_error *err)
{
    struct drift *drift = state;
    enum weir_status status = orchestrator_trigger_checks_restore(&drift->checks, bytes, err);
    if (status == WEIR_OK)
        status = orchestrator_trigger_take_u64(bytes, &drift->taken, err);
    if (status == WEIR_OK)
        status = restore_reference(drift, bytes, err);
    if (status == WEIR_OK)
        status = restore_windows(drift, bytes, err);
    return status == WEIR_OK ? orchestrator_judge_restore(drift->judge, bytes, err) : status;
}

static enum trigger_subject subject(const void *state)
{
    const struct drift *drift = state;

    return SUBJECT_ON[drift->options->on];
}

static const struct trigger_measuring MEASURING = {
    .subject = subject,
    .is_due = is_due,
    .request = request,
    .measured = measured,
    .forget = forget,
};

static const struct trigger_events EVENTS = {.tick = tick};

const struct trigger_policy orchestrator_trigger_drift = {
    .name = "drift",
    .summary = "fires when the newest samples have drifted from those of the newest trigger",
    .options = OPTIONS,
    .options_size = sizeof(struct drift_options),
    .state_size = sizeof(struct drift),
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
