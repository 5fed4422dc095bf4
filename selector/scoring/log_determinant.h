/* Log determinant: the volume that a subset spans, f(S) = log det(I + X_S X_Sᵀ / ridge), the mode of a
 * determinantal point process and the information that S gives about a linear function (Krause, Singh &
 * Guestrin, Near-Optimal Sensor Placements in Gaussian Processes, JMLR 2008). Monotone and submodular.
 *
 * A gain is ln(1 + v / ridge), where v is what S leaves of a sample's length: v_j - (x_j · u)² / (ridge + x · u),
 * u = M x, when x is added, and M = (I + X_Sᵀ X_S / ridge)⁻¹ (inverse.h). It is reported as v alone, which
 * chooses alike: 1 - ε of v gives at least 1 - ε of the logarithm. A gain is a look-up; adding costs count × width +
 * width²; memory: two doubles a sample and width² beside the vectors. */
#ifndef SELECTOR_SCORING_LOG_DETERMINANT_H
#define SELECTOR_SCORING_LOG_DETERMINANT_H

#include "selector/scoring/greedy.h"
#include "selector/scoring/inverse.h"
#include "selector/scoring/vectors.h"

struct log_determinant {
    const struct vectors *vectors;
    struct inverse inverse; /* M */
    double *left;           /* v of each */
    double *row, *applied;  /* x and u of what is added */
    double *products;
    double value; /* f(S) */
};

/* Borrows the vectors, which have unit length. S is empty; ridge > 0. */
void selector_scoring_log_determinant_init(struct log_determinant *determinant,
                                           const struct vectors *vectors, double ridge);
void selector_scoring_log_determinant_fini(struct log_determinant *determinant);
struct objective selector_scoring_log_determinant_objective(struct log_determinant *determinant);

#endif
