/* The race of all candidates, of which the first are kept in a heap. */
#include "selector/scoring/proportional.h"

#include "core/base/heap.h"
#include "core/base/memory.h"
#include "core/base/race.h"

#include <stdlib.h>

static bool is_later(const void *a, const void *b, const void *owner)
{
    (void)owner;
    return weir_race_is_later(a, b);
}

/* The latest lies on top, so that it can be thrown out. */
static const struct weir_heap_order LATEST = {.element_bytes = sizeof(struct weir_runner),
                                              .is_before = is_later};

bool selector_scoring_draw_proportional(const void *options, const struct scoring_input *input,
                                        struct scoring_choice *choice)
{
    (void)options;
    size_t target = input->target, held = target + 1; /* the first that is not drawn closes it */
    WEIR_AUTO_FREE struct weir_runner *heap = weir_calloc(held, sizeof(*heap));
    struct weir_rng rng;
    weir_rng_init(&rng, input->seed);
    for (size_t i = 0; i < input->count; i++) {
        struct weir_runner runner = {weir_race_arrival((double)input->values[i], &rng), i};
        if (i < held)
            heap[i] = runner;
        if (i == target)
            weir_heap_make(&LATEST, heap, held, NULL);
        if (i > target && weir_race_is_later(&heap[0], &runner)) {
            heap[0] = runner;
            weir_heap_sink(&LATEST, heap, held, 0, NULL);
        }
    }
    choice->count = target;
    for (size_t n = 0; n < target; n++) {
        size_t position = heap[n + 1].position;
        double score = (double)input->values[position];
        choice->chosen[n] = position;
        choice->weights[n] = (float)weir_race_weight(score, heap[0].arrival, target, input->count);
    }
    return true;
}
