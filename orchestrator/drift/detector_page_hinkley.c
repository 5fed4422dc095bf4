/* page_hinkley: how far the values have been above their mean, summed up and above its own minimum (Page, Continuous
 * Inspection Schemes, 1954; Hinkley 1970). */
#include "orchestrator/drift/detector.h"

#include <math.h>
#include <string.h>

struct page_hinkley_options {
    uint64_t least;
    double tolerance, limit, keep;
};

struct page_hinkley {
    uint64_t count;
    double mean, sum, lowest;
};

static const struct cfg_key OPTIONS[] = {
    CFG_U64(struct page_hinkley_options, least, .fallback = "30", .min = 1, .max = 1e9,
            .doc = "values before anything is said"),
    CFG_F64(struct page_hinkley_options, tolerance, .fallback = "0.005", .min = 0, .max = 1e9,
            .doc = "margin by which a value may be above the mean"),
    CFG_F64(struct page_hinkley_options, limit, .fallback = "50", .min = 0, .max = 1e12,
            .doc = "the sum above its lowest that is a change"),
    CFG_F64(struct page_hinkley_options, keep, .fallback = "0.9999", .min = 0, .max = 1,
            .doc = "the share of the sum that is left at the next value"),
    CFG_END,
};

static size_t words(const void *options)
{
    (void)options;
    return sizeof(struct page_hinkley) / 8;
}

static enum detector_verdict take(const void *options, void *state, double value,
                                  struct detector_seen *ret_seen)
{
    const struct page_hinkley_options *limits = options;
    struct page_hinkley *page = state;
    page->count++;
    page->mean += (value - page->mean) / (double)page->count;
    page->sum = limits->keep * page->sum + (value - page->mean - limits->tolerance);
    page->lowest = fmin(page->lowest, page->sum);
    if (page->count < limits->least)
        return DETECTOR_STABLE;
    *ret_seen = (struct detector_seen){
        .values = page->count,
        .base = page->mean,
        .found = page->sum - page->lowest,
        .limit = limits->limit,
        .warning = NAN,
    };
    if (ret_seen->found <= ret_seen->limit)
        return DETECTOR_STABLE;
    memset(page, 0, sizeof(*page));
    return DETECTOR_CHANGE;
}

const struct detector_kind orchestrator_detector_page_hinkley = {
    .name = "page_hinkley",
    .summary = "values have long been above their mean, summed up",
    .found = "sum above the mean",
    .base = "mean",
    .options = OPTIONS,
    .options_size = sizeof(struct page_hinkley_options),
    .words = words,
    .take = take,
};
