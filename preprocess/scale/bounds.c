/* See bounds.h. */
#include "preprocess/scale/bounds.h"

static uint32_t within(uint32_t value, uint32_t min, uint32_t max)
{
    uint32_t most = value < max ? value : max;
    return most > min ? most : min;
}

bool preprocess_scale_is_same(const struct scale_size *a, const struct scale_size *b)
{
    return a->at[SCALE_POOL] == b->at[SCALE_POOL] && a->at[SCALE_HOST] == b->at[SCALE_HOST];
}

struct scale_size preprocess_scale_within(const struct scale_setting *setting,
                                          const struct scale_size *size)
{
    struct scale_size kept;
    for (size_t place = 0; place < SCALE_PLACES; place++)
        kept.at[place] = within(size->at[place], setting->min.at[place], setting->max.at[place]);
    if (kept.at[SCALE_POOL] + kept.at[SCALE_HOST] > 0)
        return kept;
    if (setting->max.at[SCALE_POOL] > 0)
        kept.at[SCALE_POOL] = 1;
    else if (setting->max.at[SCALE_HOST] > 0)
        kept.at[SCALE_HOST] = 1;
    return kept;
}
