/* A weighted subset whose gradient is that of all: orthogonal matching pursuit with weights that are not
 * negative (GRAD-MATCH: Killamsetty et al., Gradient Matching based Data Subset Selection for Efficient Deep
 * Model Training, ICML 2021, algorithm 2). Minimises |mean gradient - Σ w g|² + ridge · |g|² · Σ w², with the mean
 * |g|², so that the ridge has no unit; each step adds the sample along which the error falls fastest, then
 * fits all weights again, one after the other until none moves.
 *
 * When nothing points along the error any more, or a weight falls to nothing, fewer are chosen. Weights are
 * scaled to sum to the number of candidates (a loss is a mean by weight: only their ratios count). Of
 * gradients that sum to nothing the first are taken, with weight 1. Time: target × (count + target) × width,
 * about; memory: a double for each component of what is chosen. */
#include "core/base/memory.h"
#include "selector/scoring/scoring.h"
#include "selector/scoring/vectors.h"

#include <math.h>
#include <stdlib.h>

enum { SUMS = 8, SWEEPS_MAX = 200 };

static const double STILL = 1e-9; /* a weight that moves less, relative to the largest, stands */

struct grad_match {
    double ridge;
};

static const struct cfg_key OPTIONS[] = {
    CFG_F64(struct grad_match, ridge, .fallback = "1", .min = 1e-6, .max = 1e6,
            .doc = "how much large weights are held down, relative to a gradient's length"),
    CFG_END,
};

struct pursuit {
    const struct vectors *vectors;
    double ridge;     /* in squares of length */
    double *error;    /* mean gradient - Σ w g */
    double *products; /* of every gradient with the error */
    bool *is_taken;
    size_t *members;
    double *weights; /* of the members */
    double *rows;    /* and their gradients */
    size_t count;    /* of members */
};

static void pursuit_init(struct pursuit *pursuit, const struct vectors *vectors, double ridge,
                         size_t target)
{
    double squares = 0;
    *pursuit = (struct pursuit){
        .vectors = vectors,
        .error = weir_calloc(vectors->width + 1, sizeof(double)),
        .products = weir_calloc(vectors->panels * VECTORS_LANES, sizeof(double)),
        .is_taken = weir_calloc(vectors->count, sizeof(bool)),
        .members = weir_calloc(target, sizeof(size_t)),
        .weights = weir_calloc(target, sizeof(double)),
        .rows = weir_calloc(target, vectors->width * sizeof(double) + 1),
    };
    for (size_t i = 0; i < vectors->count; i++) {
        squares += (double)vectors->squares[i];
        scoring_vectors_row(vectors, i, pursuit->rows);
        for (size_t k = 0; k < vectors->width; k++)
            pursuit->error[k] += pursuit->rows[k] / (double)vectors->count;
    }
    pursuit->ridge = ridge * squares / (double)vectors->count;
}

static void pursuit_fini(struct pursuit *pursuit)
{
    free(pursuit->error);
    free(pursuit->products);
    free(pursuit->is_taken);
    free(pursuit->members);
    free(pursuit->weights);
    free(pursuit->rows);
}

/* Takes the sample along which the error falls fastest. False: along none it falls. */
static bool take_next(struct pursuit *pursuit)
{
    double best = 0;
    size_t chosen = SIZE_MAX;
    scoring_vectors_project(pursuit->vectors, pursuit->error, pursuit->products);
    for (size_t i = 0; i < pursuit->vectors->count; i++)
        if (!pursuit->is_taken[i] && pursuit->products[i] > best) {
            best = pursuit->products[i];
            chosen = i;
        }
    if (chosen == SIZE_MAX)
        return false;
    scoring_vectors_row(pursuit->vectors, chosen,
                        pursuit->rows + pursuit->count * pursuit->vectors->width);
    pursuit->is_taken[chosen] = true;
    pursuit->weights[pursuit->count] = 0;
    pursuit->members[pursuit->count++] = chosen;
    return true;
}

/* In eight sums, always the same, so that they can be made side by side. */
static double product_of(const double *a, const double *b, size_t width)
{
    double sums[SUMS] = {0}, sum = 0;
    for (size_t k = 0; k < width; k++)
        sums[k % SUMS] += a[k] * b[k];
    for (size_t s = 0; s < SUMS; s++)
        sum += sums[s];
    return sum;
}

/* The best weight of one member while the others stay; returns by how much it moved. */
static double fit_one(struct pursuit *pursuit, size_t member)
{
    size_t width = pursuit->vectors->width;
    const double *row = pursuit->rows + member * width;
    double square = (double)pursuit->vectors->squares[pursuit->members[member]];
    double old = pursuit->weights[member];
    double best =
        (product_of(row, pursuit->error, width) + old * square) / (square + pursuit->ridge);
    best = best > 0 ? best : 0;
    for (size_t k = 0; k < width; k++)
        pursuit->error[k] -= (best - old) * row[k];
    pursuit->weights[member] = best;
    return fabs(best - old);
}

static void fit_all(struct pursuit *pursuit)
{
    for (size_t sweep = 0; sweep < SWEEPS_MAX; sweep++) {
        double moved = 0, largest = 0;
        for (size_t m = pursuit->count; m-- > 0;) {
            double by = fit_one(pursuit, m);
            moved = by > moved ? by : moved;
            largest = pursuit->weights[m] > largest ? pursuit->weights[m] : largest;
        }
        if (moved <= STILL * largest)
            return;
    }
}

/* Members that weigh something, on the scale of the candidates. */
static void report(const struct pursuit *pursuit, struct scoring_choice *choice)
{
    double sum = 0, largest = 0;
    choice->count = 0;
    for (size_t m = 0; m < pursuit->count; m++) {
        sum += pursuit->weights[m];
        largest = pursuit->weights[m] > largest ? pursuit->weights[m] : largest;
    }
    for (size_t m = 0; m < pursuit->count; m++) {
        if (pursuit->weights[m] <= STILL * largest)
            continue;
        choice->chosen[choice->count] = pursuit->members[m];
        choice->weights[choice->count++] =
            (float)(pursuit->weights[m] / sum * (double)pursuit->vectors->count);
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
    scoring_vectors_init(&vectors, input->values, input->count, input->width, VECTORS_AS_THEY_ARE);
    pursuit_init(&pursuit, &vectors, own->ridge, input->target);
    while (pursuit.count < input->target) {
        goes_on = scoring_goes_on(&input->progress, pursuit.count, input->target);
        if (!goes_on || !take_next(&pursuit))
            break;
        fit_all(&pursuit);
    }
    report(&pursuit, choice);
    if (choice->count == 0)
        take_first(input->target, choice);
    pursuit_fini(&pursuit);
    scoring_vectors_fini(&vectors);
    return goes_on;
}

const struct scoring_method scoring_grad_match = {
    .name = "grad_match",
    .summary = "a weighted subset whose gradient is that of all",
    .options = OPTIONS,
    .options_size = sizeof(struct grad_match),
    .wants = SCORING_WANTS_GRADIENT,
    .choose = choose,
};
