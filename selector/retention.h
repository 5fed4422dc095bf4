/* Which files of sets and of scores may go. The set of a trigger never does: models that were
 * trained on it, and what follows an erasure, need it for as long as the pipeline is known; when it
 * is removed they go. Sets of evaluations, predictions and scorings can be sealed again by whoever
 * asks again: they go, rows first, once nobody has asked for them for so long. Scores go as well,
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

/* Removes what was written last before `before_us` (microseconds since 1970) and is no trigger's. What a writer
 * left behind when it died goes whatever its age with `at_start`, when nobody writes. */
enum weir_status selector_retention_sweep(struct weir_db *db, const char *data_dir,
                                          int64_t before_us, bool at_start,
                                          struct selector_swept *ret_swept,
                                          struct weir_error *err) WEIR_MUST_USE;
/* Forgets the scores of a pipeline, at most 256 files of them, that were taken before `before_us` by models that may
 * not score again. Not for a pipeline that another one takes scores from. */
enum weir_status selector_retention_drop_scores(struct weir_db *db, const char *pipeline,
                                                int64_t before_us,
                                                struct weir_error *err) WEIR_MUST_USE;
/* Removes the files of scores that no row names; between two requests, when nobody writes. */
enum weir_status selector_retention_sweep_scores(struct weir_db *db, const char *data_dir,
                                                 struct selector_swept *ret_swept,
                                                 struct weir_error *err) WEIR_MUST_USE;
/* Forgets all of a pipeline, which may be unknown: rows, then files that no row names any more.
 * `is_quiet`: nobody writes files now; else they stay until they are swept. */
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
