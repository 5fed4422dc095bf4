/* Sizes: equal ones, and those within the bounds of a job. */
#ifndef WEIR_PREPROCESS_SCALE_BOUNDS_H
#define WEIR_PREPROCESS_SCALE_BOUNDS_H

#include "preprocess/scale/policy.h"

bool preprocess_scale_is_same(const struct scale_size *a, const struct scale_size *b);
/* Returns the size nearest to one that is within the setting's bounds: with one worker at least, if they allow that. */
struct scale_size preprocess_scale_within(const struct scale_setting *setting,
                                          const struct scale_size *size);

#endif
