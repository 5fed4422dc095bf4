/* ensemble: several policies together; fires when any, all, or at least so many of them have said
 * so since the last trigger. A vote stays until the ensemble fires. Ensembles may stand in
 * ensembles. */
#include "orchestrator/triggers/trigger.h"

#include <stdlib.h>

enum { MEMBERS_MAX = 32 };

struct ensemble_options {
    const struct weir_yaml_node *any;
    const struct weir_yaml_node *all;
    const struct weir_yaml_node *of;
    uint64_t at_least;
};

struct ensemble {
    struct trigger *members[MEMBERS_MAX];
    uint64_t count;
    uint64_t needed; /* votes to fire */
    uint64_t votes;  /* bit i: member i has voted */
    bool measures;   /* a member may ask */
};

static const struct cfg_key OPTIONS[] = {
    CFG_NODE(struct ensemble_options, any, .doc = "list of policies: one of them is enough"),
    CFG_NODE(struct ensemble_options, all, .doc = "list of policies: every one is needed"),
    CFG_NODE(struct ensemble_options, of, .doc = "list of policies: `at_least` of them are needed"),
    CFG_U64(struct ensemble_options, at_least, .fallback = "1", .min = 1, .max = MEMBERS_MAX,
            .doc = "votes needed, with `of`"),
    CFG_END,
};

static enum weir_status open_members(struct ensemble *ensemble, const struct weir_yaml_node *list,
                                     const char *path, struct weir_error *err)
{
    size_t count = weir_yaml_length(list);
    if (count == 0 || count > MEMBERS_MAX) {
        return weir_yaml_fail(list, err, "%s: expected 1 to %d policies, found %zu", path,
                              MEMBERS_MAX, count);
    }
    for (size_t i = 0; i < count; i++) {
        enum weir_status status =
            orchestrator_trigger_open(weir_yaml_at(list, i), path, &ensemble->members[i], err);
        if (status != WEIR_OK)
            return status;
        ensemble->count = i + 1;
        ensemble->measures |= orchestrator_trigger_policy(ensemble->members[i])->measuring != NULL;
    }
    return WEIR_OK;
}

static enum weir_status init(void *state, const void *options, const struct weir_yaml_node *node,
                             struct weir_error *err)
{
    struct ensemble *ensemble = state;
    const struct ensemble_options *given = options;
    if ((given->any != NULL) + (given->all != NULL) + (given->of != NULL) != 1) {
        return weir_yaml_fail(node, err,
                              "trigger: ensemble: expected exactly one of `any`, `all` and `of`");
    }
    if (given->any != NULL) {
        ensemble->needed = 1;
        return open_members(ensemble, given->any, "trigger.any", err);
    }
    if (given->all != NULL) {
        ensemble->needed = weir_yaml_length(given->all);
        return open_members(ensemble, given->all, "trigger.all", err);
    }
    ensemble->needed = given->at_least;
    if (ensemble->needed > weir_yaml_length(given->of)) {
        return weir_yaml_fail(node, err, "trigger.at_least: %llu of %zu policies can never agree",
                              (unsigned long long)ensemble->needed, weir_yaml_length(given->of));
    }
    return open_members(ensemble, given->of, "trigger.of", err);
}

static bool decided(const struct ensemble *ensemble)
{
    return ensemble->votes != 0 &&
           (uint64_t)__builtin_popcountll(ensemble->votes) >= ensemble->needed;
}

static bool before(void *state, const struct trigger_sample *sample)
{
    struct ensemble *ensemble = state;
    bool voted = false;
    for (uint64_t i = 0; i < ensemble->count; i++) {
        if (orchestrator_trigger_before(ensemble->members[i], sample)) {
            ensemble->votes |= UINT64_C(1) << i;
            voted = true;
        }
    }
    return voted && decided(ensemble);
}

static bool observe(void *state, const struct trigger_sample *sample)
{
    struct ensemble *ensemble = state;
    for (uint64_t i = 0; i < ensemble->count; i++)
        if (orchestrator_trigger_observe(ensemble->members[i], sample))
            ensemble->votes |= UINT64_C(1) << i;
    return decided(ensemble);
}

static bool tick(void *state, int64_t now_us)
{
    struct ensemble *ensemble = state;
    for (uint64_t i = 0; i < ensemble->count; i++)
        if (orchestrator_trigger_tick(ensemble->members[i], now_us))
            ensemble->votes |= UINT64_C(1) << i;
    return decided(ensemble);
}

static bool erased(void *state, uint64_t count)
{
    struct ensemble *ensemble = state;
    for (uint64_t i = 0; i < ensemble->count; i++)
        if (orchestrator_trigger_erased(ensemble->members[i], count))
            ensemble->votes |= UINT64_C(1) << i;
    return decided(ensemble);
}

/* The first member whose check is due; they are measured one after the other. NULL: none is. */
static struct trigger *asking(const struct ensemble *ensemble, uint64_t *ret_index)
{
    for (uint64_t i = 0; i < ensemble->count; i++) {
        if (orchestrator_trigger_is_due(ensemble->members[i])) {
            *ret_index = i;
            return ensemble->members[i];
        }
    }
    return NULL;
}

static bool is_due(const void *state)
{
    const struct ensemble *ensemble = state;
    uint64_t index = 0;
    return ensemble->measures && asking(ensemble, &index) != NULL;
}

static void request(void *state, struct trigger_request *ret_request)
{
    uint64_t index = 0;
    struct trigger *member = asking(state, &index);
    weir_require(member != NULL);
    orchestrator_trigger_request(member, ret_request);
}

static bool measured(void *state, const struct trigger_measured *measured, json_t *decision)
{
    struct ensemble *ensemble = state;
    uint64_t index = 0;
    struct trigger *member = asking(ensemble, &index);
    weir_require(member != NULL);
    if (orchestrator_trigger_measured(member, measured, decision))
        ensemble->votes |= UINT64_C(1) << index;
    return decided(ensemble);
}

static void forget(void *state, struct weir_u64s ids)
{
    struct ensemble *ensemble = state;
    for (uint64_t i = 0; i < ensemble->count; i++)
        orchestrator_trigger_forget(ensemble->members[i], ids);
}

static void trained(void *state, uint64_t samples, double seconds)
{
    struct ensemble *ensemble = state;
    for (uint64_t i = 0; i < ensemble->count; i++)
        orchestrator_trigger_trained(ensemble->members[i], samples, seconds);
}

static void fired(void *state)
{
    struct ensemble *ensemble = state;
    ensemble->votes = 0;
    for (uint64_t i = 0; i < ensemble->count; i++)
        orchestrator_trigger_fired(ensemble->members[i]);
}

static void explain(const void *state, struct weir_buf *out)
{
    const struct ensemble *ensemble = state;
    const char *between = "";
    for (uint64_t i = 0; i < ensemble->count; i++) {
        if ((ensemble->votes >> i & 1) != 0) {
            weir_buf_append_text(out, between);
            orchestrator_trigger_explain(ensemble->members[i], out);
            between = " and ";
        }
    }
}

static void save(const void *state, struct weir_buf *out)
{
    const struct ensemble *ensemble = state;
    weir_buf_append_u64(out, ensemble->votes);
    for (uint64_t i = 0; i < ensemble->count; i++)
        orchestrator_trigger_save(ensemble->members[i], out);
}

static enum weir_status restore(void *state, struct weir_bytes *bytes, struct weir_error *err)
{
    struct ensemble *ensemble = state;
    enum weir_status status = orchestrator_trigger_take_u64(bytes, &ensemble->votes, err);
    if (status == WEIR_OK && ensemble->votes >> ensemble->count != 0)
        status =
            weir_fail(err, WEIR_INVALID, "saved trigger state: votes of more than %llu policies",
                      (unsigned long long)ensemble->count);
    for (uint64_t i = 0; i < ensemble->count && status == WEIR_OK; i++)
        status = orchestrator_trigger_restore(ensemble->members[i], bytes, err);
    return status;
}

static void fini(void *state)
{
    struct ensemble *ensemble = state;
    for (uint64_t i = 0; i < ensemble->count; i++)
        orchestrator_trigger_close(ensemble->members[i]);
}

static const struct trigger *member(const void *state, size_t index)
{
    const struct ensemble *ensemble = state;

    return index < ensemble->count ? ensemble->members[index] : NULL;
}

static enum trigger_subject subject(const void *state)
{
    (void)state;
    return TRIGGER_NOTHING;
}

static const struct trigger_measuring MEASURING = {
    .subject = subject,
    .is_due = is_due,
    .request = request,
    .measured = measured,
    .forget = forget,
    .member = member,
};

static const struct trigger_events EVENTS = {
    .tick = tick,
    .erased = erased,
    .trained = trained,
};

const struct trigger_policy orchestrator_trigger_ensemble = {
    .name = "ensemble",
    .summary = "several policies together: any, all, or a minimum number of them",
    .options = OPTIONS,
    .options_size = sizeof(struct ensemble_options),
    .state_size = sizeof(struct ensemble),
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
