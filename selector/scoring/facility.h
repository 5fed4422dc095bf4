/* Facility location: how well a subset S stands for all samples, f(S) = Σ_i max_{j ∈ S} s(i, j) with
 * s >= 0. Monotone and submodular (Krause & Golovin, Submodular Function Maximization, 2014, §1). Time of
 * one gain: count × width; memory: one float a sample beside the vectors. */
#ifndef SELECTOR_SCORING_FACILITY_H
#define SELECTOR_SCORING_FACILITY_H

#include "selector/scoring/greedy.h"
#include "selector/scoring/vectors.h"

enum facility_similarity {
    FACILITY_COSINE,   /* (1 + cos) / 2; the vectors have unit length */
    FACILITY_DISTANCE, /* how much nearer than the farthest that two can be: limit - |x - y| */
    FACILITY_LOSS, /* how much nearer than the mean: |x - mean|² - |x - y|², or 0; centred vectors.
                          What k-medoids reduces (Gomes & Krause, Budgeted Nonparametric Learning from Data
                          Streams, ICML 2010, §3: the mean is the phantom exemplar) */
};

struct facility {
    const struct vectors *vectors;
    enum facility_similarity similarity;
    float limit;    /* >= every distance */
    float *best;    /* of each sample, its similarity to S; INFINITY after the last */
    float *queries; /* of the gains being computed */
};

/* Borrows the vectors. S is empty. */
void selector_scoring_facility_init(struct facility *facility, const struct vectors *vectors,
                                    enum facility_similarity similarity);
void selector_scoring_facility_fini(struct facility *facility);
/* Returns the function for the greedy methods to maximise; borrows the facility. */
struct objective selector_scoring_facility_objective(struct facility *facility);
/* Counts, for each member of S, the samples that it is the nearest of: itself, and of equally near ones the
 * first in `members`. False: given up. */
bool selector_scoring_facility_sizes(struct facility *facility, const size_t *members, size_t count,
                                     const struct progress *progress, float *ret_sizes);

#endif
