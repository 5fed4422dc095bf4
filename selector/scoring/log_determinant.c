/* Log determinant by the rest that S leaves of every sample: see log_determinant.h. */
#include "selector/scoring/log_determinant.h"

#include "core/base/elementary.h"
#include "core/base/memory.h"

#include <stdlib.h>

void selector_scoring_log_determinant_init(struct log_determinant *determinant,
                                           const struct vectors *vectors, double ridge)
{
    size_t padded = vectors->panels * VECTORS_LANES, width = vectors->width;
    *determinant = (struct log_determinant){
        .vectors = vectors,
        .left = weir_calloc(padded + 1, sizeof(double)),
        .row = weir_calloc(width + 1, sizeof(double)),
        .applied = weir_calloc(width + 1, sizeof(double)),
        .products = weir_calloc(padded + 1, sizeof(double)),
    };
    for (size_t i = 0; i < vectors->count; i++)
        determinant->left[i] = (double)vectors->squares[i];
    selector_scoring_inverse_init(&determinant->inverse, width, ridge);
}

void selector_scoring_log_determinant_fini(struct log_determinant *determinant)
{
    selector_scoring_inverse_fini(&determinant->inverse);
    free(determinant->left);
    free(determinant->row);
    free(determinant->applied);
    free(determinant->products);
    *determinant = (struct log_determinant){0};
}

static void gains(void *state, const size_t *candidates, size_t count, double *ret_gains)
{
    const struct log_determinant *determinant = state;
    for (size_t c = 0; c < count; c++)
        ret_gains[c] = determinant->left[candidates[c]];
}

static void add(void *state, size_t chosen)
{
    struct log_determinant *determinant = state;
    determinant->value += weir_ln(1 + determinant->left[chosen] / determinant->inverse.ridge);
    selector_scoring_vectors_row(determinant->vectors, chosen, determinant->row);
    double scale = determinant->inverse.ridge +
                   selector_scoring_inverse_apply(&determinant->inverse, determinant->row,
                                                  determinant->applied);
    selector_scoring_vectors_project(determinant->vectors, determinant->applied,
                                     determinant->products);
    for (size_t i = 0; i < determinant->vectors->count; i++) {
        double less = determinant->products[i] * determinant->products[i] / scale;
        double left = determinant->left[i] - less;
        determinant->left[i] = left > 0 ? left : 0;
    }
    selector_scoring_inverse_update(&determinant->inverse, determinant->applied, scale);
}

struct objective selector_scoring_log_determinant_objective(struct log_determinant *determinant)
{
    return (struct objective){
        .state = determinant, .count = determinant->vectors->count, .gains = gains, .add = add};
}
