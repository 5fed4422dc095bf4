/* Reads lines of a recorded run (preprocess/scale/recording.h), which the product only writes. */
#ifndef WEIR_TESTS_UNIT_PREPROCESS_RECORDED_LINE_H
#define WEIR_TESTS_UNIT_PREPROCESS_RECORDED_LINE_H

#include "preprocess/scale/recording.h"

enum { RECORDED_ROWS_MAX = 4096, RECORDED_WORD_MAX = 32 };

enum recorded_kind {
    RECORDED_SETTING,
    RECORDED_REPORT,
    RECORDED_COST,
    RECORDED_DECISION,
    RECORDED_KINDS
};

/* A line that was read: the member of its kind counts. Zeroed is empty; lines may be read into it one after another. */
struct recorded_line {
    enum recorded_kind kind;
    struct recording_stamp stamp;
    char policy[RECORDED_WORD_MAX]; /* of a setting */
    struct scale_setting setting;
    struct scale_report report; /* of rows that the line has */
    struct scale_counters counters;
    struct scale_decision decision; /* without options */
    char why[RECORDED_WORD_MAX];
    struct scale_maker *makers;
    struct scale_taker *takers;
    size_t maker_capacity, taker_capacity;
};

void fini_recorded_line(struct recorded_line *line);
/* Reads a line without its end. INVALID: `err` says what was expected. */
enum weir_status read_recorded_line(struct recorded_line *line, struct weir_bytes text,
                                    struct weir_error *err) WEIR_MUST_USE;

#endif
