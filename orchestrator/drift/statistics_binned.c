/* hellinger, jensen_shannon, kullback_leibler, psi, chi_square: distances between the counts of bins. */
#include "core/base/elementary.h"
#include "orchestrator/drift/bins.h"
#include "orchestrator/drift/distributions.h"

#include <math.h>

static const char *const BY[] = {"quantile", "width", NULL};

static const struct cfg_key OPTIONS[] = {
    CFG_U64(struct drift_bins_options, bins, .fallback = "10", .min = 2, .max = 1000,
            .doc = "bins of numbers; a class is a bin of its own, and so is what is missing"),
    CFG_CHOICE(struct drift_bins_options, by, .fallback = "quantile", .choices = BY,
               .doc = "quantile: bins hold equally many of the reference; width: bins are "
                      "equally wide between its ends"),
    CFG_END,
};

/* ---- between the shares p of the reference and q of the current window ---- */

/* Half a sample more in each bin makes one that is empty on one side a number. */
static const double NONE = 0, HALF = 0.5;

typedef double bin_fn(double p, double q);

/* The sum of `term` over the bins, each with `unseen` samples more. */
static double sum_bins(const void *options, const struct drift_feature *feature, double unseen,
                       bin_fn *term)
{
    struct drift_bins bins;
    double sum = 0;

    orchestrator_bins_init(&bins, options, feature);
    orchestrator_bins_share(&bins, unseen);
    for (size_t i = 0; i < bins.count; i++)
        sum += term(bins.reference[i], bins.current[i]);
    orchestrator_bins_fini(&bins);
    return sum;
}

static double affinity(double p, double q)
{
    return sqrt(p * q);
}

/* sqrt(1 - Σ sqrt(p q)) (Hellinger 1909). */
static bool hellinger(const void *options, const struct drift_feature *feature,
                      struct drift_distance *ret_distance)
{
    ret_distance->distance = sqrt(fmax(0, 1 - sum_bins(options, feature, NONE, affinity)));
    return true;
}

static double to_the_middle(double p, double q)
{
    double middle = (p + q) / 2;

    return (p > 0 ? p * weir_ln(p / middle) : 0) + (q > 0 ? q * weir_ln(q / middle) : 0);
}

/* The root of the divergence (Endres & Schindelin 2003). */
static bool jensen_shannon(const void *options, const struct drift_feature *feature,
                           struct drift_distance *ret_distance)
{
    double sum = sum_bins(options, feature, NONE, to_the_middle);

    ret_distance->distance = sqrt(fmax(0, sum / 2 / weir_ln(2)));
    return true;
}

static double lost(double p, double q)
{
    return q * weir_ln(q / p);
}

/* Σ q ln(q / p), what is lost by taking the reference for the current window (Kullback & Leibler 1951). */
static bool kullback_leibler(const void *options, const struct drift_feature *feature,
                             struct drift_distance *ret_distance)
{
    ret_distance->distance = fmax(0, sum_bins(options, feature, HALF, lost));
    return true;
}

static double shifted(double p, double q)
{
    return (q - p) * weir_ln(q / p);
}

static bool psi(const void *options, const struct drift_feature *feature,
                struct drift_distance *ret_distance)
{
    ret_distance->distance = sum_bins(options, feature, HALF, shifted);
    return true;
}

/* ---- chi-square ---- */

static double chi_square_of(const struct drift_bins *bins)
{
    double all = bins->reference_total + bins->current_total;
    double sum = 0;

    for (size_t i = 0; i < bins->count; i++) {
        double share = (bins->reference[i] + bins->current[i]) / all;
        double expected = share * bins->reference_total;
        double off =
            bins->reference[i] - expected; /* the same, with the other sign, in the other row */

        sum += off * off / expected + off * off / (share * bins->current_total);
    }
    return sum;
}

/* Pearson's test that both windows have the same shares of the bins (1900). The distance is Cramér's V, sqrt(χ² / n),
 * which does not grow with the windows. */
static bool chi_square(const void *options, const struct drift_feature *feature,
                       struct drift_distance *ret_distance)
{
    struct drift_bins bins;
    double found;

    orchestrator_bins_init(&bins, options, feature);
    found = chi_square_of(&bins);
    ret_distance->distance = sqrt(found / (bins.reference_total + bins.current_total));
    if (feature->p_value)
        ret_distance->p_value =
            bins.count < 2 ? 1 : orchestrator_chi_square_tail(found, (double)bins.count - 1);
    orchestrator_bins_fini(&bins);
    return true;
}

#define BINNED(name_, summary_, tests)                              \
    const struct drift_statistic orchestrator_statistic_##name_ = { \
        .name = #name_,                                             \
        .summary = summary_,                                        \
        .options = OPTIONS,                                         \
        .options_size = sizeof(struct drift_bins_options),          \
        .takes_labels = true,                                       \
        .has_p_value = tests,                                       \
        .measure_feature = name_,                                   \
    };

BINNED(hellinger, "Hellinger distance between the shares of bins, 0 to 1", false)
BINNED(jensen_shannon, "Jensen-Shannon distance between the shares of bins, to base 2: 0 to 1",
       false)
BINNED(kullback_leibler,
       "Kullback-Leibler divergence of the current window from the reference over bins, in nats",
       false)
BINNED(
    psi,
    "population stability index over bins; below 0.1 is usually called stable, above 0.25 a shift",
    false)
BINNED(chi_square, "Pearson's chi-square over bins; the distance is Cramer's V, 0 to 1", true)
