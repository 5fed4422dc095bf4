/* ddm: the error rate, p, with its deviation, s = sqrt(p (1 - p) / n), against the lowest p + s so far (Gama, Medas,
 * Castillo & Rodrigues, Learning with Drift Detection, SBIA 2004). Of errors: 0 or 1. */
#include "orchestrator/drift/detector.h"

#include <math.h>
#include <string.h>

struct ddm_options {
    uint64_t least;
    double warning, change;
};

struct ddm {
    uint64_t count;
    double errors;
    double lowest_rate, lowest_deviation;
};

static const struct cfg_key OPTIONS[] = {
    CFG_U64(struct ddm_options, least, .fallback = "30", .min = 1, .max = 1e9,
            .doc = "values before anything is said"),
    CFG_F64(struct ddm_options, warning, .fallback = "2", .min = 0, .max = 100,
            .doc = "deviations above the lowest rate that are a warning"),
    CFG_F64(struct ddm_options, change, .fallback = "3", .min = 0, .max = 100,
            .doc = "and those that are a change"),
    CFG_END,
};

static size_t words(const void *options)
{
    (void)options;
    return sizeof(struct ddm) / 8;
}

static enum detector_verdict take(const void *options, void *state, double value,
                                  struct detector_seen *ret_seen)
{
    const struct ddm_options *limits = options;
    struct ddm *ddm = state;
    ddm->count++;
    ddm->errors += value;
    if (ddm->count < limits->least)
        return DETECTOR_STABLE;
    double n = (double)ddm->count;
    double rate = ddm->errors / n;
    double deviation = sqrt(fmax(rate * (1 - rate), 0) / n);
    if (ddm->count == limits->least ||
        rate + deviation <= ddm->lowest_rate + ddm->lowest_deviation) {
        ddm->lowest_rate = rate;
        ddm->lowest_deviation = deviation;
    }
    *ret_seen = (struct detector_seen){
        .values = ddm->count,
        .base = ddm->lowest_rate,
        .found = rate + deviation,
        .limit = ddm->lowest_rate + limits->change * ddm->lowest_deviation,
        .warning = ddm->lowest_rate + limits->warning * ddm->lowest_deviation,
    };
    if (ret_seen->found > ret_seen->limit) {
        memset(ddm, 0, sizeof(*ddm));
        return DETECTOR_CHANGE;
    }
    return ret_seen->found > ret_seen->warning ? DETECTOR_WARNING : DETECTOR_STABLE;
}

const struct detector_kind orchestrator_detector_ddm = {
    .name = "ddm",
    .summary = "the error rate has risen some deviations above its lowest",
    .found = "error rate plus deviation",
    .base = "lowest rate",
    .options = OPTIONS,
    .options_size = sizeof(struct ddm_options),
    .words = words,
    .take = take,
};
