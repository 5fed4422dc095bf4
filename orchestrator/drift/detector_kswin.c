/* kswin: the newest values against as many drawn from the rest of a window, by Kolmogorov and
 * Smirnov (Raab, Heusinger & Schleif, Reactive Soft Prototype Computing for Concept Drift Streams,
 * 2020, algorithm 1). After a change the newest values are all that is left. Changes of any kind,
 * not of the mean alone. */
#include "core/base/rng.h"

#include "core/base/number.h"
#include "orchestrator/drift/detector.h"
#include "orchestrator/drift/distributions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW_MAX = 2000, NEWEST_MAX = 200 };

struct kswin_options {
    uint64_t window, newest;
    double alpha;
    uint64_t seed;
};

struct kswin {
    uint64_t taken; /* ever: what is drawn depends on it */
    uint64_t count;
    double values[]; /* oldest first */
};

static const struct cfg_key OPTIONS[] = {
    CFG_U64(struct kswin_options, window, .fallback = "100", .min = 2, .max = WINDOW_MAX,
            .doc = "values that are remembered"),
    CFG_U64(struct kswin_options, newest, .fallback = "30", .min = 1, .max = NEWEST_MAX,
            .doc = "those of them that are compared with as many of the others"),
    CFG_F64(struct kswin_options, alpha, .fallback = "0.005", .min = 1e-12, .max = 0.5,
            .doc = "the p-value below which it is a change"),
    CFG_U64(struct kswin_options, seed, .fallback = "1", .doc = "of the draw"),
    CFG_END,
};

static const char *complaint(const void *options)
{
    const struct kswin_options *kswin = options;
    return 2 * kswin->newest > kswin->window
               ? "expected a window of at least twice the newest values"
               : "";
}

static size_t words(const void *options)
{
    return 2 + ((const struct kswin_options *)options)->window;
}

/* `ret_drawn`: so many of the first `from` values, each at most once. */
static void draw(const struct kswin *kswin, uint64_t seed, size_t from, size_t count,
                 double *ret_drawn)
{
    double rest[WINDOW_MAX];
    struct weir_rng rng;
    weir_rng_init(&rng, weir_mix64(seed) ^ kswin->taken);
    memcpy(rest, kswin->values, from * sizeof(*rest));
    for (size_t i = 0; i < count; i++) {
        size_t at = i + weir_rng_below(&rng, from - i);
        ret_drawn[i] = rest[at];
        rest[at] = rest[i];
    }
}

/* The largest gap between two sorted halves of equal size, in samples. */
static size_t largest_gap(const double *a, const double *b, size_t count)
{
    size_t largest = 0;
    for (size_t i = 0, j = 0; i < count && j < count;) {
        double at = fmin(a[i], b[j]);
        while (i < count && a[i] <= at)
            i++;
        while (j < count && b[j] <= at)
            j++;
        size_t gap = i > j ? i - j : j - i;
        largest = gap > largest ? gap : largest;
    }
    return largest;
}

static bool differ(const struct kswin_options *limits, const struct kswin *kswin,
                   struct detector_seen *ret_seen)
{
    double newest[NEWEST_MAX], drawn[NEWEST_MAX];
    size_t count = limits->newest;
    size_t from = kswin->count - count;
    memcpy(newest, kswin->values + from, count * sizeof(*newest));
    draw(kswin, limits->seed, from, count, drawn);
    qsort(newest, count, sizeof(*newest), weir_order_doubles);
    qsort(drawn, count, sizeof(*drawn), weir_order_doubles);
    size_t gap = largest_gap(newest, drawn, count);
    *ret_seen = (struct detector_seen){
        .values = kswin->count,
        .base = (double)gap / (double)count,
        .found = orchestrator_smirnov_tail(count, count, (double)(gap * count)),
        .limit = limits->alpha,
        .warning = NAN,
    };
    return ret_seen->found < ret_seen->limit;
}

static enum detector_verdict take(const void *options, void *state, double value,
                                  struct detector_seen *ret_seen)
{
    const struct kswin_options *limits = options;
    struct kswin *kswin = state;
    if (kswin->count == limits->window) {
        kswin->count--;
        memmove(kswin->values, kswin->values + 1, kswin->count * sizeof(*kswin->values));
    }
    kswin->values[kswin->count++] = value;
    kswin->taken++;
    if (kswin->count < limits->window || !differ(limits, kswin, ret_seen))
        return DETECTOR_STABLE;
    memmove(kswin->values, kswin->values + kswin->count - limits->newest,
            limits->newest * sizeof(*kswin->values));
    kswin->count = limits->newest;
    return DETECTOR_CHANGE;
}

const struct detector_kind orchestrator_detector_kswin = {
    .name = "kswin",
    .summary = "the newest values are distributed otherwise than those before",
    .found = "p-value",
    .base = "largest gap",
    .below = true,
    .options = OPTIONS,
    .options_size = sizeof(struct kswin_options),
    .complaint = complaint,
    .words = words,
    .take = take,
};
