/* Rows of models, and the going of their files. */
#include "orchestrator/models/store.h"

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "orchestrator/context/events.h"

#include <stdlib.h>
#include <string.h>

void orchestrator_model_row(struct weir_rows *rows, size_t row, struct stored_model *ret_model)
{
    *ret_model = (struct stored_model){
        .rows = rows,
        .row = row,
        .id = weir_rows_text(rows, row, "id"),
        .pipeline = weir_rows_i64(rows, row, "pipeline"),
        .trigger = weir_rows_i64(rows, row, "trigger"),
        .run = weir_rows_i64(rows, row, "run"),
        .parent = weir_rows_text_or_null(rows, row, "parent"),
        .set_digest = weir_rows_text(rows, row, "set_digest"),
        .clean_epoch = weir_rows_i64(rows, row, "clean_epoch"),
        .checksum = weir_rows_text(rows, row, "checksum"),
        .bytes = weir_rows_i64(rows, row, "bytes"),
        .file = weir_rows_text(rows, row, "file"),
        .fitted_file = weir_rows_text(rows, row, "fitted_file"),
        .state = weir_rows_text(rows, row, "state"),
        .replaced_by = weir_rows_text_or_null(rows, row, "replaced_by"),
        .erasure = weir_rows_i64(rows, row, "erasure"),
        .until_time = weir_rows_i64(rows, row, "until_time"),
        .cost = weir_rows_text(rows, row, "cost"),
        .created_us = weir_rows_i64(rows, row, "created_us"),
        .scored_by = weir_rows_text(rows, row, "scored_by"),
        .base = weir_rows_text(rows, row, "base"),
        .deltas = weir_rows_i64(rows, row, "deltas"),
        .stored_bytes = weir_rows_i64(rows, row, "stored_bytes"),
        .held_out_by = weir_rows_text(rows, row, "held_out_by"),
        .role = weir_rows_text(rows, row, "role"),
        .fitted_checksum = weir_rows_text(rows, row, "fitted_checksum"),
        .is_active = weir_rows_bool(rows, row, "is_active"),
    };
}

bool orchestrator_model_state_is_live(const char *state)
{
    return strcmp(state, "stored") == 0 || strcmp(state, "replacing") == 0 ||
           strcmp(state, "holdout") == 0 || strcmp(state, "round") == 0;
}

bool orchestrator_model_is_live(const struct stored_model *model)
{
    return orchestrator_model_state_is_live(model->state);
}

bool orchestrator_model_is_dropped(const struct stored_model *model)
{
    return strcmp(model->state, "dropping") == 0 || strcmp(model->state, "dropped") == 0;
}

enum weir_status orchestrator_model_is_missing(const char *id, struct weir_error *err)
{
    return weir_fail(err, WEIR_NOT_FOUND, "model %s: there is none; see weir models list", id);
}

enum weir_status orchestrator_model_get(struct context *context, const char *id,
                                        struct stored_model *ret_model, struct weir_error *err)
{
    struct weir_rows *rows = NULL;
    enum weir_status status = DB_RUN(context->db, Q_model_get, &rows, err, DB_TEXT(id));
    if (status != WEIR_OK)
        return status;
    if (weir_rows_count(rows) == 0) {
        weir_rows_free(rows);
        return orchestrator_model_is_missing(id, err);
    }
    orchestrator_model_row(rows, 0, ret_model);
    return WEIR_OK;
}

void orchestrator_model_fini(struct stored_model *model)
{
    weir_rows_free(model->rows);
    model->rows = NULL;
}

enum weir_status orchestrator_model_all(struct context *context, int64_t pipeline,
                                        struct weir_rows **ret_rows, struct weir_error *err)
{
    return DB_RUN(context->db, Q_model_all, ret_rows, err, DB_I64(pipeline));
}

enum weir_status orchestrator_model_fitted(const struct context *context,
                                           const struct stored_model *model, struct weir_buf *out,
                                           struct weir_error *err)
{
    if (model->fitted_file[0] == '\0')
        return WEIR_OK;
    WEIR_AUTO_FREE char *path = orchestrator_path(context, ".", model->fitted_file);
    char actual[WEIR_DIGEST_TEXT_MAX];
    size_t before = out->size;
    enum weir_status status = weir_file_read(path, ORCHESTRATOR_MODEL_BYTES_MAX, out, err);
    if (status != WEIR_OK || model->fitted_checksum[0] == '\0')
        return status;
    struct weir_digest digest = weir_digest_of(weir_bytes(out->at + before, out->size - before));
    weir_digest_text(&digest, actual);
    return strcmp(actual, model->fitted_checksum) == 0
               ? WEIR_OK
               : weir_fail(err, WEIR_CORRUPT,
                           "%s: fitted state with checksum %s, expected %s as it was stored", path,
                           actual, model->fitted_checksum);
}

static enum weir_status tell(struct context *context, const struct model_wanted *wanted,
                             const struct model_files *files, struct weir_error *err)
{
    const struct run_result *run = wanted->run;
    WEIR_AUTO_FREE char *key = weir_format("model_stored/%s", wanted->id);
    json_t *body = JSON_FIELDS(JSON_TEXT("model", wanted->id), JSON_NUMBER("trigger", run->trigger),
                               JSON_TEXT_OR_NULL("parent", run->parent),
                               JSON_TEXT("checksum", files->checksum),
                               JSON_NUMBER("bytes", files->bytes), JSON_TEXT("file", files->file),
                               JSON_NUMBER("stored_bytes", files->stored_bytes));
    if (wanted->timeline != NULL)
        json_object_set(body, "timeline", wanted->timeline);
    if (wanted->erasure != 0)
        json_object_set_new(body, "erasure", json_integer(wanted->erasure));
    return orchestrator_event_put(
        context, &(struct event_about){run->pipeline, 0, key, "model_stored"}, body, err);
}

enum weir_status orchestrator_model_add(struct context *context, const struct model_wanted *wanted,
                                        const struct model_files *files, struct weir_error *err)
{
    const struct run_result *run = wanted->run;
    WEIR_AUTO_BUF cost = {0};
    orchestrator_cost_json(&context->prices, &run->cost, &cost);
    enum weir_status status =
        DB_RUN(context->db, Q_model_add, NULL, err, DB_TEXT(wanted->id), DB_I64(run->pipeline),
               DB_I64(run->trigger), DB_I64(run->number),
               run->parent == NULL ? DB_NULL : DB_TEXT(run->parent), DB_TEXT(run->set_digest),
               DB_I64(run->clean_epoch), DB_TEXT(files->checksum), DB_I64(files->bytes),
               DB_TEXT(files->file), DB_TEXT(files->fitted_file), DB_TEXT(wanted->state),
               DB_I64(wanted->erasure), DB_I64(wanted->until_time), DB_TEXT(weir_buf_text(&cost)),
               DB_I64(weir_now_wall_us()), DB_TEXT(files->base), DB_I64(files->deltas),
               DB_I64(files->stored_bytes), DB_TEXT(wanted->role == NULL ? "" : wanted->role),
               DB_TEXT(files->fitted_checksum));
    if (status == WEIR_OK)
        status = DB_RUN(context->db, Q_run_forget_fitted, NULL, err, DB_I64(run->number));
    return status == WEIR_OK && wanted->role == NULL ? tell(context, wanted, files, err) : status;
}

/* ---- going ---- */

enum weir_status orchestrator_model_remove_files(const struct context *context,
                                                 const struct stored_model *model,
                                                 struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = orchestrator_path(context, ".", model->file);
    enum weir_status status = weir_remove_tree(path, err);
    if (status == WEIR_OK && model->fitted_file[0] != '\0') {
        WEIR_AUTO_FREE char *fitted = orchestrator_path(context, ".", model->fitted_file);
        status = weir_remove_tree(fitted, err);
    }
    return status == WEIR_OK ? weir_sync_parent(path, err) : status;
}
