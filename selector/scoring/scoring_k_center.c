/* Centers such that no sample is far from one: the farthest sample becomes the next center (Gonzalez 1985;
 * at most twice as far as the best k centers; as a coreset: Sener & Savarese, ICLR 2018). The first center
 * is drawn. Of equally far ones the first. */
#include "selector/scoring/scoring.h"

#include "core/base/memory.h"
#include "selector/scoring/vectors.h"

#include <math.h>
#include <stdlib.h>

static const struct cfg_key OPTIONS[] = {CFG_END};

/* Squared distances to the nearest center come down to that of `center`. */
WEIR_CLONES static void take_center(const struct vectors *vectors, const float *query, float square,
                                    float *nearest)
{
    _Alignas(64) float products[VECTORS_LANES * VECTORS_AT_ONCE];
    for (size_t panel = 0; panel < vectors->panels; panel++) {
        const float *squares = vectors->squares + panel * VECTORS_LANES;
        float *at = nearest + panel * VECTORS_LANES;
        scoring_vectors_multiply(vectors, panel, query, products);
        for (size_t r = 0; r < VECTORS_LANES; r++) {
            float apart = squares[r] + square - 2 * products[r];
            apart = apart > 0 ? apart : 0;
            at[r] = apart < at[r] ? apart : at[r];
        }
    }
}

static size_t farthest(const float *nearest, size_t count)
{
    size_t far = 0;
    for (size_t i = 1; i < count; i++)
        if (nearest[i] > nearest[far])
            far = i;
    return far;
}

static bool choose(const void *options, const struct scoring_input *input,
                   struct scoring_choice *choice)
{
    (void)options;
    struct vectors vectors;
    struct weir_rng rng;
    selector_scoring_vectors_init(&vectors, input->values, input->count, input->width,
                                  VECTORS_AS_THEY_ARE);
    size_t padded = vectors.panels * VECTORS_LANES;
    WEIR_AUTO_FREE float *nearest = weir_aligned_alloc((padded + 1) * sizeof(*nearest));
    WEIR_AUTO_FREE float *query =
        weir_aligned_alloc((input->width + 1) * VECTORS_AT_ONCE * sizeof(*query));
    for (size_t i = 0; i < padded; i++)
        nearest[i] = INFINITY;
    weir_rng_init(&rng, input->seed);
    size_t center = weir_rng_below(&rng, input->count);
    size_t n = 0;
    for (; n < input->target && scoring_goes_on(&input->progress, n, input->target); n++) {
        choice->chosen[n] = center;
        choice->weights[n] = 1;
        selector_scoring_vectors_gather(&vectors, &center, 1, query);
        take_center(&vectors, query, vectors.squares[center], nearest);
        nearest[center] = -1; /* never again, even among copies of itself */
        center = farthest(nearest, input->count);
    }
    selector_scoring_vectors_fini(&vectors);
    choice->count = n;
    return n == input->target;
}

const struct scoring_method selector_scoring_k_center = {
    .name = "k_center",
    .summary = "centers such that no sample is far from one of them, by embedding",
    .options = OPTIONS,
    .wants = SCORING_WANTS_EMBEDDING,
    .choose = choose,
};
