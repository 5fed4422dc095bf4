/* Counting towards the next check. */
#include "orchestrator/triggers/checks.h"

enum weir_status orchestrator_trigger_checks_init(struct trigger_checks *checks,
                                                  const struct trigger_checks_options *options,
                                                  const struct weir_yaml_node *node,
                                                  struct weir_error *err)
{
    if ((options->samples > 0) == (options->every != NULL)) {
        return weir_yaml_fail(node, err,
                              "trigger: expected `samples` or `every`, the one or the other: after "
                              "how many samples, or how much event time, it checks");
    }
    if ((options->warmup > 0) != (options->warmup_policy != NULL)) {
        return weir_yaml_fail(node, err,
                              "trigger: expected `warmup` and `warmup_policy` together: so many "
                              "checks, during which that policy decides");
    }
    checks->samples = options->samples;
    checks->warmup = options->warmup;
    enum weir_status status =
        options->every == NULL
            ? WEIR_OK
            : orchestrator_period_read(weir_yaml_get(node, "every"), "trigger.every",
                                       options->every, &checks->period, err);
    return status == WEIR_OK && options->warmup > 0
               ? orchestrator_trigger_open(options->warmup_policy, "trigger.warmup_policy",
                                           &checks->warmup_policy, err)
               : status;
}

void orchestrator_trigger_checks_fini(struct trigger_checks *checks)
{
    orchestrator_trigger_close(checks->warmup_policy);
}

bool orchestrator_trigger_checks_warm_up(const struct trigger_checks *checks)
{
    return checks->made < checks->warmup;
}

/* By time, a check of what came before `time_us` may come due. */
static void cross(struct trigger_checks *checks, int64_t time_us)
{
    if (checks->samples > 0 || (checks->started && time_us < checks->next_us))
        return;
    checks->is_due |= checks->started && checks->since > 0;
    checks->started = true;
    checks->next_us = orchestrator_period_next(&checks->period, time_us);
}

bool orchestrator_trigger_checks_before(struct trigger_checks *checks,
                                        const struct trigger_sample *sample)
{
    cross(checks, sample->time_us);
    return orchestrator_trigger_checks_warm_up(checks) &&
           orchestrator_trigger_before(checks->warmup_policy, sample);
}

bool orchestrator_trigger_checks_tick(struct trigger_checks *checks, int64_t now_us)
{
    if (checks->started)
        cross(checks, now_us);
    return orchestrator_trigger_checks_warm_up(checks) &&
           orchestrator_trigger_tick(checks->warmup_policy, now_us);
}

bool orchestrator_trigger_checks_observe(struct trigger_checks *checks,
                                         const struct trigger_sample *sample)
{
    checks->since++;
    checks->is_due |= checks->samples > 0 && checks->since >= checks->samples;
    return orchestrator_trigger_checks_warm_up(checks) &&
           orchestrator_trigger_observe(checks->warmup_policy, sample);
}

void orchestrator_trigger_checks_fired(struct trigger_checks *checks)
{
    checks->since = 0;
    checks->is_due = false;
    checks->why[0] = '\0';
    if (checks->warmup_policy != NULL)
        orchestrator_trigger_fired(checks->warmup_policy);
}

bool orchestrator_trigger_checks_decide(struct trigger_checks *checks, bool fires, json_t *decision)
{
    if (orchestrator_trigger_checks_warm_up(checks)) {
        checks->made++;
        fires = false;
        json_object_set_new(decision, "warmup", json_true());
    }
    checks->since = 0;
    checks->is_due = false;
    json_object_set_new(decision, "because", json_string(checks->why));
    json_object_set_new(decision, "verdict", json_boolean(fires));
    return fires;
}

void orchestrator_trigger_checks_explain(const struct trigger_checks *checks, struct weir_buf *out)
{
    if (orchestrator_trigger_checks_warm_up(checks))
        orchestrator_trigger_explain(checks->warmup_policy, out);
    else
        weir_buf_append_text(out, checks->why);
}

void orchestrator_trigger_checks_save(const struct trigger_checks *checks, struct weir_buf *out)
{
    weir_buf_append_u64(out, checks->since);
    weir_buf_append_u64(out, checks->made);
    weir_buf_append_u64(out, checks->started);
    weir_buf_append_u64(out, checks->is_due);
    weir_buf_append_u64(out, (uint64_t)checks->next_us);
    orchestrator_trigger_put_text(out, checks->why);
    if (checks->warmup_policy != NULL)
        orchestrator_trigger_save(checks->warmup_policy, out);
}

enum weir_status orchestrator_trigger_checks_restore(struct trigger_checks *checks,
                                                     struct weir_bytes *bytes,
                                                     struct weir_error *err)
{
    uint64_t next = 0;
    enum weir_status status = orchestrator_trigger_take_u64(bytes, &checks->since, err);
    if (status == WEIR_OK)
        status = orchestrator_trigger_take_u64(bytes, &checks->made, err);
    if (status == WEIR_OK)
        status = orchestrator_trigger_take_bool(bytes, &checks->started, err);
    if (status == WEIR_OK)
        status = orchestrator_trigger_take_bool(bytes, &checks->is_due, err);
    if (status == WEIR_OK)
        status = orchestrator_trigger_take_u64(bytes, &next, err);
    if (status == WEIR_OK)
        status = orchestrator_trigger_take_text(bytes, checks->why, sizeof(checks->why), err);
    checks->next_us = (int64_t)next;
    return status == WEIR_OK && checks->warmup_policy != NULL
               ? orchestrator_trigger_restore(checks->warmup_policy, bytes, err)
               : status;
}
