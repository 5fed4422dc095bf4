/* M = (I + Σ x xᵀ / ridge)⁻¹ over rows that come and go, kept by the formula of Sherman and Morrison (1950):
 * width² doubles, and as many multiplications for each row. */
#ifndef SELECTOR_SCORING_INVERSE_H
#define SELECTOR_SCORING_INVERSE_H

#include <stddef.h>

struct inverse {
    size_t width;
    double ridge;
    double *at; /* M, row by row */
};

/* Over no rows yet; ridge > 0. */
void selector_scoring_inverse_init(struct inverse *inverse, size_t width, double ridge);
void selector_scoring_inverse_fini(struct inverse *inverse);
/* *ret_turned = M x. Returns x · M x. */
double selector_scoring_inverse_apply(const struct inverse *inverse, const double *x,
                                      double *ret_turned);
/* M -= applied appliedᵀ / scale. With scale = ridge + x · M x row x comes, with scale = x · M x - ridge it goes. */
void selector_scoring_inverse_update(struct inverse *inverse, const double *applied, double scale);

#endif
