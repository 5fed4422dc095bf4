/* A weighted subset whose gradient is that of all: orthogonal matching pursuit with weights that are not
 * negative (GRAD-MATCH: Killamsetty et al., Gradient Matching based Data Subset Selection for Efficient Deep
 * Model Training, ICML 2021, algorithm 2). Minimises |mean gradient - Σ w g|² + ridge · |g|² · Σ w², with the mean
 * |g|², so that the ridge has no unit. Each step adds the sample along which the error falls fastest, then
 * fits all weights again.
 *
 * The fit is exact: where a weight is above 0, w = g · error / ridge, hence error = M · mean gradient with M over
 * the samples whose weight is (inverse.h). Which these are is found by block principal pivoting (Portugal, Júdice
 * & Vicente 1994): those on the wrong side change sides together while that helps, else the last alone.
 *
 * When nothing points along the error, or a weight falls to 0, fewer are chosen. Weights are scaled
 * to sum to the number of candidates (a loss is a mean by weight: only their ratios count). Of gradients that
 * sum to nothing the first are taken, with weight 1. */
#include "core/base/memory.h"
#include "selector/scoring/inverse.h"
#include "selector/scoring/scoring.h"
#include "selector/scoring/vectors.h"

#include <stdlib.h>

enum { PATIENCE = 3, ROUNDS_MAX = 100 };

static const double NOTHING = 1e-12; /* relative to the highest product at first */

struct grad_match {
    double ridge;
};

static const struct cfg_key OPTIONS[] = {
    CFG_F64(struct grad_match, ridge, .fallback = "1", .min = 1e-3, .max = 1e6,
            .doc = "penalty of large weights, relative to a gradient's length"),
    CFG_END,
};

struct pursuit {
    const struct vectors *vectors;
    struct inverse inverse; /* over the members that weigh something */
    double *mean, *error, *row, *applied;
    double *products; /* of every gradient with the error: ridge times what a weight should be */
    double nothing;   /* what a product may be off */
    bool *is_member, *has_weight;
    size_t *members; /* in the order in which they came */
    size_t count;
};

static void find_mean(struct pursuit *pursuit, double *ret_square)
{
    const struct vectors *vectors = pursuit->vectors;
    *ret_square = 0;
    for (size_t i = 0; i < vectors->count; i++) {
        *ret_square += (double)vectors->squares[i] / (double)vectors->count;
        selector_scoring_vectors_row(vectors, i, pursuit->row);
        for (size_t k = 0; k < vectors->width; k++)
            pursuit->mean[k] += pursuit->row[k] / (double)vectors->count;
    }
}

static void find_error(struct pursuit *pursuit)
{
    (void)selector_scoring_inverse_apply(&pursuit->inverse, pursuit->mean, pursuit->error);
    selector_scoring_vectors_project(pursuit->vectors, pursuit->error, pursuit->products);
}

static void pursuit_init(struct pursuit *pursuit, const struct vectors *vectors, double ridge,
                         size_t target)
{
    double square = 0;
    *pursuit = (struct pursuit){
        .vectors = vectors,
        .mean = weir_calloc(vectors->width + 1, sizeof(double)),
        .error = weir_calloc(vectors->width + 1, sizeof(double)),
        .row = weir_calloc(vectors->width + 1, sizeof(double)),
        .applied = weir_calloc(vectors->width + 1, sizeof(double)),
        .products = weir_calloc(vectors->panels * VECTORS_LANES, sizeof(double)),
        .is_member = weir_calloc(vectors->count, sizeof(bool)),
        .has_weight = weir_calloc(vectors->count, sizeof(bool)),
        .members = weir_calloc(target, sizeof(size_t)),
    };
    find_mean(pursuit, &square);
    selector_scoring_inverse_init(&pursuit->inverse, vectors->width, ridge * square);
    find_error(pursuit);
    for (size_t i = 0; i < vectors->count; i++)
        if (pursuit->products[i] * NOTHING > pursuit->nothing)
            pursuit->nothing = pursuit->products[i] * NOTHING;
}

static void pursuit_fini(struct pursuit *pursuit)
{
    selector_scoring_inverse_fini(&pursuit->inverse);
    free(pursuit->mean);
    free(pursuit->error);
    free(pursuit->row);
    free(pursuit->applied);
    free(pursuit->products);
    free(pursuit->is_member);
    free(pursuit->has_weight);
    free(pursuit->members);
}

/* Gives a member weight, or takes it. */
static void change_side(struct pursuit *pursuit, size_t member)
{
    selector_scoring_vectors_row(pursuit->vectors, member, pursuit->row);
    double product =
        selector_scoring_inverse_apply(&pursuit->inverse, pursuit->row, pursuit->applied);
    double ridge = pursuit->inverse.ridge;
    bool comes = !pursuit->has_weight[member];
    selector_scoring_inverse_update(&pursuit->inverse, pursuit->applied,
                                    comes ? ridge + product : product - ridge);
    pursuit->has_weight[member] = comes;
}

/* Takes the sample along which the error falls fastest. False: along none it falls. */
static bool take_next(struct pursuit *pursuit)
{
    double best = pursuit->nothing;
    size_t chosen = SIZE_MAX;
    for (size_t i = 0; i < pursuit->vectors->count; i++)
        if (!pursuit->is_member[i] && pursuit->products[i] > best) {
            best = pursuit->products[i];
            chosen = i;
        }
    if (chosen == SIZE_MAX)
        return false;
    pursuit->is_member[chosen] = true;
    pursuit->members[pursuit->count++] = chosen;
    return true;
}

static bool is_on_the_wrong_side(const struct pursuit *pursuit, size_t member)
{
    double product = pursuit->products[member];
    return pursuit->has_weight[member] ? product < -pursuit->nothing : product > pursuit->nothing;
}

static size_t count_wrong(const struct pursuit *pursuit, size_t *ret_last)
{
    size_t wrong = 0;
    for (size_t m = 0; m < pursuit->count; m++)
        if (is_on_the_wrong_side(pursuit, pursuit->members[m])) {
            *ret_last = m;
            wrong++;
        }
    return wrong;
}

static void fit(struct pursuit *pursuit)
{
    size_t fewest = SIZE_MAX, patience = PATIENCE, last = 0;
    for (size_t round = 0; round < ROUNDS_MAX; round++) {
        size_t wrong = count_wrong(pursuit, &last);
        if (wrong == 0)
            return;
        patience = wrong < fewest ? PATIENCE : patience > 0 ? patience - 1 : 0;
        fewest = wrong < fewest ? wrong : fewest;
        for (size_t m = patience > 0 ? 0 : last; m <= last; m++)
            if (is_on_the_wrong_side(pursuit, pursuit->members[m]))
                change_side(pursuit, pursuit->members[m]);
        find_error(pursuit);
    }
}

/* Members that weigh something, on the scale of the candidates. */
static void report(const struct pursuit *pursuit, struct scoring_choice *choice)
{
    double sum = 0;
    choice->count = 0;
    for (size_t m = 0; m < pursuit->count; m++)
        if (pursuit->products[pursuit->members[m]] > pursuit->nothing)
            sum += pursuit->products[pursuit->members[m]];
    for (size_t m = 0; m < pursuit->count; m++) {
        double product = pursuit->products[pursuit->members[m]];
        if (product <= pursuit->nothing)
            continue;
        choice->chosen[choice->count] = pursuit->members[m];
        choice->weights[choice->count++] = (float)(product / sum * (double)pursuit->vectors->count);
    }
}

static void take_first(size_t target, struct scoring_choice *choice)
{
    choice->count = target;
    for (size_t n = 0; n < target; n++) {
        choice->chosen[n] = n;
        choice->weights[n] = 1;
    }
}

static bool choose(const void *options, const struct scoring_input *input,
                   struct scoring_choice *choice)
{
    const struct grad_match *own = options;
    struct vectors vectors;
    struct pursuit pursuit;
    bool goes_on = true;
    selector_scoring_vectors_init(&vectors, input->values, input->count, input->width,
                                  VECTORS_AS_THEY_ARE);
    pursuit_init(&pursuit, &vectors, own->ridge, input->target);
    while (pursuit.count < input->target) {
        goes_on = scoring_goes_on(&input->progress, pursuit.count, input->target);
        if (!goes_on || !take_next(&pursuit))
            break;
        fit(&pursuit);
    }
    report(&pursuit, choice);
    if (choice->count == 0)
        take_first(input->target, choice);
    pursuit_fini(&pursuit);
    selector_scoring_vectors_fini(&vectors);
    return goes_on;
}

const struct scoring_method selector_scoring_grad_match = {
    .name = "grad_match",
    .summary = "a weighted subset whose gradient is that of all",
    .options = OPTIONS,
    .options_size = sizeof(struct grad_match),
    .wants = SCORING_WANTS_GRADIENT,
    .choose = choose,
};
