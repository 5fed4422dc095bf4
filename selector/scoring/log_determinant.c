/* What is left of every sample: see log_determinant.h. */
#include "selector/scoring/log_determinant.h"

#include "core/base/memory.h"
#include "core/base/number.h"

#include <stdlib.h>

void scoring_log_determinant_init(struct log_determinant *determinant,
                                  const struct vectors *vectors, double ridge)
{
    size_t padded = vectors->panels * VECTORS_LANES, width = vectors->width;
    *determinant = (struct log_determinant){
        .vectors = vectors,
        .ridge = ridge,
        .left = weir_calloc(padded + 1, sizeof(double)),
        .inverse = weir_calloc(width * width + 1, sizeof(double)),
        .row = weir_calloc(width + 1, sizeof(double)),
        .turned = weir_calloc(width + 1, sizeof(double)),
        .products = weir_calloc(padded + 1, sizeof(double)),
    };
    for (size_t i = 0; i < vectors->count; i++)
        determinant->left[i] = (double)vectors->squares[i];
    for (size_t k = 0; k < width; k++)
        determinant->inverse[k * width + k] = 1;
}

void scoring_log_determinant_fini(struct log_determinant *determinant)
{
    free(determinant->left);
    free(determinant->inverse);
    free(determinant->row);
    free(determinant->turned);
    free(determinant->products);
    *determinant = (struct log_determinant){0};
}

static void gains(void *state, const size_t *candidates, size_t count, double *ret_gains)
{
    const struct log_determinant *determinant = state;
    for (size_t c = 0; c < count; c++)
        ret_gains[c] = determinant->left[candidates[c]];
}

/* u = M x; returns x · u. */
static double turn(struct log_determinant *determinant)
{
    size_t width = determinant->vectors->width;
    double product = 0;
    for (size_t k = 0; k < width; k++) {
        const double *of_k = determinant->inverse + k * width;
        double sum = 0;
        for (size_t l = 0; l < width; l++)
            sum += of_k[l] * determinant->row[l];
        determinant->turned[k] = sum;
        product += sum * determinant->row[k];
    }
    return product;
}

static void update_inverse(struct log_determinant *determinant, double scale)
{
    size_t width = determinant->vectors->width;
    for (size_t k = 0; k < width; k++)
        for (size_t l = 0; l < width; l++)
            determinant->inverse[k * width + l] -=
                determinant->turned[k] * determinant->turned[l] / scale;
}

static void add(void *state, size_t chosen)
{
    struct log_determinant *determinant = state;
    determinant->value += weir_ln(1 + determinant->left[chosen] / determinant->ridge);
    scoring_vectors_row(determinant->vectors, chosen, determinant->row);
    double scale = determinant->ridge + turn(determinant);
    scoring_vectors_project(determinant->vectors, determinant->turned, determinant->products);
    for (size_t i = 0; i < determinant->vectors->count; i++) {
        double less = determinant->products[i] * determinant->products[i] / scale;
        double left = determinant->left[i] - less;
        determinant->left[i] = left > 0 ? left : 0;
    }
    update_inverse(determinant, scale);
}

struct objective scoring_log_determinant_objective(struct log_determinant *determinant)
{
    return (struct objective){
        .state = determinant, .count = determinant->vectors->count, .gains = gains, .add = add};
}
