/* Choice inside a batch: see choice.h. */
#include "trainer_client/models/choice.h"

#include "core/base/memory.h"
#include "core/base/race.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static int order_runners(const void *a, const void *b)
{
    return (int)weir_race_is_later(a, b) - (int)weir_race_is_later(b, a);
}

size_t trainer_choice_count(const struct cfg_batch_then_sample *options, size_t samples)
{
    /* A ratio such as 0.29 is a little less than it says: 100 samples are to give 29. */
    size_t count = (size_t)floor(options->ratio * (double)samples * (1 + DBL_EPSILON));
    return count > 0 ? count : samples > 0;
}

void trainer_choose(const struct cfg_batch_then_sample *options, const struct choice_input *input,
                    float *factors)
{
    bool is_drawn = options->score != CFG_IN_BATCH_UNCERTAINTY;
    WEIR_AUTO_FREE struct weir_runner *runners = weir_calloc(input->samples + 1, sizeof(*runners));
    struct weir_rng rng;
    weir_rng_init(&rng, input->seed);
    for (size_t i = 0; i < input->samples; i++) {
        double score = input->score[i];
        /* The highest doubt comes first. */
        runners[i] = (struct weir_runner){is_drawn ? weir_race_arrival(score, &rng) : -score, i};
        factors[i] = 0.0f;
    }
    qsort(runners, input->samples, sizeof(*runners), order_runners);
    size_t count = trainer_choice_count(options, input->samples);
    double closing = count < input->samples ? runners[count].arrival : INFINITY;
    for (size_t n = 0; n < count; n++) {
        size_t sample = runners[n].position;
        double score = input->score[sample];
        factors[sample] =
            is_drawn ? (float)weir_race_weight(score, closing, count, input->samples) : 1.0f;
    }
}
