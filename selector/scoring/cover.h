/* Facility location as a scoring method: shared by `craig`, `submodular` and `exemplar_clustering`. */
#ifndef SELECTOR_SCORING_COVER_H
#define SELECTOR_SCORING_COVER_H

#include "selector/scoring/facility.h"
#include "selector/scoring/optimizer.h"

/* With `by_size` a member weighs as many samples as it is the nearest of, else 1. */
struct cover_rule {
    enum facility_similarity similarity;
    bool by_size;
};
bool selector_scoring_cover(const struct optimizer *optimizer, const struct cover_rule *rule,
                            const struct scoring_input *input, struct scoring_choice *choice);

#endif
