/* A chain on its way through the records of datasets: what it fails on, and the range of what it makes. */
#ifndef WEIR_PREPROCESS_PREVIEW_TRIAL_H
#define WEIR_PREPROCESS_PREVIEW_TRIAL_H

#include "core/config/complaints.h"
#include "core/config/sections.h"
#include "preprocess/operators/chain.h"
#include "preprocess/preview/records.h"
#include "preprocess/preview/tensors.h"

enum { TRIAL_ROWS_MAX = OPERATOR_FAILURES_MAX /* run at once */ };

struct trial {
    struct chain *chain;
    const struct weir_yaml_node *operators;
    struct cfg_on_error on_error;
    const struct weir_yaml_node *bytes_node; /* where the next one is declared */
    uint64_t sample_bytes_max;               /* 0: it cannot be read */
    bool is_lenient;                         /* records that fail beside others are remarked */
    bool is_cut;                             /* nothing leaves the chain */
    bool trains;                             /* operators that leave something to chance do so */
    struct weir_error unfit;                 /* why they could not be fitted, if is_unfit */
    bool is_unfit;
    size_t failed; /* records that operators could not read */
    struct tensors_seen seen;
    struct cfg_complaints *complaints;
};

/* Fits the operators on the records of all datasets. Where that fails those that are fitted, and all behind them, do
 * not run; preprocess_trial_end() complains of it if nothing else is wrong with the records. */
void preprocess_trial_fit(struct trial *trial, const struct records *datasets, size_t count);
/* Returns the number of records from `first` on that are run at once. */
size_t preprocess_trial_rows_from(const struct records *records, size_t first);
/* Applies them to some of a dataset's, at most TRIAL_ROWS_MAX; returns what has become of each. All are in the output
 * columns. */
const uint8_t *preprocess_trial_run_rows(struct trial *trial, const struct records *records,
                                         size_t first, size_t count);
/* Applies them to one dataset's, and adds what is wrong with its records. */
void preprocess_trial_run(struct trial *trial, const struct records *records);
/* Applies them to a single record, for preprocess_chain_walk(); returns what became of it, OPERATOR_ROW_…. */
uint8_t preprocess_trial_run_one(struct trial *trial, const struct records *records, size_t index);
void preprocess_trial_end(struct trial *trial);

#endif
