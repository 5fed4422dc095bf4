/* Sealed sample sets as the selector answers them: the file under its digest, and the row that
 * describes it. Both are written once; the same request gets the same answer. */
#ifndef SELECTOR_SETS_SEALED_H
#define SELECTOR_SETS_SEALED_H

#include "core/db/db.h"
#include "core/wire/wire.h"
#include "selector/policies/policy.h"
#include "selector/sets/parts.h"
#include "selector/sets/set.h"

#include "core/base/hash.h"

enum { SELECTOR_MODEL_MAX = 256 };

/* The row of a sealed set; a plain value. */
struct selector_sealed {
    char digest[WEIR_DIGEST_TEXT_MAX]; /* empty: nothing was selected */
    uint64_t samples;
    uint64_t candidates;
    uint64_t seed;
    uint32_t round;  /* of the trigger's training, from 0 */
    uint32_t period; /* its epochs; 0: all of them */
    char policy[64];
    char reason[SELECTION_REASON_MAX];
    char scored_by[SELECTOR_MODEL_MAX];           /* model whose scores decided; empty: none */
    const struct selection_component *components; /* borrowed, when a row is made */
    size_t component_count;
};

/* End of a trigger. */
struct selector_boundary {
    const uint64_t *positions; /* change sequence per dataset */
    size_t position_count;
    int64_t until_time;
    uint64_t until_id;
};

/* A set to be written, and its place. */
struct selector_sealing {
    const char *data_dir;
    size_t writer; /* number that no other writer has at the same time */
    const struct selector_set *set;
    const float *weights;               /* of its members; NULL: all 1 */
    const struct selector_parts *parts; /* of its epochs; NULL: none */
    struct progress progress;
};

/* Writes DATA_DIR/sets/DIGEST.set and fills digest and samples; an empty set leaves the digest empty. Doing it again is
 * harmless. RESTART when it was given up. */
enum weir_status selector_sealed_write(const struct selector_sealing *sealing,
                                       struct selector_sealed *sealed,
                                       struct weir_error *err) WEIR_MUST_USE;

/* The same for the ids that are asked for: INVALID unless they ascend. Their samples may be gone. */
enum weir_status selector_sealed_window(const char *data_dir, size_t writer,
                                        const struct msg_window_seal *asked,
                                        struct selector_sealed *sealed,
                                        struct weir_error *err) WEIR_MUST_USE;

/* NOT_FOUND when that round of the trigger (interval) was not answered yet. */
enum weir_status selector_sealed_find_trigger(struct weir_db *db, const char *pipeline,
                                              uint64_t trigger, uint32_t round,
                                              struct selector_sealed *ret_sealed,
                                              struct weir_error *err) WEIR_MUST_USE;
/* Finding a set keeps it: see retention.h. */
enum weir_status selector_sealed_find_interval(struct weir_db *db,
                                               const struct msg_interval_seal *asked,
                                               struct selector_sealed *ret_sealed,
                                               struct weir_error *err) WEIR_MUST_USE;

enum weir_status selector_sealed_put_trigger(struct weir_db *db, const char *pipeline,
                                             uint64_t trigger,
                                             const struct selector_boundary *boundary,
                                             const struct selector_sealed *sealed,
                                             struct weir_error *err) WEIR_MUST_USE;
enum weir_status selector_sealed_put_interval(struct weir_db *db,
                                              const struct msg_interval_seal *asked,
                                              const struct selector_sealed *sealed,
                                              struct weir_error *err) WEIR_MUST_USE;

/* Reads the end of an earlier trigger, into `positions` (room for boundary->position_count). INVALID when
 * it was not answered, or for another number of datasets. */
enum weir_status selector_sealed_boundary(struct weir_db *db, const char *pipeline,
                                          uint64_t trigger, uint64_t *positions,
                                          struct selector_boundary *boundary,
                                          struct weir_error *err) WEIR_MUST_USE;

/* The number of the newest trigger that was answered; 0: none. */
enum weir_status selector_sealed_last(struct weir_db *db, const char *pipeline,
                                      uint64_t *ret_trigger, struct weir_error *err) WEIR_MUST_USE;

/* The answer on the wire; borrows from `sealed` and `path`, which selector_sealed_path() gives. */
struct msg_selected selector_sealed_message(const struct selector_sealed *sealed, const char *path);
char *selector_sealed_path(const char *data_dir,
                           const struct selector_sealed *sealed) WEIR_MUST_USE;

#endif
