/* Arranging the samples of a group into batches by length class. */
#include "preprocess/order/buckets.h"

#include "core/base/memory.h"
#include "core/base/rng.h"

/* Places in the order of their classes, those of one class as they stand. */
static void sort_by_class(const struct buckets *buckets, uint32_t *ret_sorted)
{
    size_t next[BUCKETS_CLASSES_MAX + 1] = {0};
    for (size_t i = 0; i < buckets->samples; i++) {
        weir_require(buckets->classes[i] < BUCKETS_CLASSES_MAX);
        next[buckets->classes[i] + 1]++;
    }
    for (size_t i = 1; i <= BUCKETS_CLASSES_MAX; i++)
        next[i] += next[i - 1];
    for (size_t i = 0; i < buckets->samples; i++)
        ret_sorted[next[buckets->classes[i]]++] = (uint32_t)i;
}

static void draw_order(uint64_t key, uint32_t *ret_order, size_t count)
{
    struct weir_rng rng;
    weir_rng_init(&rng, key);
    for (size_t i = 0; i < count; i++) {
        size_t other = weir_rng_below(&rng, i + 1);
        ret_order[i] = ret_order[other];
        ret_order[other] = (uint32_t)i;
    }
}

/* Assigns the sample at each place to a batch. */
static void deal(const struct buckets *buckets, const uint32_t *sorted, size_t batches,
                 uint32_t *ret_batch_of)
{
    WEIR_AUTO_FREE uint32_t *order = weir_calloc(batches + 1, sizeof(*order));
    draw_order(buckets->key, order, batches);
    for (size_t i = 0, dealt = 0; i < batches; i++) {
        size_t left = buckets->samples - order[i] * buckets->batch_samples;
        size_t count = left < buckets->batch_samples ? left : buckets->batch_samples;
        for (size_t k = 0; k < count; k++)
            ret_batch_of[sorted[dealt++]] = order[i];
    }
}

void preprocess_buckets_arrange(const struct buckets *buckets, uint32_t *ret_places)
{
    weir_require(buckets->batch_samples > 0);
    size_t samples = buckets->samples, of = buckets->batch_samples;
    size_t batches = samples / of + (samples % of != 0);
    WEIR_AUTO_FREE uint32_t *sorted = weir_calloc(samples + 1, sizeof(*sorted));
    WEIR_AUTO_FREE uint32_t *batch_of = weir_calloc(samples + 1, sizeof(*batch_of));
    WEIR_AUTO_FREE size_t *next = weir_calloc(batches + 1, sizeof(*next));
    sort_by_class(buckets, sorted);
    deal(buckets, sorted, batches, batch_of);
    for (size_t batch = 0; batch < batches; batch++)
        next[batch] = batch * of;
    for (size_t i = 0; i < samples; i++)
        ret_places[next[batch_of[i]]++] = (uint32_t)i;
}
