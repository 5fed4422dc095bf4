/* A trigger policy at work: its options, its state, and calls that may be missing answered for it. */
#include "orchestrator/triggers/trigger.h"

#include "core/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct trigger {
    const struct trigger_policy *policy;
    const struct weir_yaml_node *node;
    void *options;
    void *state;
};

enum weir_status orchestrator_trigger_open(const struct weir_yaml_node *node, const char *path,
                                           struct trigger **ret_trigger, struct weir_error *err)
{
    struct cfg_opened opened = {0};
    enum weir_status status =
        cfg_plugin_open(&ORCHESTRATOR_TRIGGERS, NULL, node, path, &opened, err);
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO(trigger) trigger = weir_calloc(1, sizeof(*trigger));
    trigger->policy = (const struct trigger_policy *)opened.plugin;
    trigger->node = node;
    trigger->options = opened.options;
    trigger->state = weir_calloc(1, trigger->policy->state_size);
    status = trigger->policy->init(trigger->state, trigger->options, node, err);
    if (status != WEIR_OK)
        return status; /* fini() takes half-built states */
    *ret_trigger = WEIR_TAKE(trigger);
    return WEIR_OK;
}

void orchestrator_trigger_close(struct trigger *trigger)
{
    if (trigger == NULL)
        return;
    if (trigger->policy->fini != NULL)
        trigger->policy->fini(trigger->state);
    free(trigger->options);
    free(trigger->state);
    free(trigger);
}

const struct trigger_policy *orchestrator_trigger_policy(const struct trigger *trigger)
{
    return trigger->policy;
}

static enum weir_status check_own_mode(const struct trigger *trigger,
                                       const struct weir_allowed *program, struct weir_error *err)
{
    const struct trigger_measuring *measuring = trigger->policy->measuring;
    enum trigger_subject subject =
        measuring != NULL ? measuring->subject(trigger->state) : TRIGGER_NOTHING;
    const char *mode = orchestrator_trigger_subject_mode(subject);

    if (mode == NULL || subject == TRIGGER_FEATURES) /* no program is needed for these */
        return WEIR_OK;
    WEIR_AUTO_FREE char *path = weir_format("trigger: policy %s", trigger->policy->name);
    return weir_allowed_require_mode(program, mode, trigger->node, path, err);
}

/* Policies stand in each other no deeper than a file can say. */
enum weir_status orchestrator_trigger_check_modes(const struct trigger *trigger,
                                                  const struct weir_allowed *program,
                                                  struct weir_error *err)
{
    const struct trigger_measuring *measuring = trigger->policy->measuring;
    enum weir_status status = check_own_mode(trigger, program, err);
    const struct trigger *member = NULL;

    for (size_t i = 0; status == WEIR_OK && measuring != NULL && measuring->member != NULL; i++) {
        member = measuring->member(trigger->state, i);
        if (member == NULL)
            break;
        status = orchestrator_trigger_check_modes(member, program, err);
    }
    return status;
}

bool orchestrator_trigger_before(struct trigger *trigger, const struct trigger_sample *sample)
{
    return trigger->policy->before != NULL && trigger->policy->before(trigger->state, sample);
}

bool orchestrator_trigger_observe(struct trigger *trigger, const struct trigger_sample *sample)
{
    return trigger->policy->observe != NULL && trigger->policy->observe(trigger->state, sample);
}

bool orchestrator_trigger_tick(struct trigger *trigger, int64_t now_us)
{
    const struct trigger_events *events = trigger->policy->events;

    return events != NULL && events->tick != NULL && events->tick(trigger->state, now_us);
}

bool orchestrator_trigger_erased(struct trigger *trigger, uint64_t count)
{
    const struct trigger_events *events = trigger->policy->events;

    return events != NULL && events->erased != NULL && events->erased(trigger->state, count);
}

void orchestrator_trigger_trained(struct trigger *trigger, uint64_t samples, double seconds)
{
    const struct trigger_events *events = trigger->policy->events;

    if (events != NULL && events->trained != NULL)
        events->trained(trigger->state, samples, seconds);
}

bool orchestrator_trigger_is_due(const struct trigger *trigger)
{
    const struct trigger_measuring *measuring = trigger->policy->measuring;

    return measuring != NULL && measuring->is_due(trigger->state);
}

void orchestrator_trigger_request(struct trigger *trigger, struct trigger_request *ret_request)
{
    *ret_request = (struct trigger_request){0};
    trigger->policy->measuring->request(trigger->state, ret_request);
}

bool orchestrator_trigger_measured(struct trigger *trigger, const struct trigger_measured *measured,
                                   json_t *decision)
{
    return trigger->policy->measuring->measured(trigger->state, measured, decision);
}

void orchestrator_trigger_forget(struct trigger *trigger, struct weir_u64s ids)
{
    if (trigger->policy->measuring != NULL)
        trigger->policy->measuring->forget(trigger->state, ids);
}

void orchestrator_trigger_fired(struct trigger *trigger)
{
    if (trigger->policy->fired != NULL)
        trigger->policy->fired(trigger->state);
}

void orchestrator_trigger_explain(const struct trigger *trigger, struct weir_buf *out)
{
    trigger->policy->explain(trigger->state, out);
}

void orchestrator_trigger_save(const struct trigger *trigger, struct weir_buf *out)
{
    trigger->policy->save(trigger->state, out);
}

enum weir_status orchestrator_trigger_restore(struct trigger *trigger, struct weir_bytes *bytes,
                                              struct weir_error *err)
{
    return trigger->policy->restore(trigger->state, bytes, err);
}

enum weir_status orchestrator_trigger_take_u64(struct weir_bytes *bytes, uint64_t *ret_value,
                                               struct weir_error *err)
{
    return weir_take_u64(bytes, ret_value)
               ? WEIR_OK
               : weir_fail(err, WEIR_INVALID,
                           "saved trigger state: expected 8 more bytes, found %zu", bytes->size);
}

enum weir_status orchestrator_trigger_take_bool(struct weir_bytes *bytes, bool *ret_value,
                                                struct weir_error *err)
{
    uint64_t value = 0;
    enum weir_status status = orchestrator_trigger_take_u64(bytes, &value, err);
    if (status == WEIR_OK && value > 1) {
        status = weir_fail(err, WEIR_INVALID, "saved trigger state: expected 0 or 1, found %llu",
                           (unsigned long long)value);
    }
    if (status == WEIR_OK)
        *ret_value = value == 1;
    return status;
}

const char *orchestrator_trigger_subject_name(enum trigger_subject subject)
{
    static const char *const NAMES[] = {
        [TRIGGER_NOTHING] = "",
        [TRIGGER_FEATURES] = "features",
        [TRIGGER_EMBEDDINGS] = "embeddings",
        [TRIGGER_PREDICTIONS] = "predictions",
    };
    return NAMES[subject];
}

const char *orchestrator_trigger_subject_mode(enum trigger_subject subject)
{
    static const char *const MODES[TRIGGER_SUBJECTS] = {
        [TRIGGER_FEATURES] = "features",
        [TRIGGER_EMBEDDINGS] = "embed",
        [TRIGGER_PREDICTIONS] = "predict",
    };
    return MODES[subject];
}

enum weir_status orchestrator_trigger_take_f64(struct weir_bytes *bytes, double *ret_value,
                                               struct weir_error *err)
{
    uint64_t bits = 0;
    double value = 0;
    enum weir_status status = orchestrator_trigger_take_u64(bytes, &bits, err);
    memcpy(&value, &bits, sizeof(value));
    if (status == WEIR_OK && !(value >= 0 && isfinite(value)))
        status = weir_fail(err, WEIR_INVALID, "saved trigger state: expected a number from 0 on");
    if (status == WEIR_OK)
        *ret_value = value;
    return status;
}

void orchestrator_trigger_put_text(struct weir_buf *out, const char *text)
{
    weir_buf_append_u64(out, strlen(text));
    weir_buf_append_text(out, text);
}

enum weir_status orchestrator_trigger_take_text(struct weir_bytes *bytes, char *text, size_t size,
                                                struct weir_error *err)
{
    uint64_t length = 0;
    enum weir_status status = orchestrator_trigger_take_u64(bytes, &length, err);
    struct weir_bytes taken;
    if (status == WEIR_OK && !weir_take(bytes, length, &taken)) {
        status =
            weir_fail(err, WEIR_INVALID, "saved trigger state: a text of %llu bytes, found %zu",
                      (unsigned long long)length, bytes->size);
    }
    if (status != WEIR_OK)
        return status;
    size_t kept = length < size - 1 ? (size_t)length : size - 1;
    memcpy(text, taken.at, kept);
    text[kept] = '\0';
    return WEIR_OK;
}

enum weir_status orchestrator_trigger_print(const struct weir_yaml_node *node, int indent,
                                            struct weir_buf *out, struct weir_error *err)
{
    WEIR_AUTO(trigger) trigger = NULL;
    enum weir_status status = orchestrator_trigger_open(node, "trigger", &trigger, err);
    if (status != WEIR_OK)
        return status;
    weir_buf_printf(out, "%*spolicy: %s\n", indent, "", trigger->policy->name);
    cfg_print(trigger->policy->options, trigger->options, indent, out);
    return WEIR_OK;
}
