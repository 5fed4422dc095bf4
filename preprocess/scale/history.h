/* Measurements of a job as Cachew's client takes them, for the policies of Cachew and Pecan: the mean time of a batch
 * over a fixed number of batches, none of which was taken too soon after a start or a change of the workers. Pure. */
#ifndef WEIR_PREPROCESS_SCALE_HISTORY_H
#define WEIR_PREPROCESS_SCALE_HISTORY_H

#include "preprocess/scale/policy.h"

enum { SCALE_HISTORY_KEPT = 20 };

/* Batches that one measurement takes, and batches that belong to none. */
struct scale_measuring {
    uint64_t batches;        /* of a measurement, at least */
    uint64_t discard_start;  /* of a job's first */
    uint64_t discard_change; /* after a change of the workers */
};

/* The keys of a struct scale_measuring that is the member `member` of a policy's options. */
// clang-format off
#define SCALE_MEASURING_KEYS(owner, member)                                                       \
    CFG_KEY_AS("batches", CFG_KIND_U64, uint64_t, owner, member.batches, .fallback = "500",       \
               .min = 1, .max = 1000000, .doc = "batches of one measurement"),                    \
    CFG_KEY_AS("discard_start", CFG_KIND_U64, uint64_t, owner, member.discard_start,              \
               .fallback = "200", .max = 1000000, .doc = "first batches, which are not measured"), \
    CFG_KEY_AS("discard_change", CFG_KIND_U64, uint64_t, owner, member.discard_change,            \
               .fallback = "150", .max = 1000000,                                                 \
               .doc = "batches after a change of the workers, which are not measured")
// clang-format on

struct scale_measurement {
    struct scale_size workers;
    double batch_s; /* as the slowest consumer saw it */
    double queued;  /* batches that waited for a consumer, on average */
};

/* Zeroed at first. */
struct scale_history {
    struct scale_measurement kept[SCALE_HISTORY_KEPT]; /* oldest first */
    size_t count;
    struct scale_size workers;                 /* of the reports now gathered */
    double discard, batches, span_s, queued_s; /* left to discard; gathered since */
    bool is_begun;
};

/* Takes in a report. True: a measurement is complete, and the newest of the history. */
bool preprocess_scale_history_add(struct scale_history *history,
                                  const struct scale_measuring *measuring,
                                  const struct scale_report *report);
/* Requires that a measurement is there. */
const struct scale_measurement *preprocess_scale_history_newest(
    const struct scale_history *history);
/* Returns the most recent measurement with other workers than the newest one; NULL: there is none. */
const struct scale_measurement *preprocess_scale_history_other(const struct scale_history *history);
/* Returns the part of the batch time that the newest measurement saves against `before`; negative: it is slower. */
double preprocess_scale_history_gain(const struct scale_history *history,
                                     const struct scale_measurement *before);

#endif
