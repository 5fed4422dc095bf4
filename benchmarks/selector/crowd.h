/* Samples to select from: a dataset of small records in a hundred skewed classes, and the pipelines that
 * select from it. Owned by the benchmark. */
#ifndef BENCHMARKS_SELECTOR_CROWD_H
#define BENCHMARKS_SELECTOR_CROWD_H

#include "benchmarks/rig.h"

enum { CROWD_CLASSES = 100 };

struct crowd {
    char name[32];
    size_t samples;    /* 0: not made yet */
    uint64_t dataset;  /* its number */
    uint64_t position; /* newest change */
};

/* Writes the files below `directory` and registers them. */
enum weir_status crowd_make(struct rig *rig, const char *directory, struct crowd *crowd,
                            size_t samples, struct weir_error *err) WEIR_MUST_USE;
/* The class of sample i: class c has about c^(-2/3) of the samples. */
int32_t crowd_class(size_t i);

/* A live pipeline over the crowd. */
struct crowd_pipeline {
    const struct crowd *crowd;
    const char *selection; /* the section, in one line */
    char name[64];
    uint64_t trigger; /* the newest that was asked for */
};

enum weir_status crowd_open(struct rig *rig, struct crowd_pipeline *pipeline,
                            struct weir_error *err) WEIR_MUST_USE;
/* The set of the next trigger. `*ret_seconds` passed until it was answered. */
enum weir_status crowd_select(struct rig *rig, struct crowd_pipeline *pipeline,
                              struct msg_selected *ret_selected, double *ret_seconds,
                              struct weir_error *err) WEIR_MUST_USE;

#endif
