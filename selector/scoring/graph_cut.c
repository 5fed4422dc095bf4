/* Sums of similarities, kept for every sample: see graph_cut.h. */
#include "selector/scoring/graph_cut.h"

#include "core/base/memory.h"

#include <stdlib.h>

static double similarity(double cosine)
{
    return cosine > -1 ? 0.5 + 0.5 * cosine : 0;
}

/* Σ_i s(i, j) = count / 2 + x_j · Σ_i x_i / 2. */
void selector_scoring_graph_cut_init(struct graph_cut *cut, const struct vectors *vectors,
                                     double diversity)
{
    size_t padded = vectors->panels * VECTORS_LANES;
    *cut = (struct graph_cut){
        .vectors = vectors,
        .diversity = diversity,
        .to_all = weir_calloc(padded + 1, sizeof(double)),
        .to_chosen = weir_calloc(padded + 1, sizeof(double)),
        .products = weir_calloc(padded + 1, sizeof(double)),
        .row = weir_calloc(vectors->width + 1, sizeof(double)),
    };
    WEIR_AUTO_FREE double *sum = weir_calloc(vectors->width + 1, sizeof(*sum));
    for (size_t i = 0; i < vectors->count; i++) {
        selector_scoring_vectors_row(vectors, i, cut->row);
        for (size_t k = 0; k < vectors->width; k++)
            sum[k] += cut->row[k];
    }
    selector_scoring_vectors_project(vectors, sum, cut->to_all);
    for (size_t i = 0; i < vectors->count; i++)
        cut->to_all[i] = 0.5 * (double)vectors->count + 0.5 * cut->to_all[i];
}

void selector_scoring_graph_cut_fini(struct graph_cut *cut)
{
    free(cut->to_all);
    free(cut->to_chosen);
    free(cut->products);
    free(cut->row);
    *cut = (struct graph_cut){0};
}

/* Only to_chosen changes, and only grows: a gain never does. */
static double gain_of(const struct graph_cut *cut, size_t i)
{
    double to_itself = similarity((double)cut->vectors->squares[i]);
    return cut->to_all[i] - cut->diversity * (2 * cut->to_chosen[i] + to_itself);
}

static void gains(void *state, const size_t *candidates, size_t count, double *ret_gains)
{
    const struct graph_cut *cut = state;
    for (size_t c = 0; c < count; c++)
        ret_gains[c] = gain_of(cut, candidates[c]);
}

static void add(void *state, size_t chosen)
{
    struct graph_cut *cut = state;
    cut->value += gain_of(cut, chosen);
    selector_scoring_vectors_row(cut->vectors, chosen, cut->row);
    selector_scoring_vectors_project(cut->vectors, cut->row, cut->products);
    for (size_t i = 0; i < cut->vectors->count; i++)
        cut->to_chosen[i] += similarity(cut->products[i]);
}

struct objective selector_scoring_graph_cut_objective(struct graph_cut *cut)
{
    return (struct objective){
        .state = cut, .count = cut->vectors->count, .gains = gains, .add = add};
}
