/* Candidates on two sides: those without a flag of selection_past and those with it; for policies. */
#ifndef SELECTOR_POLICIES_SIDES_H
#define SELECTOR_POLICIES_SIDES_H

#include "selector/policies/groups.h"

struct selection_sides {
    uint8_t flag;
    size_t sizes[2]; /* without, with */
};

void selector_sides_count(struct selection_sides *sides, const struct selection_input *input,
                          enum selection_past flag);
/* Chooses needed[0] without the flag and needed[1] with it at random; uses up `needed`. */
void selector_sides_draw(const struct selection_sides *sides, const struct selection_input *input,
                         size_t needed[2], struct weir_rng *rng, struct selection_output *output);

#endif
