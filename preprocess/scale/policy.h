/* The seam of scaling policies: reports of a job in, the workers that it should have out. A policy knows
 * one job; what all of them may have together is decided by division.h. Pure and deterministic: the same reports give
 * the same decisions, so that a recorded run can be replayed.
 *
 * To add one: write policy_NAME.c with a const struct scale_policy, and name it in registry.c. */
#ifndef WEIR_PREPROCESS_SCALE_POLICY_H
#define WEIR_PREPROCESS_SCALE_POLICY_H

#include "core/config/plugin.h"
#include "preprocess/scale/report.h"

enum { SCALE_OPTIONS_MAX = 8, SCALE_WORKERS_MAX = 1024 };

/* Workers by place. */
struct scale_size {
    uint32_t at[SCALE_PLACES];
};

/* Bounds and prices of a job; they may change between two reports. */
struct scale_setting {
    struct scale_size min, max;
    double trainer_hour;              /* price of what waits: trainer, its GPUs; 0: none is given */
    double worker_hour[SCALE_PLACES]; /* price of a worker */
    const void *options;              /* of the policy, as read by its keys; NULL: its defaults */
};

/* A size that was weighed. */
struct scale_option {
    struct scale_size size;
    double batch_s; /* time of one batch with it, as measured or foretold */
    double money;   /* of 1000 batches, if prices are given */
};

struct scale_decision {
    struct scale_size size; /* within the setting's bounds */
    double need; /* pool workers that suffice, before rounding and bounds; for the sum over jobs */
    const char *why; /* one word for logs and pages, static: "jump", "probe", "settled", … */
    bool is_settled; /* nothing is being tried */
    /* the chosen one among them, if any were weighed */
    struct scale_option options[SCALE_OPTIONS_MAX];
    size_t option_count;
};

struct scale_policy {
    CFG_PLUGIN;
    size_t state_size; /* zeroed and owned by the caller; no pointers, so that it may be copied */

    /* Required. The first decision, before anything is reported. */
    void (*begin)(void *state, const struct scale_setting *setting,
                  struct scale_decision *ret_decision);
    /* Required. Takes in a report and decides again. */
    void (*report)(void *state, const struct scale_setting *setting,
                   const struct scale_report *report, struct scale_decision *ret_decision);
};

CFG_REGISTRY(preprocess_scale_policy, struct scale_policy, PREPROCESS_SCALE_POLICIES)

#endif
