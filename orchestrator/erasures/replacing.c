/* REPLACING: the models that have seen the samples are trained again on the same sets, in the order of their triggers,
 * each from what its parent was replaced by, or from its parent if that is clean: the chain from the newest clean
 * ancestor. The erased samples are holes now. When the last one is there, one transaction swaps them all in. */
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "orchestrator/context/events.h"
#include "orchestrator/erasures/erasure_state.h"
#include "orchestrator/models/store.h"
#include "orchestrator/pipeline/training.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- what to start from ---- */

/* One step from a model that cannot be started from to one that may: what this erasure replaced it by, what an earlier
 * one did, or its parent. NULL: initial weights. */
static enum weir_status step_back(const struct erasure_batch *batch, char **model,
                                  bool *ret_settled, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    struct stored_model row = {0};
    enum weir_status status = DB_RUN(batch->context->db, Q_erasure_replacement_of, &rows, err,
                                     DB_I64(batch->number), DB_TEXT(*model));
    if (status == WEIR_OK)
        status = orchestrator_model_get(batch->context, *model, &row, err);
    if (status != WEIR_OK)
        return status;
    bool tainted = weir_rows_count(rows) > 0;
    const char *next = NULL;
    if (tainted) {
        next = weir_rows_is_null(rows, 0, "replacement") ? row.parent
                                                         : weir_rows_text(rows, 0, "replacement");
    } else {
        *ret_settled = strcmp(row.state, "stored") == 0 || strcmp(row.state, "replacing") == 0;
        next = *ret_settled ? row.id : row.replaced_by != NULL ? row.replaced_by : row.parent;
    }
    char *copy = next == NULL ? NULL : weir_strdup(next);
    free(*model);
    *model = copy;
    orchestrator_model_fini(&row);
    return WEIR_OK;
}

/* A model that started from a file has no parent, and its replacement starts from the file, too. */
static enum weir_status find_base(const struct erasure_batch *batch,
                                  const struct stored_model *tainted, const char *start_from,
                                  char **ret_base, struct weir_error *err)
{
    char *base = tainted->parent == NULL ? NULL : weir_strdup(tainted->parent);
    enum weir_status status = WEIR_OK;
    if (base == NULL && strcmp(tainted->role, "holdout") != 0 &&
        orchestrator_model_is_path(start_from)) {
        *ret_base = weir_strdup(start_from);
        return WEIR_OK;
    }
    bool settled = false;
    while (status == WEIR_OK && base != NULL && !settled)
        status = step_back(batch, &base, &settled, err);
    if (status != WEIR_OK) {
        free(base);
        return status;
    }
    *ret_base = base;
    return WEIR_OK;
}

/* ---- one model ---- */

struct replacement {
    const char *tainted;
    const struct model_wanted *wanted; /* NULL: nothing of its set is left */
    const struct model_files *files;
    const struct run_result *run;
};

static enum weir_status effect_replaced_one(void *subject, const void *what, struct weir_error *err)
{
    struct erasure_batch *batch = subject;
    const struct replacement *replacement = what;
    struct erasures *all = batch->all;
    const char *id = replacement->wanted == NULL ? NULL : replacement->wanted->id;
    WEIR_AUTO_FREE char *outcome =
        id == NULL ? orchestrator_run_hollow_reason(replacement->run) : NULL;
    enum weir_status status =
        DB_RUN(all->context->db, Q_erasure_model_done, NULL, err, DB_I64(batch->number),
               DB_TEXT(replacement->tainted), id == NULL ? DB_NULL : DB_TEXT(id),
               outcome == NULL ? DB_NULL : DB_TEXT(outcome));
    if (status == WEIR_OK && id != NULL)
        status = orchestrator_model_add(all->context, replacement->wanted, replacement->files, err);
    if (status != WEIR_OK)
        return status;
    const struct run_result *run = replacement->run;
    json_t *training =
        orchestrator_training_json(orchestrator_pipeline_by_id(all->pipelines, run->pipeline), run);
    json_object_set_new(training, "model", json_string(replacement->tainted));
    json_object_set_new(training, "replacement", id == NULL ? json_null() : json_string(id));
    return orchestrator_erasure_tell(batch, "model_replaced", replacement->tainted, training, err);
}

/* "NAME-eBATCH", whichever batch made the one that goes. */
static char *name_replacement(const struct erasure_batch *batch, const char *tainted)
{
    const char *end = strrchr(tainted, '-');
    bool is_replacement = end != NULL && end[1] == 'e';
    int size = (int)(is_replacement ? (size_t)(end - tainted) : strlen(tainted));
    return weir_format("%.*s-e%" PRId64, size, tainted, batch->number);
}

static enum weir_status store(struct erasure_batch *batch, const struct run_result *run,
                              struct weir_error *err)
{
    struct erasures *all = batch->all;
    const struct pipeline *pipeline = orchestrator_pipeline_by_id(all->pipelines, run->pipeline);
    struct stored_model tainted = {0};
    enum weir_status status = orchestrator_model_get(all->context, batch->replacing, &tainted, err);
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO_FREE char *id = name_replacement(batch, batch->replacing);
    struct model_wanted wanted = {.id = id,
                                  .run = run,
                                  .state = "replacing",
                                  .role = tainted.role[0] == '\0' ? NULL : tainted.role,
                                  .erasure = batch->number,
                                  .until_time = tainted.until_time,
                                  .settings = &orchestrator_pipeline_config(pipeline)->models};
    struct model_files files = {0};
    struct replacement replacement = {.tainted = batch->replacing, .run = run};
    if (!orchestrator_run_is_hollow(run)) {
        status = orchestrator_model_place(all->context, &wanted, &files, err);
        replacement.wanted = &wanted;
        replacement.files = &files;
    }
    if (status == WEIR_OK)
        status = orchestrator_commit(all->context, effect_replaced_one, batch, &replacement, err);
    orchestrator_model_files_fini(&files);
    orchestrator_model_fini(&tainted);
    return status;
}

static void on_run(void *owner, const struct run_result *run, const struct weir_error *err)
{
    struct erasure_batch *batch = owner;
    struct weir_error problem;
    if (run == NULL) {
        orchestrator_erasure_trouble(batch, err);
        return;
    }
    if (store(batch, run, &problem) != WEIR_OK) {
        orchestrator_erasure_trouble(batch, &problem);
        return;
    }
    if (orchestrator_run_remove_files(batch->context, run->number, &problem) != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "files of a finished run stay", "%s", problem.text);
    orchestrator_erasure_begin_after(batch, 0);
}

/* On the set of the training that made it, as that was. */
static enum weir_status start_run(struct erasure_batch *batch, const struct stored_model *tainted,
                                  struct pipeline_outline outline, const char *base,
                                  struct weir_error *err)
{
    WEIR_AUTO(weir_rows) made = NULL;
    enum weir_status status =
        DB_RUN(batch->context->db, Q_run_get, &made, err, DB_I64(tainted->run));
    if (status != WEIR_OK)
        return status;
    if (weir_rows_count(made) == 0) {
        return weir_fail(err, WEIR_NOT_FOUND, "the run that made model %s is not recorded",
                         tainted->id);
    }
    WEIR_AUTO_FREE char *id = name_replacement(batch, tainted->id);
    WEIR_AUTO_FREE char *purpose = weir_format("replace/%s", id);
    struct run_wanted wanted = {
        .pipeline = outline,
        .purpose = purpose,
        .mode = "train",
        .trigger = tainted->trigger,
        .set_digest = weir_rows_text(made, 0, "set_digest"),
        .set_path = weir_rows_text(made, 0, "set_path"),
        .epochs = (uint64_t)weir_rows_i64(made, 0, "epochs"),
        .epochs_before = (uint64_t)weir_rows_i64(made, 0, "epochs_before"),
        .epochs_in_all = (uint64_t)weir_rows_i64(made, 0, "epochs_in_all"),
        .seed = (uint64_t)weir_rows_i64(made, 0, "seed"),
        .base_model = base,
    };
    return orchestrator_run_start(batch->all->runs, &wanted, on_run, batch, err);
}

static enum weir_status train(struct erasure_batch *batch, const struct weir_rows *models,
                              size_t row, struct weir_error *err)
{
    int64_t pipeline = weir_rows_i64(models, row, "pipeline");
    const struct pipeline_outline outline = orchestrator_outline_at(
        orchestrator_pipeline_outline(orchestrator_pipeline_by_id(batch->all->pipelines, pipeline)),
        weir_rows_i64(models, row, "trigger"));
    WEIR_AUTO_FREE char *base = NULL;
    struct stored_model tainted = {0};
    enum weir_status status =
        orchestrator_model_get(batch->context, weir_rows_text(models, row, "model"), &tainted, err);
    if (status != WEIR_OK)
        return status;
    free(batch->replacing);
    batch->replacing = weir_strdup(tainted.id);
    status = find_base(batch, &tainted, outline.config->start_from, &base, err);
    if (status == WEIR_OK)
        status = start_run(batch, &tainted, outline, base, err);
    orchestrator_model_fini(&tainted);
    return status;
}

/* ---- all of them ---- */

static enum weir_status effect_swapped(struct erasure_batch *batch, const void *what,
                                       struct weir_error *err)
{
    const size_t *count = what;
    struct weir_db *db = batch->context->db;
    enum weir_status status = DB_RUN(db, Q_erasure_swap_old, NULL, err, DB_I64(batch->number));
    if (status == WEIR_OK)
        status = DB_RUN(db, Q_erasure_swap_new, NULL, err, DB_I64(batch->number));
    if (status == WEIR_OK)
        status = DB_RUN(db, Q_erasure_swap_active, NULL, err, DB_I64(batch->number));
    if (status == WEIR_OK) {
        status = DB_RUN(db, Q_erasure_replaced, NULL, err, DB_I64(batch->number),
                        DB_I64(weir_now_wall_us()));
    }
    return status == WEIR_OK
               ? orchestrator_erasure_tell(batch, "replaced", NULL,
                                           JSON_FIELDS(JSON_NUMBER("models", *count)), err)
               : status;
}

void orchestrator_erasure_replace(struct erasure_batch *batch)
{
    struct weir_error err;
    WEIR_AUTO(weir_rows) models = NULL;
    enum weir_status status =
        DB_RUN(batch->context->db, Q_erasure_models, &models, &err, DB_I64(batch->number));
    size_t count = status == WEIR_OK ? weir_rows_count(models) : 0;
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        bool wanted = strcmp(weir_rows_text(models, i, "action"), "retrain") == 0;
        if (wanted && !weir_rows_bool(models, i, "done")) {
            status = train(batch, models, i, &err);
            if (status == WEIR_OK)
                return; /* on_run() goes on */
        }
    }
    if (status != WEIR_OK) {
        orchestrator_erasure_trouble(batch, &err);
        return;
    }
    if (orchestrator_erasure_advance(batch, ERASURE_ON_REPLACED, effect_swapped, &count))
        orchestrator_pipelines_look_again(batch->all->pipelines);
}
