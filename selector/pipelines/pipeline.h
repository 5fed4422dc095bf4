/* One pipeline as the selector follows it: its section, its cursor in each dataset's feed, and
 * its pool. Memory mirrors Postgres: every change is committed there first, and after a commit of
 * unknown outcome the pipeline is loaded again. Held by struct selector_pipelines and by its choices under way. */
#ifndef SELECTOR_PIPELINES_PIPELINE_H
#define SELECTOR_PIPELINES_PIPELINE_H

#include "core/db/db.h"
#include "core/wire/wire.h"
#include "selector/pipelines/history.h"
#include "selector/pipelines/pool.h"
#include "selector/pipelines/section.h"

struct selector_pipeline {
    char *name;
    char *consumer; /* its name towards storage's feed */
    struct weir_yaml *document;
    struct selector_section *section;
    bool replay;
    uint64_t *datasets; /* numbers, in the order of the file */
    uint64_t *cursors;  /* change sequence taken in, per dataset */
    size_t *ascending;  /* places in `datasets`, by ascending number: the order of sample ids */
    size_t dataset_count;
    struct selector_pool pool;
    struct selector_history history; /* read when a policy needs it */
    size_t refs;
};

/* Stores the declaration in `open`; the pool and the cursors of an earlier opening stay. INVALID with a place
 * when the section is wrong. */
enum weir_status selector_pipeline_store(struct weir_db *db, const struct msg_selection_open *open,
                                         struct weir_error *err) WEIR_MUST_USE;
/* Keeps the pipeline, even when it is forgotten meanwhile; from the loop's thread alone, as all of this. */
struct selector_pipeline *selector_pipeline_ref(struct selector_pipeline *pipeline);
void selector_pipeline_unref(struct selector_pipeline *pipeline);
WEIR_DEFINE_AUTO(selector_pipeline, selector_pipeline_unref)

/* Takes in a page of the feed of its `index`-th dataset: ranges and cursor in one transaction, then
 * the pool. CORRUPT when the feed makes no sense; after any other failure load the pipeline again. */
enum weir_status selector_pipeline_advance(struct selector_pipeline *pipeline, struct weir_db *db,
                                           size_t index, const struct msg_feed_is *page,
                                           struct weir_error *err) WEIR_MUST_USE;
/* Storage cannot tell what follows the cursor: forgets its `index`-th dataset, in Postgres
 * alone. Load the pipeline again afterwards, whatever the outcome. */
enum weir_status selector_pipeline_restart(const struct selector_pipeline *pipeline,
                                           struct weir_db *db, size_t index,
                                           struct weir_error *err) WEIR_MUST_USE;

/* The pipelines in memory, loaded on demand. Zeroed but for `db`, which is the owner's, is empty. */
struct selector_pipelines {
    struct weir_db *db;
    struct selector_pipeline **of;
    size_t count;
};

/* The pipeline from memory or Postgres; borrowed, until it is forgotten. NOT_FOUND when unknown. */
enum weir_status selector_pipelines_find(struct selector_pipelines *pipelines, const char *name,
                                         struct selector_pipeline **ret_pipeline,
                                         struct weir_error *err) WEIR_MUST_USE;
/* Drops the pipeline from memory: the next use loads it again. */
void selector_pipelines_forget(struct selector_pipelines *pipelines, const char *name);
void selector_pipelines_fini(struct selector_pipelines *pipelines);
/* Returns the time that sets of no trigger stay: the longest that a pipeline declares; 0: none does. */
int64_t selector_pipelines_keep_us(const struct selector_pipelines *pipelines);

#endif
