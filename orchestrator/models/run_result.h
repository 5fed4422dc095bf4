/* The result of a run, from which a model is stored. */
#ifndef ORCHESTRATOR_MODELS_RUN_RESULT_H
#define ORCHESTRATOR_MODELS_RUN_RESULT_H

#include "core/base/bytes.h"
#include "orchestrator/config/prices.h"

/* Texts live as long as the run. */
struct run_result {
    int64_t number;
    int64_t pipeline, trigger;
    const char *mode;
    const char *purpose;
    const char *set_digest;
    /* model that it started from; NULL: none, or a file of the user, of which nothing is known */
    const char *parent;
    int64_t clean_epoch;
    uint64_t samples;
    double loss;
    const char *metrics; /* JSON object */
    int64_t busy_ns, wait_ns;
    struct orchestrator_cost cost;
    const char *audit;        /* JSON object of C11 */
    const char *directory;    /* of its files */
    const char *model_file;   /* in the directory */
    const char *outputs_file; /* in the directory */
    struct weir_bytes fitted;
};

#endif
