/* threshold: as bad as a given value, or worse. */
#include "orchestrator/drift/criterion.h"

struct threshold_options {
    double value;
};

static const struct cfg_key OPTIONS[] = {
    CFG_F64(struct threshold_options, value, .required = true,
            .doc = "fires at this value, and beyond: above for a distance, below for a quality"),
    CFG_END,
};

static struct criterion_verdict judge(const void *options, const struct criterion_past *past,
                                      const struct criterion_value *value)
{
    double limit = ((const struct threshold_options *)options)->value;
    (void)past;
    return (struct criterion_verdict){.fires = value->lower_is_worse ? value->value <= limit
                                                                     : value->value >= limit,
                                      .limit = limit};
}

const struct criterion_kind orchestrator_criterion_threshold = {
    .name = "threshold",
    .summary = "as bad as a given value, or worse",
    .options = OPTIONS,
    .options_size = sizeof(struct threshold_options),
    .judge = judge,
};
