/* Epoch parts: the samples of each epoch when a method draws again for every one. Pure. */
#ifndef SELECTOR_SETS_PARTS_H
#define SELECTOR_SETS_PARTS_H

#include "selector/policies/policy.h"
#include "selector/scoring/scoring.h"

enum { SELECTOR_PARTS_INDICES_MAX = 1 << 30 };

/* Part e is indices[e * samples … (e + 1) * samples - 1], ascending. Zero-initialised: there are none. */
struct selector_parts {
    uint32_t *indices; /* among the samples of all parts together, in order of id */
    uint64_t samples;  /* of each part */
    uint32_t count;
};

void selector_parts_fini(struct selector_parts *parts);
/* Has a method that draws again choose for each of `epochs`; 0 < target < count of `input`. `choice` becomes their
 * union in ascending order, each with weight 1, and needs room for all candidates. LIMIT when that would be
 * more than SELECTOR_PARTS_INDICES_MAX indices, or candidates that 32 bits cannot count; RESTART when it
 * was given up. */
enum weir_status selector_parts_draw(struct selector_parts *parts,
                                     const struct selection_scored *scored,
                                     const struct scoring_input *input, uint64_t epochs,
                                     struct scoring_choice *choice,
                                     struct weir_error *err) WEIR_MUST_USE;

#endif
