/* p_value: hardly by chance. */
#include "orchestrator/drift/criterion.h"

#include <math.h>

struct p_value_options {
    double below;
};

static const struct cfg_key OPTIONS[] = {
    CFG_F64(struct p_value_options, below, .fallback = "0.05", .min = 0, .max = 1,
            .doc = "fires when the corrected p-value is below this"),
    CFG_END,
};

static struct criterion_verdict judge(const void *options, const struct criterion_past *past,
                                      const struct criterion_value *value)
{
    double limit = ((const struct p_value_options *)options)->below;
    (void)past;
    return (struct criterion_verdict){.fires = !isnan(value->p_value) && value->p_value < limit,
                                      .limit = limit};
}

const struct criterion_kind orchestrator_criterion_p_value = {
    .name = "p_value",
    .summary = "a distance that chance would hardly give; of statistics that have a p-value",
    .options = OPTIONS,
    .options_size = sizeof(struct p_value_options),
    .wants_p_value = true,
    .judge = judge,
};
