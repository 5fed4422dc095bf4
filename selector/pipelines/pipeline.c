/* Stores, loads and advances pipelines. */
#include "selector/pipelines/pipeline.h"

#include "core/base/fault.h"
#include "core/base/memory.h"
#include "selector/sql/queries.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- opening ---- */

static enum weir_status check(const struct msg_selection_open *open, struct weir_error *err)
{
    WEIR_AUTO(weir_yaml) document = NULL;
    enum weir_status status = weir_yaml_parse(open->file, open->config, &document, err);
    if (status == WEIR_OK)
        status = selector_section_check(weir_yaml_root(document), err);
    if (status == WEIR_OK && open->datasets.count == 0)
        status = weir_fail(err, WEIR_INVALID, "pipeline '%s': expected at least one dataset",
                           open->pipeline);
    return status;
}

static enum weir_status store(struct weir_db *db, const struct msg_selection_open *open,
                              struct weir_error *err)
{
    const struct weir_param datasets = DB_I64S(open->datasets.at, open->datasets.count);
    enum weir_status status =
        DB_RUN(db, Q_put_pipeline, NULL, err, DB_TEXT(open->pipeline), DB_TEXT(open->file),
               DB_BYTES(open->config), DB_BOOL(open->replay), DB_TEXT(open->tenant));
    if (status == WEIR_OK)
        status = DB_RUN(db, Q_put_cursors, NULL, err, DB_TEXT(open->pipeline), datasets);
    if (status == WEIR_OK)
        status = DB_RUN(db, Q_drop_other_cursors, NULL, err, DB_TEXT(open->pipeline), datasets);
    return status;
}

enum weir_status selector_pipeline_store(struct weir_db *db, const struct msg_selection_open *open,
                                         struct weir_error *err)
{
    enum weir_status status = check(open, err);
    if (status == WEIR_OK)
        status = weir_db_begin(db, err);
    if (status != WEIR_OK)
        return status;
    status = store(db, open, err);
    if (status == WEIR_OK)
        return weir_db_commit(db, err);
    weir_db_rollback(db);
    return status;
}

/* ---- loading ---- */

static enum weir_status load_section(struct selector_pipeline *pipeline, struct weir_db *db,
                                     struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(db, Q_find_pipeline, &rows, err, DB_TEXT(pipeline->name));
    if (status != WEIR_OK)
        return status;
    if (weir_rows_count(rows) == 0)
        return weir_fail(err, WEIR_NOT_FOUND,
                         "pipeline '%s' is not open here: send selection_open first",
                         pipeline->name);
    pipeline->replay = weir_rows_bool(rows, 0, "replay");
    status = weir_yaml_parse(weir_rows_text(rows, 0, "file"), weir_rows_bytes(rows, 0, "config"),
                             &pipeline->document, err);
    if (status != WEIR_OK)
        return status;
    status = selector_section_read(weir_yaml_root(pipeline->document), &pipeline->section, err);
    if (status == WEIR_OK)
        pipeline->history.warmup = pipeline->section->warmup;
    return status;
}

/* By insertion: a pipeline has a handful of datasets. */
static void sort_datasets(struct selector_pipeline *pipeline)
{
    pipeline->ascending = weir_calloc(pipeline->dataset_count + 1, sizeof(*pipeline->ascending));
    for (size_t i = 0; i < pipeline->dataset_count; i++) {
        size_t at = i;
        for (; at > 0 && pipeline->datasets[pipeline->ascending[at - 1]] > pipeline->datasets[i];
             at--)
            pipeline->ascending[at] = pipeline->ascending[at - 1];
        pipeline->ascending[at] = i;
    }
}

static enum weir_status load_cursors(struct selector_pipeline *pipeline, struct weir_db *db,
                                     struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(db, Q_list_cursors, &rows, err, DB_TEXT(pipeline->name));
    if (status != WEIR_OK)
        return status;
    pipeline->dataset_count = weir_rows_count(rows);
    pipeline->datasets = weir_calloc(pipeline->dataset_count + 1, sizeof(*pipeline->datasets));
    pipeline->cursors = weir_calloc(pipeline->dataset_count + 1, sizeof(*pipeline->cursors));
    for (size_t i = 0; i < pipeline->dataset_count; i++) {
        pipeline->datasets[i] = (uint64_t)weir_rows_i64(rows, i, "dataset");
        pipeline->cursors[i] = (uint64_t)weir_rows_i64(rows, i, "sequence");
    }
    sort_datasets(pipeline);
    return WEIR_OK;
}

static enum weir_status load_pool(struct selector_pipeline *pipeline, struct weir_db *db,
                                  struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(db, Q_list_ranges, &rows, err, DB_TEXT(pipeline->name));
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        const struct selector_change change = {
            .sequence = (uint64_t)weir_rows_i64(rows, i, "sequence"),
            .first = (uint64_t)weir_rows_i64(rows, i, "first_id"),
            .count = (uint32_t)weir_rows_i64(rows, i, "count"),
            .kind = (uint32_t)weir_rows_i64(rows, i, "kind"),
        };
        uint64_t dataset = (uint64_t)weir_rows_i64(rows, i, "dataset");
        if (!selector_pool_apply(&pipeline->pool, dataset, &change))
            status = weir_fail(err, WEIR_CORRUPT,
                               "pipeline '%s': pool_range holds an impossible range of dataset "
                               "%" PRIu64 " at %" PRIu64,
                               pipeline->name, dataset, change.sequence);
    }
    return status;
}

static enum weir_status load(struct weir_db *db, const char *name,
                             struct selector_pipeline **ret_pipeline, struct weir_error *err)
{
    WEIR_AUTO(selector_pipeline) pipeline = weir_calloc(1, sizeof(*pipeline));
    pipeline->refs = 1;
    pipeline->name = weir_strdup(name);
    pipeline->consumer = weir_format("selector/%s", name);
    enum weir_status status = load_section(pipeline, db, err);
    if (status == WEIR_OK)
        status = load_cursors(pipeline, db, err);
    if (status == WEIR_OK)
        status = load_pool(pipeline, db, err);
    if (status != WEIR_OK)
        return status;
    *ret_pipeline = WEIR_TAKE(pipeline);
    return WEIR_OK;
}

struct selector_pipeline *selector_pipeline_ref(struct selector_pipeline *pipeline)
{
    pipeline->refs++;
    return pipeline;
}

void selector_pipeline_unref(struct selector_pipeline *pipeline)
{
    if (pipeline == NULL || --pipeline->refs > 0)
        return;
    selector_pool_fini(&pipeline->pool);
    selector_history_fini(&pipeline->history);
    selector_section_free(pipeline->section);
    weir_yaml_free(pipeline->document);
    free(pipeline->datasets);
    free(pipeline->cursors);
    free(pipeline->ascending);
    free(pipeline->consumer);
    free(pipeline->name);
    free(pipeline);
}

/* ---- following the feed ---- */

/* Checks that a page has columns of the same length, after the cursor, ascending. */
static enum weir_status check_page(const struct selector_pipeline *pipeline, size_t index,
                                   const struct msg_feed_is *page, struct weir_error *err)
{
    size_t count = page->sequences.count;
    bool sane =
        page->kinds.count == count && page->firsts.count == count && page->counts.count == count;
    for (size_t i = 0; sane && i < count; i++)
        sane = page->sequences.at[i] > pipeline->cursors[index] &&
               (i == 0 || page->sequences.at[i] >= page->sequences.at[i - 1]);
    if (sane)
        return WEIR_OK;
    return weir_fail(err, WEIR_CORRUPT,
                     "the change feed of dataset %" PRIu64 " behind %" PRIu64 " is out of order",
                     pipeline->datasets[index], pipeline->cursors[index]);
}

/* Returns the cursor after the page: its last row, or further when nothing live follows. */
static uint64_t reached_by(const struct selector_pipeline *pipeline, size_t index,
                           const struct msg_feed_is *page)
{
    size_t count = page->sequences.count;
    uint64_t last = count > 0 ? page->sequences.at[count - 1] : pipeline->cursors[index];
    return page->passed > last ? page->passed : last;
}

static enum weir_status store_page(const struct selector_pipeline *pipeline, struct weir_db *db,
                                   size_t index, const struct msg_feed_is *page,
                                   struct weir_error *err)
{
    size_t count = page->sequences.count;
    WEIR_AUTO_FREE int64_t *counts = weir_calloc(count + 1, sizeof(*counts));
    WEIR_AUTO_FREE int64_t *kinds = weir_calloc(count + 1, sizeof(*kinds));
    for (size_t i = 0; i < count; i++) {
        counts[i] = page->counts.at[i];
        kinds[i] = page->kinds.at[i];
    }
    enum weir_status status =
        DB_RUN(db, Q_add_ranges, NULL, err, DB_TEXT(pipeline->name),
               DB_I64(pipeline->datasets[index]), DB_I64S(page->sequences.at, count),
               DB_I64S(page->firsts.at, count), DB_I64S(counts, count), DB_I64S(kinds, count));
    if (status != WEIR_OK)
        return status;
    return DB_RUN(db, Q_move_cursor, NULL, err, DB_TEXT(pipeline->name),
                  DB_I64(pipeline->datasets[index]), DB_I64(reached_by(pipeline, index, page)));
}

static enum weir_status apply_page(struct selector_pipeline *pipeline, size_t index,
                                   const struct msg_feed_is *page, struct weir_error *err)
{
    for (size_t i = 0; i < page->sequences.count; i++) {
        const struct selector_change change = {
            .sequence = page->sequences.at[i],
            .first = page->firsts.at[i],
            .count = page->counts.at[i],
            .kind = page->kinds.at[i],
        };
        if (!selector_pool_apply(&pipeline->pool, pipeline->datasets[index], &change))
            return weir_fail(err, WEIR_CORRUPT,
                             "the change feed of dataset %" PRIu64
                             " holds an impossible range at %" PRIu64,
                             pipeline->datasets[index], change.sequence);
    }
    return WEIR_OK;
}

/* Applied to the pool inside the transaction: a page the pool refuses must not be stored, and one
 * that is not stored makes the caller load the pipeline again. */
enum weir_status selector_pipeline_advance(struct selector_pipeline *pipeline, struct weir_db *db,
                                           size_t index, const struct msg_feed_is *page,
                                           struct weir_error *err)
{
    enum weir_status status = check_page(pipeline, index, page, err);
    uint64_t reached = reached_by(pipeline, index, page);
    if (status != WEIR_OK || reached == pipeline->cursors[index])
        return status;
    status = weir_db_begin(db, err);
    if (status != WEIR_OK)
        return status;
    status = apply_page(pipeline, index, page, err);
    if (status == WEIR_OK)
        status = store_page(pipeline, db, index, page, err);
    if (status == WEIR_OK && weir_fault("selector.advance"))
        status = weir_fail(err, WEIR_UNAVAILABLE, "fault selector.advance");
    if (status != WEIR_OK) {
        weir_db_rollback(db);
        return status;
    }
    status = weir_db_commit(db, err);
    if (status == WEIR_OK)
        pipeline->cursors[index] = reached;
    return status;
}

enum weir_status selector_pipeline_restart(const struct selector_pipeline *pipeline,
                                           struct weir_db *db, size_t index, struct weir_error *err)
{
    const struct weir_param name = DB_TEXT(pipeline->name);
    const struct weir_param dataset = DB_I64(pipeline->datasets[index]);
    enum weir_status status = weir_db_begin(db, err);
    if (status != WEIR_OK)
        return status;
    status = DB_RUN(db, Q_drop_ranges, NULL, err, name, dataset);
    if (status == WEIR_OK)
        status = DB_RUN(db, Q_move_cursor, NULL, err, name, dataset, DB_I64(0));
    if (status == WEIR_OK)
        return weir_db_commit(db, err);
    weir_db_rollback(db);
    return status;
}

enum weir_status selector_pipelines_find(struct selector_pipelines *pipelines, const char *name,
                                         struct selector_pipeline **ret_pipeline,
                                         struct weir_error *err)
{
    for (size_t i = 0; i < pipelines->count; i++) {
        if (weir_str_equal(pipelines->of[i]->name, name)) {
            *ret_pipeline = pipelines->of[i];
            return WEIR_OK;
        }
    }
    struct selector_pipeline *pipeline = NULL;
    enum weir_status status = load(pipelines->db, name, &pipeline, err);
    if (status != WEIR_OK)
        return status;
    pipelines->of =
        weir_realloc(pipelines->of, pipelines->count + 1, sizeof(struct selector_pipeline *));
    pipelines->of[pipelines->count++] = pipeline;
    *ret_pipeline = pipeline;
    return WEIR_OK;
}

void selector_pipelines_forget(struct selector_pipelines *pipelines, const char *name)
{
    for (size_t i = 0; i < pipelines->count; i++) {
        if (!weir_str_equal(pipelines->of[i]->name, name))
            continue;
        selector_pipeline_unref(pipelines->of[i]);
        pipelines->of[i] = pipelines->of[--pipelines->count];
        return;
    }
}

void selector_pipelines_fini(struct selector_pipelines *pipelines)
{
    while (pipelines->count > 0)
        selector_pipeline_unref(pipelines->of[--pipelines->count]);
    free(pipelines->of);
}

int64_t selector_pipelines_keep_us(const struct selector_pipelines *pipelines)
{
    int64_t keep_us = 0;
    for (size_t i = 0; i < pipelines->count; i++)
        if (pipelines->of[i]->section->keep_us > keep_us)
            keep_us = pipelines->of[i]->section->keep_us;
    return keep_us;
}
