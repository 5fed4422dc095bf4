/* A trigger policy at work: its options, its state, and calls that may be missing answered for it.
 */
#include "orchestrator/triggers/trigger.h"

#include "core/base/memory.h"

#include <stdlib.h>

enum { POLICIES_MAX = 32 };

struct trigger {
    const struct trigger_policy *policy;
    void *options;
    void *state;
    bool ready; /* init() has succeeded */
};

static enum weir_status find_policy(const struct weir_yaml_node *node, const char *path,
                                    const struct trigger_policy **ret_policy,
                                    struct weir_error *err)
{
    if (!weir_yaml_is_mapping(node)) {
        return weir_yaml_fail(
            node, err, "%s: expected a mapping such as {policy: amount, samples: 1000}", path);
    }
    const struct weir_yaml_node *named = weir_yaml_get(node, "policy");
    const char *name = weir_yaml_text(named);
    if (name == NULL) {
        return weir_yaml_fail(
            node, err, "%s.policy: expected the name of a trigger policy, found nothing", path);
    }
    *ret_policy = orchestrator_trigger_find(name);
    if (*ret_policy != NULL)
        return WEIR_OK;
    const char *names[POLICIES_MAX + 1] = {NULL};
    for (size_t i = 0; i < orchestrator_trigger_count() && i < POLICIES_MAX; i++)
        names[i] = orchestrator_trigger_at(i)->name;
    const char *near = cfg_nearest(name, names);
    return weir_yaml_fail(named, err, "%s.policy: unknown trigger policy '%s'%s%s%s", path, name,
                          near == NULL ? ": see weir policies" : " (did you mean ",
                          near == NULL ? "" : near, near == NULL ? "" : "?)");
}

enum weir_status orchestrator_trigger_open(const struct weir_yaml_node *node, const char *path,
                                           struct trigger **ret_trigger, struct weir_error *err)
{
    const struct trigger_policy *policy = NULL;
    enum weir_status status = find_policy(node, path, &policy, err);
    if (status != WEIR_OK)
        return status;
    weir_require(policy != NULL);
    WEIR_AUTO(trigger) trigger = weir_calloc(1, sizeof *trigger);
    trigger->policy = policy;
    trigger->options = weir_calloc(1, policy->options_size);
    trigger->state = weir_calloc(1, policy->state_size);
    status = cfg_read(policy->options, CFG_CLOSED, node, path, "policy", trigger->options, err);
    if (status != WEIR_OK)
        return status;
    status = policy->init(trigger->state, trigger->options, node, err);
    trigger->ready = true; /* fini() takes half-built states */
    if (status != WEIR_OK)
        return status;
    *ret_trigger = WEIR_TAKE(trigger);
    return WEIR_OK;
}

void orchestrator_trigger_close(struct trigger *trigger)
{
    if (trigger == NULL)
        return;
    if (trigger->ready && trigger->policy->fini != NULL)
        trigger->policy->fini(trigger->state);
    free(trigger->options);
    free(trigger->state);
    free(trigger);
}

const struct trigger_policy *orchestrator_trigger_policy(const struct trigger *trigger)
{
    return trigger->policy;
}

bool orchestrator_trigger_before(struct trigger *trigger, const struct trigger_sample *sample)
{
    return trigger->policy->before != NULL && trigger->policy->before(trigger->state, sample);
}

bool orchestrator_trigger_observe(struct trigger *trigger, const struct trigger_sample *sample)
{
    return trigger->policy->observe != NULL && trigger->policy->observe(trigger->state, sample);
}

bool orchestrator_trigger_erased(struct trigger *trigger, uint64_t count)
{
    return trigger->policy->erased != NULL && trigger->policy->erased(trigger->state, count);
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
    if (bytes->size < sizeof *ret_value) {
        return weir_fail(err, WEIR_INVALID, "saved trigger state: expected 8 more bytes, found %zu",
                         bytes->size);
    }
    *ret_value = weir_get_u64(bytes->at);
    *bytes = weir_bytes(bytes->at + sizeof *ret_value, bytes->size - sizeof *ret_value);
    return WEIR_OK;
}

void orchestrator_trigger_put_u64(struct weir_buf *out, uint64_t value)
{
    uint8_t bytes[8];
    weir_put_u64(bytes, value);
    weir_buf_append(out, bytes, sizeof bytes);
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
