/* A trigger policy decides, sample by sample, when a pipeline retrains. A policy is pure: it reads
 * no clock, file or socket, so the same samples always fire the same triggers, however they are cut
 * into pages, and a restart that restores its saved state goes on as if nothing had happened.
 *
 * One file per policy: trigger_NAME.c holds `const struct trigger_policy trigger_NAME`, named in
 * registry.c. */
#ifndef ORCHESTRATOR_TRIGGERS_TRIGGER_H
#define ORCHESTRATOR_TRIGGERS_TRIGGER_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/config/schema.h"

struct trigger_sample {
    uint64_t id;
    int64_t time_us; /* event time */
    int64_t label;
};

/* At least one of before(), observe() and erased() is there. `state` is `state_size` zeroed bytes,
 * 8-aligned. */
struct trigger_policy {
    const char *name;
    const char *summary; /* one sentence */
    const struct cfg_key *options;
    size_t options_size;
    size_t state_size;

    /* Required. Takes over what `options` says; `node` is the policy's mapping, for places in
     * errors and for what a table cannot say. Both stay valid as long as the state. */
    enum weir_status (*init)(void *state, const void *options, const struct weir_yaml_node *node,
                             struct weir_error *err);
    /* Optional. True: a trigger ends just before `sample`, which is not taken yet. It is offered
     * again afterwards; the answer must be false then. */
    bool (*before)(void *state, const struct trigger_sample *sample);
    /* Optional. Takes `sample`. True: a trigger ends with it. */
    bool (*observe)(void *state, const struct trigger_sample *sample);
    /* Optional. `count` samples that this pipeline has taken before were erased. True: a trigger
     * ends here. */
    bool (*erased)(void *state, uint64_t count);
    /* Optional. A trigger has ended here, by whatever policy. */
    void (*fired)(void *state);
    /* Required. Why it said true, or how far it is: "500 new samples". */
    void (*explain)(const void *state, struct weir_buf *out);
    /* Required. save() appends a fixed number of bytes for a given configuration; restore() takes
     * them back from the front of `*bytes`, INVALID when they are too few. */
    void (*save)(const void *state, struct weir_buf *out);
    enum weir_status (*restore)(void *state, struct weir_bytes *bytes, struct weir_error *err);
    /* Optional. Releases what init() acquired, not the state itself. */
    void (*fini)(void *state);
};

/* The policy called `name`, or NULL. */
const struct trigger_policy *orchestrator_trigger_find(const char *name);
/* All of them, in the order of the registry. */
size_t orchestrator_trigger_count(void);
const struct trigger_policy *orchestrator_trigger_at(size_t index);

/* ---- a policy at work ---- */

struct trigger;

/* Builds the policy that the mapping `node` names ("policy: amount") with its options. `path` names
 * the section in errors. The document must outlive the trigger. */
enum weir_status orchestrator_trigger_open(const struct weir_yaml_node *node, const char *path,
                                           struct trigger **ret_trigger,
                                           struct weir_error *err) WEIR_MUST_USE;
void orchestrator_trigger_close(struct trigger *trigger);
WEIR_DEFINE_AUTO(trigger, orchestrator_trigger_close)

const struct trigger_policy *orchestrator_trigger_policy(const struct trigger *trigger);
/* What the policy's functions of the same names answer; false where it has none. */
bool orchestrator_trigger_before(struct trigger *trigger, const struct trigger_sample *sample);
bool orchestrator_trigger_observe(struct trigger *trigger, const struct trigger_sample *sample);
bool orchestrator_trigger_erased(struct trigger *trigger, uint64_t count);
void orchestrator_trigger_fired(struct trigger *trigger);
void orchestrator_trigger_explain(const struct trigger *trigger, struct weir_buf *out);
void orchestrator_trigger_save(const struct trigger *trigger, struct weir_buf *out);
enum weir_status orchestrator_trigger_restore(struct trigger *trigger, struct weir_bytes *bytes,
                                              struct weir_error *err) WEIR_MUST_USE;
/* Takes one saved number from the front; for restore(). */
enum weir_status orchestrator_trigger_take_u64(struct weir_bytes *bytes, uint64_t *ret_value,
                                               struct weir_error *err) WEIR_MUST_USE;
void orchestrator_trigger_put_u64(struct weir_buf *out, uint64_t value);

/* Appends the effective options of the section as YAML, indented. */
enum weir_status orchestrator_trigger_print(const struct weir_yaml_node *node, int indent,
                                            struct weir_buf *out,
                                            struct weir_error *err) WEIR_MUST_USE;

#endif
