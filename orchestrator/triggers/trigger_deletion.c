/* deletion: a trigger when so many samples that the pipeline has taken were erased since the last
 * trigger. */
#include "orchestrator/triggers/trigger.h"

struct deletion_options {
    uint64_t samples;
};

struct deletion {
    uint64_t limit;
    uint64_t erased;
};

static const struct cfg_key OPTIONS[] = {
    CFG_U64(struct deletion_options, samples, .fallback = "1", .min = 1,
            .doc = "erased samples until the next trigger"),
    CFG_END,
};

static enum weir_status init(void *state, const void *options, const struct weir_yaml_node *node,
                             struct weir_error *err)
{
    (void)node;
    (void)err;
    ((struct deletion *)state)->limit = ((const struct deletion_options *)options)->samples;
    return WEIR_OK;
}

static bool erased(void *state, uint64_t count)
{
    struct deletion *deletion = state;
    deletion->erased += count;
    return deletion->erased >= deletion->limit;
}

static void fired(void *state)
{
    ((struct deletion *)state)->erased = 0;
}

static void explain(const void *state, struct weir_buf *out)
{
    const struct deletion *deletion = state;
    weir_buf_printf(out, "%llu samples erased", (unsigned long long)deletion->erased);
}

static void save(const void *state, struct weir_buf *out)
{
    weir_buf_append_u64(out, ((const struct deletion *)state)->erased);
}

static enum weir_status restore(void *state, struct weir_bytes *bytes, struct weir_error *err)
{
    return orchestrator_trigger_take_u64(bytes, &((struct deletion *)state)->erased, err);
}

static const struct trigger_events EVENTS = {
    .erased = erased,
};

const struct trigger_policy orchestrator_trigger_deletion = {
    .name = "deletion",
    .summary = "after a number of erased samples since the last trigger",
    .options = OPTIONS,
    .options_size = sizeof(struct deletion_options),
    .state_size = sizeof(struct deletion),
    .events = &EVENTS,
    .init = init,
    .fired = fired,
    .explain = explain,
    .save = save,
    .restore = restore,
};
