/* eddm: how many values lie between two errors, by mean and deviation, against the most so far (Baena-García et al.,
 * Early Drift Detection Method, 2006): sees slow changes sooner than ddm. Of errors: 0 or 1. */
#include "orchestrator/drift/detector.h"

#include <math.h>
#include <string.h>

struct eddm_options {
    uint64_t least;
    double warning, change;
};

struct eddm {
    uint64_t count, errors;
    uint64_t newest; /* the count at the newest error */
    double mean, squares;
    double most; /* of mean + 2 deviations */
};

static const struct cfg_key OPTIONS[] = {
    CFG_U64(struct eddm_options, least, .fallback = "30", .min = 2, .max = 1e9,
            .doc = "errors before anything is said"),
    CFG_F64(struct eddm_options, warning, .fallback = "0.95", .min = 0, .max = 1,
            .doc = "share of the longest distance below which it is a warning"),
    CFG_F64(struct eddm_options, change, .fallback = "0.9", .min = 0, .max = 1,
            .doc = "and that below which it is a change"),
    CFG_END,
};

static size_t words(const void *options)
{
    (void)options;
    return sizeof(struct eddm) / 8;
}

static enum detector_verdict take(const void *options, void *state, double value,
                                  struct detector_seen *ret_seen)
{
    const struct eddm_options *limits = options;
    struct eddm *eddm = state;
    eddm->count++;
    if (value < 0.5)
        return DETECTOR_STABLE;
    double distance = (double)(eddm->count - eddm->newest);
    double off = distance - eddm->mean;
    eddm->newest = eddm->count;
    eddm->errors++;
    eddm->mean += off / (double)eddm->errors; /* Welford's recurrence */
    eddm->squares += off * (distance - eddm->mean);
    double reach = eddm->mean + 2 * sqrt(eddm->squares / (double)eddm->errors);
    eddm->most = fmax(eddm->most, reach);
    if (eddm->errors < limits->least)
        return DETECTOR_STABLE;
    *ret_seen = (struct detector_seen){
        .values = eddm->count,
        .base = eddm->most,
        .found = reach,
        .limit = limits->change * eddm->most,
        .warning = limits->warning * eddm->most,
    };
    if (reach < ret_seen->limit) {
        memset(eddm, 0, sizeof(*eddm));
        return DETECTOR_CHANGE;
    }
    return reach < ret_seen->warning ? DETECTOR_WARNING : DETECTOR_STABLE;
}

const struct detector_kind orchestrator_detector_eddm = {
    .name = "eddm",
    .summary = "errors follow each other more closely than they did",
    .found = "values between errors plus two deviations",
    .base = "most so far",
    .below = true,
    .options = OPTIONS,
    .options_size = sizeof(struct eddm_options),
    .words = words,
    .take = take,
};
