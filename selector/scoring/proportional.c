/* The exponential race: see proportional.h. */
#include "selector/scoring/proportional.h"

#include "core/base/heap.h"
#include "core/base/memory.h"
#include "core/base/number.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static const double WEIGHT_MAX = 1e6;

struct runner {
    double arrival;
    size_t position;
};

static double score_of(const struct scoring_input *input, size_t position)
{
    float score = input->values[position];
    if (!(score > 0))
        return 0;
    return (double)(score < FLT_MAX ? score : FLT_MAX);
}

static bool is_later(const void *a, const void *b, const void *owner)
{
    const struct runner *x = a, *y = b;
    (void)owner;
    return x->arrival > y->arrival || (x->arrival >= y->arrival && x->position > y->position);
}

/* The latest lies on top, so that it can be thrown out. */
static const struct weir_heap_order LATEST = {.element_bytes = sizeof(struct runner),
                                              .is_before = is_later};

/* 1 - unit is in (0, 1]: no logarithm of 0. Who has no score starts when all others are through. */
static struct runner start(const struct scoring_input *input, size_t position, struct weir_rng *rng)
{
    double score = score_of(input, position);
    double patience = -weir_ln(1 - weir_rng_unit(rng));
    return (struct runner){
        .arrival = score > 0 ? patience / score : DBL_MAX / 64 * (patience + 1),
        .position = position,
    };
}

bool selector_scoring_draw_proportional(const void *options, const struct scoring_input *input,
                                        struct scoring_choice *choice)
{
    (void)options;
    size_t target = input->target;
    WEIR_AUTO_FREE struct runner *heap = weir_calloc(target, sizeof(*heap));
    struct weir_rng rng;
    double total = 0;
    weir_rng_init(&rng, input->seed);
    for (size_t i = 0; i < input->count; i++) {
        struct runner runner = start(input, i, &rng);
        total += score_of(input, i);
        if (i < target)
            heap[i] = runner;
        if (i == target - 1)
            weir_heap_make(&LATEST, heap, target, NULL);
        if (i >= target && is_later(&heap[0], &runner, NULL)) {
            heap[0] = runner;
            weir_heap_sink(&LATEST, heap, target, 0, NULL);
        }
    }
    choice->count = target;
    for (size_t n = 0; n < target; n++) {
        double score = score_of(input, heap[n].position);
        double weight = score > 0 ? total / ((double)input->count * score) : 1;
        choice->chosen[n] = heap[n].position;
        choice->weights[n] = (float)(weight < WEIGHT_MAX ? weight : WEIGHT_MAX);
    }
    return true;
}
