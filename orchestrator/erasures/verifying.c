/* VERIFYING: the files of models that were replaced or retired are unlinked, the new ones are measured where the old
 * ones were (measuring.c), lineage is asked again, and scores are counted. Then receipts are due (receipts.c). */
#include "core/base/memory.h"
#include "orchestrator/context/events.h"
#include "orchestrator/erasures/cached.h"
#include "orchestrator/erasures/erasure_state.h"
#include "orchestrator/models/content.h"
#include "orchestrator/models/lineage.h"
#include "orchestrator/models/retention.h"
#include "orchestrator/models/store.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- old models ---- */

typedef enum weir_status old_model_fn(struct context *context, const struct stored_model *model,
                                      struct weir_error *err);

static enum weir_status release(struct context *context, const struct stored_model *model,
                                struct weir_error *err)
{
    return orchestrator_model_release(context, model->id, err);
}

static enum weir_status remove_files(struct context *context, const struct stored_model *model,
                                     struct weir_error *err)
{
    return orchestrator_model_remove_files(context, model, err);
}

static enum weir_status each_old(struct erasure_batch *batch, old_model_fn *act,
                                 struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(batch->context->db, Q_erasure_models, &rows, err, DB_I64(batch->number));
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        struct stored_model model = {0};
        status =
            orchestrator_model_get(batch->context, weir_rows_text(rows, i, "model"), &model, err);
        if (status == WEIR_OK && !orchestrator_model_is_live(&model))
            status = act(batch->context, &model, err);
        orchestrator_model_fini(&model);
    }
    return status;
}

/* No clean model may need the bytes of one that goes: those that are its difference are stored whole first. */
static enum weir_status remove_old(struct erasure_batch *batch, struct weir_error *err)
{
    enum weir_status status = each_old(batch, release, err);
    if (status == WEIR_OK)
        status = each_old(batch, remove_files, err);
    return status == WEIR_OK ? orchestrator_models_end_dropping(batch->context, err) : status;
}

static bool is_kept(const struct weir_rows *models, const char *model)
{
    for (size_t i = 0; i < weir_rows_count(models); i++)
        if (strcmp(weir_rows_text(models, i, "action"), "keep") == 0 &&
            strcmp(weir_rows_text(models, i, "model"), model) == 0)
            return true;
    return false;
}

/* The first live model that has seen one of the ids and is not kept on purpose; the caller's, or NULL. */
static enum weir_status find_seeing(struct context *context, const struct id_blocks *ids,
                                    const struct weir_rows *models, char **ret_model,
                                    struct weir_error *err)
{
    struct lineage_answer answer = {0};
    enum weir_status status = orchestrator_lineage_query(context, ids, &answer, err);
    *ret_model = NULL;
    for (size_t i = 0; status == WEIR_OK && *ret_model == NULL && i < answer.count; i++)
        if (answer.at[i].live && answer.at[i].through == NULL &&
            !is_kept(models, answer.at[i].model))
            *ret_model = weir_strdup(answer.at[i].model);
    orchestrator_lineage_answer_fini(&answer);
    return status;
}

enum weir_status orchestrator_erasure_seen_by(struct context *context, int64_t number,
                                              char **ret_model, struct weir_error *err)
{
    struct id_blocks ids = {0};
    WEIR_AUTO(weir_rows) models = NULL;
    enum weir_status status = orchestrator_lineage_of_erasure(context, number, &ids, err);
    if (status == WEIR_OK)
        status = DB_RUN(context->db, Q_erasure_models_of, &models, err, DB_I64(number));
    if (status == WEIR_OK)
        status = find_seeing(context, &ids, models, ret_model, err);
    orchestrator_id_blocks_fini(&ids);
    return status;
}

/* Checks that no model has seen the samples, and that no row is kept of them. */
static enum weir_status check_lineage(struct erasure_batch *batch, struct weir_error *err)
{
    struct id_blocks ids = {0};
    int64_t late; /* rows, by a worker that slept through the erasure */
    WEIR_AUTO(weir_rows) models = NULL;
    WEIR_AUTO_FREE char *model = NULL;
    enum weir_status status =
        orchestrator_lineage_of_batch(batch->context, batch->number, &ids, err);
    if (status == WEIR_OK)
        status = DB_RUN(batch->context->db, Q_erasure_models, &models, err, DB_I64(batch->number));
    if (status == WEIR_OK)
        status = find_seeing(batch->context, &ids, models, &model, err);
    if (status == WEIR_OK && model != NULL)
        status = weir_fail(err, WEIR_INTERNAL,
                           "model %s has seen erased samples and is still there", model);
    if (status == WEIR_OK)
        status = orchestrator_cached_erase(batch->context, &ids, &late, err);
    orchestrator_id_blocks_fini(&ids);
    return status;
}

/* ---- scores, then receipts ---- */

static void on_scores_counted(struct erasure_batch *batch, uint64_t samples)
{
    struct weir_error err;
    enum weir_status status =
        samples == 0
            ? DB_RUN(batch->context->db, Q_erasure_checked, NULL, &err, DB_I64(batch->number))
            : weir_fail(&err, WEIR_INTERNAL, "%" PRIu64 " scores of erased samples are kept",
                        samples);
    batch->is_checked = status == WEIR_OK;
    if (status == WEIR_OK)
        orchestrator_erasure_write_receipts(batch);
    else
        orchestrator_erasure_trouble(batch, &err);
}

void orchestrator_erasure_verify(struct erasure_batch *batch)
{
    struct weir_error err;
    bool measuring = false;
    if (batch->is_checked) {
        orchestrator_erasure_write_receipts(batch);
        return;
    }
    enum weir_status status = remove_old(batch, &err);
    if (status == WEIR_OK)
        status = check_lineage(batch, &err);
    if (status == WEIR_OK)
        status = orchestrator_erasure_measure(batch, &measuring, &err);
    if (status != WEIR_OK) {
        orchestrator_erasure_trouble(batch, &err);
        return;
    }
    if (!measuring) /* else it comes back here */
        orchestrator_erasure_count_scores(batch, on_scores_counted);
}
