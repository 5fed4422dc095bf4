/* Keys of sections that several services read: see sections.h. */
#include "core/config/sections.h"

static const char *const HOLDOUT_BY[] = {"sample", "subject", NULL};

const struct cfg_key CFG_HOLDOUT_KEYS[] = {
    CFG_F64(struct cfg_holdout, share, .required = true, .min = 0.000001, .max = 0.9,
            .doc = "share of the samples or subjects that is held out"),
    CFG_CHOICE(struct cfg_holdout, by, .choices = HOLDOUT_BY, .fallback = "sample",
               .doc = "unit of the draw: samples, or subjects with all their samples"),
    CFG_END,
};

const struct cfg_key CFG_TRAINING_KEYS[] = {
    CFG_TRAINING_ROWS(struct cfg_training, ),
    CFG_END,
};
