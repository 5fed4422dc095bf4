/* A recorded run: a line of text for everything that scaling was told and for everything that it decided, so that it
 * can be replayed through the model and the policies. A line is its kind and then key=value, in any order; numbers are
 * such that reading gives the same bits.
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

enum { RECORDING_ROWS_MAX = 4096, RECORDING_WORD_MAX = 32 };

enum recording_kind {
    RECORDING_SETTING,
    RECORDING_REPORT,
    RECORDING_COST,
    RECORDING_DECISION,
    RECORDING_KINDS
};

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

/* A line that was read: the member of its kind counts. Zeroed is empty; lines may be read into it one after another. */
struct recording_line {
    enum recording_kind kind;
    struct recording_stamp stamp;
    char policy[RECORDING_WORD_MAX]; /* of a setting */
    struct scale_setting setting;
    struct scale_report report; /* of rows that the line has */
    struct scale_counters counters;
    struct scale_decision decision; /* without options */
    char why[RECORDING_WORD_MAX];
    struct scale_maker *makers;
    struct scale_taker *takers;
    size_t maker_capacity, taker_capacity;
};

void preprocess_recording_fini(struct recording_line *line);
/* Reads a line without its end. INVALID: `err` says what was expected. */
enum weir_status preprocess_recording_read(struct recording_line *line, struct weir_bytes text,
                                           struct weir_error *err) WEIR_MUST_USE;

#endif
