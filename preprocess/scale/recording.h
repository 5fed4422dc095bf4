/* A recorded run: a line of text for everything that scaling was told and for everything that it decided, so that
 * tests can replay it through the model and the policies. A line is its kind and then key=value, in any order; numbers
 * are such that reading gives the same bits.
 *
 *     setting job=7 at_ms=0 policy=rates min=1,0 max=16,0 trainer_hour=4.96 worker_hour=0.427,0
 *     report job=7 at_ms=2000 span_s=2 workers=1,0 maker=pool,12,1.93 taker=12,0.4,3.5
 *     cost job=7 at_ms=2000 read=31000,9000 queued=2000,5000 operator=900000,9000,4000,64,64
 *     decision job=7 at_ms=2000 size=5,0 need=4.6 why=jump settled=0
 *
 * A maker has its place, batches and busy seconds; a taker its batches, seconds of waiting and queue; an operator what
 * struct ordering_cost has; pairs are of both places, or of ns and bytes. */
#ifndef WEIR_PREPROCESS_SCALE_RECORDING_H
#define WEIR_PREPROCESS_SCALE_RECORDING_H

#include "core/base/bytes.h"
#include "preprocess/scale/counters.h"
#include "preprocess/scale/policy.h"

/* The job that a line speaks of, and when. */
struct recording_stamp {
    uint64_t job;
    int64_t at_ms;
};

/* Append a line. Setting: the policy's name comes with it. */
void preprocess_recording_setting(struct recording_stamp stamp, const char *policy,
                                  const struct scale_setting *setting, struct weir_buf *out);
void preprocess_recording_report(struct recording_stamp stamp, const struct scale_report *report,
                                 struct weir_buf *out);
void preprocess_recording_cost(struct recording_stamp stamp, const struct scale_counters *counters,
                               struct weir_buf *out);
void preprocess_recording_decision(struct recording_stamp stamp,
                                   const struct scale_decision *decision, struct weir_buf *out);

#endif
