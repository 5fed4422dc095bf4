/* Rows of a made-up stream, one by one: see clicks.h. */
#include "benchmarks/suite/clicks.h"

#include "core/base/elementary.h"
#include "core/base/rng.h"

#include <math.h>

static const double COUNT_SPAN = 6; /* counts reach e^6 */
static const double CATEGORY_GAIN = 1.5, COUNT_GAIN = 0.5;
static const double BIAS[] = {-2, -1};

static uint32_t values_of(uint32_t field)
{
    return 4u << field / 3;
}

struct clicks_age clicks_age(const struct clicks *clicks, uint64_t row)
{
    uint64_t changes = clicks->period == 0 ? 0 : row / clicks->period;
    return (struct clicks_age){.concept = (uint32_t)((changes + 2) / 3),
                               .popularity = (uint32_t)((changes + 1) / 3),
                               .prior = (uint32_t)(changes / 3)};
}

/* A number of mean 0 and deviation 1 that belongs to (field, value, version). */
static double weight_of(const struct clicks *clicks, uint32_t field, uint32_t value,
                        uint32_t version)
{
    uint64_t hash = weir_mix64(clicks->seed + weir_mix64((uint64_t)field << 32 | value) +
                               weir_mix64(~(uint64_t)version));
    double sum = (double)((hash & 0x1fffff) + (hash >> 21 & 0x1fffff) + (hash >> 42 & 0x1fffff));
    return 2 * (sum * 0x1p-21 - 1.5);
}

static uint32_t version_of(uint32_t field, uint32_t concept)
{
    return (concept + field % 2) / 2;
}

/* The place of a count between the least and the largest. */
static double unit_of_count(float count)
{
    return weir_ln(count) / COUNT_SPAN;
}

double clicks_chance(const struct clicks *clicks, const struct click *click, struct clicks_age age)
{
    double categories = 0, counts = 0;
    for (uint32_t f = 0; f < CLICK_CATEGORIES; f++)
        categories +=
            weight_of(clicks, f, (uint32_t)click->categories[f], version_of(f, age.concept));
    for (uint32_t j = 0; j < CLICK_COUNTS; j++)
        counts += weight_of(clicks, CLICK_CATEGORIES + j, 0, 0) *
                  (2 * unit_of_count(click->counts[j]) - 1) * sqrt(3);
    double x = BIAS[age.prior % 2] + CATEGORY_GAIN * categories / sqrt(CLICK_CATEGORIES) +
               COUNT_GAIN * counts / sqrt(CLICK_COUNTS);
    return 1 / (1 + weir_exp(-x));
}

static int32_t draw_category(struct weir_rng *rng, uint32_t field, uint32_t popularity)
{
    uint32_t count = values_of(field);
    uint64_t rank = (uint64_t)weir_pow(count + 1, weir_rng_unit(rng)) - 1;
    return (int32_t)((rank + (uint64_t)popularity * (3 * count / 8 + 1)) % count);
}

struct click clicks_row(const struct clicks *clicks, uint64_t row)
{
    struct click click = {.time = clicks->start + (int64_t)row * clicks->every};
    struct clicks_age age = clicks_age(clicks, row);
    struct weir_rng rng;
    weir_rng_init(&rng, weir_mix64(clicks->seed) + row);
    for (uint32_t j = 0; j < CLICK_COUNTS; j++)
        click.counts[j] = (float)floor(weir_exp(COUNT_SPAN * weir_rng_unit(&rng)));
    for (uint32_t f = 0; f < CLICK_CATEGORIES; f++)
        click.categories[f] = draw_category(&rng, f, age.popularity);
    click.label = weir_rng_unit(&rng) < clicks_chance(clicks, &click, age);
    return click;
}
