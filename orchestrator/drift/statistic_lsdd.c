/* lsdd: the squared difference of the two densities, integrated, from a model of the difference
 * itself (Sugiyama et al., Density-Difference Estimation, Neural Computation 2013, (2.8)):
 * Gaussians, as wide as for mmd, around rows of both windows. With h the difference of the mean
 * kernels and G the overlap of the centers, θ = (G + ridge)⁻¹ h and the distance is 2 h θ - θ G θ,
 * less the factor (π σ²)^(width / 2) that both have: it is no number when features are many.
 * Memory: 100 doubles a row. */
#include "core/base/elementary.h"
#include "core/base/memory.h"
#include "core/base/number.h"
#include "core/loop/work.h"
#include "orchestrator/drift/pairs.h"
#include "orchestrator/drift/permutations.h"

#include <math.h>
#include <stdlib.h>

enum { CENTERS_MAX = 100 };

struct lsdd_options {
    double ridge;
    uint64_t permutations;
};

static const struct cfg_key OPTIONS[] = {
    CFG_F64(struct lsdd_options, ridge, .fallback = "0.01", .min = 1e-9, .max = 1e9,
            .doc = "added to the overlap of the centers: more is steadier, and nearer to 0"),
    CFG_U64(struct lsdd_options, permutations, .fallback = "100", .min = 1, .max = PERMUTATIONS_MAX,
            .doc = "random divisions that the p-value is counted from, where it is asked for"),
    CFG_END,
};

struct lsdd {
    struct drift_pairs pairs;
    size_t centers;
    double exponent;  /* of e, by square */
    double *kernel;   /* (rows, centers) */
    double *overlap;  /* G, (centers, centers) */
    double *lower;    /* of G + ridge, by Cholesky */
    double *of_group; /* h of a division, then θ */
};

static size_t center_at(const struct lsdd *lsdd, size_t index)
{
    return index * lsdd->pairs.count / lsdd->centers;
}

static double square_between(const struct drift_pairs *pairs, size_t a, size_t b)
{
    double sum = 0;
    for (size_t k = 0; k < pairs->width; k++) {
        double off = (double)pairs->rows[a][k] - (double)pairs->rows[b][k];
        sum += off * off;
    }
    return sum;
}

static void fill(struct lsdd *lsdd, struct weir_work *work)
{
    for (size_t c = 0; c < lsdd->centers && weir_work_goes_on(work, 0, 0); c++) {
        for (size_t i = 0; i < lsdd->pairs.count; i++)
            lsdd->kernel[i * lsdd->centers + c] =
                weir_exp(lsdd->exponent * square_between(&lsdd->pairs, i, center_at(lsdd, c)));
        for (size_t d = 0; d < lsdd->centers; d++)
            lsdd->overlap[c * lsdd->centers + d] =
                weir_exp(lsdd->exponent / 2 *
                         square_between(&lsdd->pairs, center_at(lsdd, c), center_at(lsdd, d)));
    }
}

/* lower · lowerᵀ = overlap + ridge. */
static void decompose(struct lsdd *lsdd, double ridge)
{
    size_t n = lsdd->centers;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = lsdd->overlap[i * n + j] + (i == j ? ridge : 0);
            for (size_t k = 0; k < j; k++)
                sum -= lsdd->lower[i * n + k] * lsdd->lower[j * n + k];
            lsdd->lower[i * n + j] =
                i == j ? sqrt(fmax(sum, ridge / 2)) : sum / lsdd->lower[j * n + j];
        }
    }
}

static void solve(const struct lsdd *lsdd, double *x)
{
    size_t n = lsdd->centers;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++)
            x[i] -= lsdd->lower[i * n + k] * x[k];
        x[i] /= lsdd->lower[i * n + i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++)
            x[i] -= lsdd->lower[k * n + i] * x[k];
        x[i] /= lsdd->lower[i * n + i];
    }
}

/* The distance of one division: 2 h θ - θ G θ. */
static double distance_of(struct lsdd *lsdd, const struct drift_permutations *permutations,
                          size_t division)
{
    size_t n = lsdd->centers;
    double first = (double)permutations->first;
    double second = (double)permutations->rows - first;
    double *h = lsdd->of_group, *theta = lsdd->of_group + n;
    for (size_t c = 0; c < n; c++)
        h[c] = 0;
    for (size_t i = 0; i < permutations->rows; i++) {
        double weight =
            orchestrator_permutations_has(permutations, division, i) ? 1 / first : -1 / second;
        for (size_t c = 0; c < n; c++)
            h[c] += weight * lsdd->kernel[i * n + c];
    }
    for (size_t c = 0; c < n; c++)
        theta[c] = h[c];
    solve(lsdd, theta);
    double sum = 0;
    for (size_t c = 0; c < n; c++) {
        double turned = 0;
        for (size_t d = 0; d < n; d++)
            turned += lsdd->overlap[c * n + d] * theta[d];
        sum += (2 * h[c] - turned) * theta[c];
    }
    return sum;
}

static void open_lsdd(struct lsdd *lsdd, const struct drift_input *input)
{
    orchestrator_pairs_init(&lsdd->pairs, input, SIZE_MAX);
    size_t rows = lsdd->pairs.count;
    lsdd->centers = rows < CENTERS_MAX ? rows : CENTERS_MAX;
    double median = (double)orchestrator_pairs_median(&lsdd->pairs);
    lsdd->exponent = median > 0 ? -1 / median : 0;
    lsdd->kernel = weir_calloc(rows * lsdd->centers, sizeof(*lsdd->kernel));
    lsdd->overlap = weir_calloc(lsdd->centers * lsdd->centers, sizeof(*lsdd->overlap));
    lsdd->lower = weir_calloc(lsdd->centers * lsdd->centers, sizeof(*lsdd->lower));
    lsdd->of_group = weir_calloc(2 * lsdd->centers, sizeof(*lsdd->of_group));
}

static void close_lsdd(struct lsdd *lsdd)
{
    orchestrator_pairs_fini(&lsdd->pairs);
    free(lsdd->kernel);
    free(lsdd->overlap);
    free(lsdd->lower);
    free(lsdd->of_group);
}

static bool measure(const void *options, const struct drift_input *input,
                    struct drift_distance *ret_distance)
{
    const struct lsdd_options *given = options;
    struct lsdd lsdd = {0};
    struct drift_permutations permutations;
    const struct drift_draws draws = {.drawn = input->p_value ? given->permutations : 0,
                                      .seed = input->seed,
                                      .work = input->work};
    orchestrator_permutations_init(&permutations, input->reference.count, input->current.count,
                                   &draws);
    open_lsdd(&lsdd, input);
    fill(&lsdd, input->work);
    decompose(&lsdd, given->ridge);
    WEIR_AUTO_FREE double *statistics = weir_calloc(permutations.count, sizeof(*statistics));
    for (size_t p = 0; p < permutations.count && weir_work_goes_on(input->work, 0, 0); p++)
        statistics[p] = distance_of(&lsdd, &permutations, p);
    ret_distance->distance = fmax(statistics[0], 0);
    if (input->p_value)
        ret_distance->p_value = orchestrator_permutations_p_value(statistics, permutations.count);
    close_lsdd(&lsdd);
    orchestrator_permutations_fini(&permutations);
    return true;
}

const struct drift_statistic orchestrator_statistic_lsdd = {
    .name = "lsdd",
    .summary =
        "least-squares density difference: the squared difference of the densities, modelled "
        "by Gaussians around rows of both windows",
    .options = OPTIONS,
    .options_size = sizeof(struct lsdd_options),
    .has_p_value = true,
    .measure = measure,
};
