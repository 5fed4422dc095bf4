/* Maximising facility location over the candidates: see cover.h. */
#include "selector/scoring/cover.h"

static const enum vectors_scale SCALES[] = {
    [FACILITY_COSINE] = VECTORS_UNIT_LENGTH,
    [FACILITY_DISTANCE] = VECTORS_AS_THEY_ARE,
    [FACILITY_LOSS] = VECTORS_CENTRED,
};

bool selector_scoring_cover(const struct optimizer *optimizer, const struct cover_rule *rule,
                            const struct scoring_input *input, struct scoring_choice *choice)
{
    struct vectors vectors;
    struct facility facility;
    selector_scoring_vectors_init(&vectors, input->values, input->count, input->width,
                                  SCALES[rule->similarity]);
    selector_scoring_facility_init(&facility, &vectors, rule->similarity);
    const struct objective objective = selector_scoring_facility_objective(&facility);
    bool is_done = selector_scoring_optimize(optimizer, &objective, input, choice);
    if (rule->by_size && is_done)
        is_done = selector_scoring_facility_sizes(&facility, choice->chosen, choice->count,
                                                  &input->progress, choice->weights);
    selector_scoring_facility_fini(&facility);
    selector_scoring_vectors_fini(&vectors);
    return is_done;
}
