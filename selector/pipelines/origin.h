/* The trigger that brought each candidate: by change sequence in a live pipeline, by (event time, id) in
 * a replay. Pure but for reading the ends of earlier triggers. */
#ifndef SELECTOR_PIPELINES_ORIGIN_H
#define SELECTOR_PIPELINES_ORIGIN_H

#include "core/db/db.h"
#include "selector/pipelines/pipeline.h"

/* Ends of triggers 1, 2, … before the one that is asked for. */
struct selector_ends {
    size_t count;
    int64_t *times;
    uint64_t *ids;
    uint64_t *positions; /* of trigger t and dataset d of the file: [(t - 1) * dataset_count + d] */
};

/* Freed by selector_ends_fini(). INVALID when one of them was never answered. */
enum weir_status selector_ends_read(struct weir_db *db, const struct selector_pipeline *pipeline,
                                    uint64_t trigger, struct selector_ends *ret_ends,
                                    struct weir_error *err) WEIR_MUST_USE;
void selector_ends_fini(struct selector_ends *ends);
/* Fills `triggers` of `count` ids of one block; `times` of a replay. */
void selector_origin_mark(const struct selector_pipeline *pipeline,
                          const struct selector_ends *ends, const struct selection_run *run,
                          int64_t *triggers);

#endif
