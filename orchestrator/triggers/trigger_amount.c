/* amount: a trigger after so many new samples, counted since the last trigger whoever fired it. */
#include "orchestrator/triggers/trigger.h"

struct amount_options {
    uint64_t samples;
};

struct amount {
    uint64_t limit;
    uint64_t count;
};

static const struct cfg_key OPTIONS[] = {
    CFG_U64(struct amount_options, samples, .required = true, .min = 1,
            .doc = "new samples until the next trigger"),
    CFG_END,
};

static enum weir_status init(void *state, const void *options, const struct weir_yaml_node *node,
                             struct weir_error *err)
{
    (void)node;
    (void)err;
    struct amount *amount = state;
    amount->limit = ((const struct amount_options *)options)->samples;
    return WEIR_OK;
}

static bool observe(void *state, const struct trigger_sample *sample)
{
    (void)sample;
    struct amount *amount = state;
    amount->count++;
    return amount->count >= amount->limit;
}

static void fired(void *state)
{
    ((struct amount *)state)->count = 0;
}

static void explain(const void *state, struct weir_buf *out)
{
    const struct amount *amount = state;
    weir_buf_printf(out, "%llu new samples", (unsigned long long)amount->count);
}

static void save(const void *state, struct weir_buf *out)
{
    weir_buf_append_u64(out, ((const struct amount *)state)->count);
}

static enum weir_status restore(void *state, struct weir_bytes *bytes, struct weir_error *err)
{
    return orchestrator_trigger_take_u64(bytes, &((struct amount *)state)->count, err);
}

const struct trigger_policy orchestrator_trigger_amount = {
    .name = "amount",
    .summary = "after a number of new samples since the last trigger",
    .options = OPTIONS,
    .options_size = sizeof(struct amount_options),
    .state_size = sizeof(struct amount),
    .init = init,
    .observe = observe,
    .fired = fired,
    .explain = explain,
    .save = save,
    .restore = restore,
};
