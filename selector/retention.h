/* Files of sets and of scores that may go. The set of a trigger never does: models that were
 * trained on it, and the retraining after an erasure, need it for as long as the pipeline is known;
 * it goes with the pipeline. Sets of evaluations, predictions and scorings can be sealed again when
 * asked for again: they go, rows first, once they have not been asked for for long enough. Scores go as well,
 * but not those by the two models of a pipeline that scored last: the one in use and the one it
 * came from. Whatever dies in between, a row never names a file that is not there. */
#ifndef SELECTOR_RETENTION_H
#define SELECTOR_RETENTION_H

#include "core/base/hash.h"
#include "core/db/db.h"

struct selector_swept {
    uint64_t kept;
    uint64_t kept_bytes;
    uint64_t removed;
    uint64_t removed_bytes;
};

/* Removes sets of no trigger that were last written before `before_us` (microseconds since 1970). With `at_start`, when
 * there is no writer, the leavings of writers that died go whatever their age. */
enum weir_status selector_retention_sweep(struct weir_db *db, const char *data_dir,
                                          int64_t before_us, bool at_start,
                                          struct selector_swept *ret_swept,
                                          struct weir_error *err) WEIR_MUST_USE;
/* Forgets the scores of a pipeline, at most 256 files of them, that were taken before `before_us` by models that may
 * not score again. Not for a pipeline that another one takes scores from. */
enum weir_status selector_retention_drop_scores(struct weir_db *db, const char *pipeline,
                                                int64_t before_us,
                                                struct weir_error *err) WEIR_MUST_USE;
/* Removes the files of scores that no row names; between two requests, when none is being written. */
enum weir_status selector_retention_sweep_scores(struct weir_db *db, const char *data_dir,
                                                 struct selector_swept *ret_swept,
                                                 struct weir_error *err) WEIR_MUST_USE;
/* Forgets all of a pipeline, which may be unknown: rows, then files that no row names.
 * `is_quiet`: no file is being written now; else they stay until they are swept. */
enum weir_status selector_retention_forget(struct weir_db *db, const char *data_dir,
                                           const char *pipeline, bool is_quiet,
                                           struct selector_swept *ret_swept,
                                           struct weir_error *err) WEIR_MUST_USE;
/* True when one of `named` (digests in bytewise order, in column 0) is `digest`. */
bool selector_retention_is_named(const struct weir_rows *named, const char *digest);
/* The digest that the file of a sealed set is named by; NULL: it is none. */
const char *selector_retention_set_digest(const char *name, char digest[WEIR_DIGEST_TEXT_MAX]);
/* Counts the files of sets as kept, and removes nothing. */
enum weir_status selector_retention_survey(const char *data_dir, struct selector_swept *ret_swept,
                                           struct weir_error *err) WEIR_MUST_USE;
#endif
