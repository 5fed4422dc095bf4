/* One row at a time: see inverse.h. */
#include "selector/scoring/inverse.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

void selector_scoring_inverse_init(struct inverse *inverse, size_t width, double ridge)
{
    *inverse = (struct inverse){
        .width = width, .ridge = ridge, .at = weir_calloc(width * width + 1, sizeof(double))};
    for (size_t k = 0; k < width; k++)
        inverse->at[k * width + k] = 1;
}

void selector_scoring_inverse_fini(struct inverse *inverse)
{
    free(inverse->at);
    *inverse = (struct inverse){0};
}

WEIR_CLONES double selector_scoring_inverse_apply(const struct inverse *inverse, const double *x,
                                                  double *ret_turned)
{
    size_t width = inverse->width;
    double product = 0;
    memset(ret_turned, 0, width * sizeof(double));
    for (size_t k = 0; k < width; k++)
        for (size_t l = 0; l < width; l++)
            ret_turned[l] += inverse->at[k * width + l] * x[k];
    for (size_t k = 0; k < width; k++)
        product += x[k] * ret_turned[k];
    return product;
}

WEIR_CLONES void selector_scoring_inverse_update(struct inverse *inverse, const double *applied,
                                                 double scale)
{
    size_t width = inverse->width;
    for (size_t k = 0; k < width; k++) {
        double of_k = applied[k] / scale;
        for (size_t l = 0; l < width; l++)
            inverse->at[k * width + l] -= of_k * applied[l];
    }
}
