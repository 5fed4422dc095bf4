/* One file of scores: the trainer's outputs, packed, and the samples of the set that have no score. */
#ifndef SELECTOR_SCORES_SCORES_FILE_H
#define SELECTOR_SCORES_SCORES_FILE_H

#include "core/wire/sample_set.h"
#include "selector/scores/packed.h"
#include "selector/scores/scores.h"

struct scores_file {
    struct weir_outputs outputs; /* borrows from what follows */
    struct scores_packed packed;
    struct weir_sample_set unscored;
};

/* CORRUPT when a checksum differs. */
enum weir_status selector_scores_file_open(const struct selector_scores_store *store,
                                           const char *name, struct scores_file *ret_file,
                                           struct weir_error *err) WEIR_MUST_USE;
void selector_scores_file_close(struct scores_file *file);
/* Replaces an older file; `unscored` ascend. */
enum weir_status selector_scores_file_write(const struct selector_scores_store *store,
                                            const char *name, const struct weir_outputs *outputs,
                                            const uint64_t *unscored, size_t unscored_count,
                                            struct weir_error *err) WEIR_MUST_USE;

#endif
