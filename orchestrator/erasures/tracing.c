/* TRACING: when no pipeline is amidst a trigger, all erasures that are in force become a batch. Lineage says which live
 * models have seen their samples, and each pipeline's deletion policy what becomes of them. A model that is trained
 * again goes on from its ancestors; those whose files were dropped are trained again before it. */
#include "core/base/memory.h"
#include "orchestrator/context/events.h"
#include "orchestrator/erasures/erasure_state.h"
#include "orchestrator/models/lineage.h"
#include "orchestrator/models/store.h"
#include "orchestrator/pipeline/pipeline.h"

#include <stdlib.h>
#include <string.h>

/* Its sets are gone: nothing of it is trained again. */
static bool is_removed(const struct pipelines *pipelines, int64_t pipeline)
{
    const struct pipeline *found = orchestrator_pipeline_by_id(pipelines, pipeline);
    return found == NULL || orchestrator_pipeline_state(found) == PIPELINE_REMOVED;
}

/* A model of the holdout is not made again: the next trigger starts from one that has not seen the samples. Nor is one
 * of a round, which is there only while its trigger has failed or was stopped: that trains all its rounds again. */
static const char *action_for(const struct pipelines *pipelines, const struct lineage_seen *seen)
{
    static const char *const ACTIONS[] = {
        [DELETION_RETRAIN_NOW] = "retrain", [DELETION_RETIRE] = "retire", [DELETION_KEEP] = "keep"};
    const struct pipeline *found = orchestrator_pipeline_by_id(pipelines, seen->pipeline);
    if (found == NULL)
        return "retire";
    int policy = (int)orchestrator_pipeline_config(found)->deletion;
    return (seen->is_aside || is_removed(pipelines, seen->pipeline)) && policy != DELETION_KEEP
               ? "retire"
               : ACTIONS[policy];
}

static enum weir_status note(const struct erasure_batch *batch, const struct stored_model *model,
                             const char *action, struct weir_error *err)
{
    return DB_RUN(batch->context->db, Q_erasure_model_add, NULL, err, DB_I64(batch->number),
                  DB_TEXT(model->id), DB_I64(model->pipeline), DB_I64(model->trigger),
                  DB_TEXT(action));
}

/* Up to the newest one that is there. */
static enum weir_status note_dropped_ancestors(const struct erasure_batch *batch,
                                               const char *parent, const char *action,
                                               struct weir_error *err)
{
    WEIR_AUTO_FREE char *id = parent == NULL ? NULL : weir_strdup(parent);
    enum weir_status status = WEIR_OK;
    while (status == WEIR_OK && id != NULL) {
        struct stored_model model = {0};
        status = orchestrator_model_get(batch->context, id, &model, err);
        if (status != WEIR_OK)
            return status;
        bool dropped = orchestrator_model_is_dropped(&model);
        if (dropped && !is_removed(batch->all->pipelines, model.pipeline))
            status = note(batch, &model, action, err);
        const char *next = orchestrator_model_is_live(&model)     ? NULL
                           : dropped || model.replaced_by == NULL ? model.parent
                                                                  : model.replaced_by;
        char *copy = next == NULL ? NULL : weir_strdup(next);
        free(id);
        id = copy;
        orchestrator_model_fini(&model);
    }
    return status;
}

static enum weir_status note_model(struct erasure_batch *batch, const struct lineage_seen *seen,
                                   json_t *models, struct weir_error *err)
{
    const char *action = action_for(batch->all->pipelines, seen);
    struct stored_model model = {0};
    json_array_append_new(models,
                          JSON_FIELDS(JSON_TEXT("model", seen->model), JSON_TEXT("action", action),
                                      JSON_NUMBER("samples", seen->count)));
    enum weir_status status = orchestrator_model_get(batch->context, seen->model, &model, err);
    if (status == WEIR_OK)
        status = note(batch, &model, action, err);
    if (status == WEIR_OK && strcmp(action, "retrain") == 0)
        status = note_dropped_ancestors(batch, model.parent, action, err);
    orchestrator_model_fini(&model);
    return status;
}

struct traced {
    struct lineage_answer answer;
    int64_t erasures; /* in the batch */
};

/* Commits what was traced. Models that were merely influenced are reported, and left as they are. */
static enum weir_status effect_traced(struct erasure_batch *batch, const void *what,
                                      struct weir_error *err)
{
    const struct traced *traced = what;
    const struct lineage_answer *answer = &traced->answer;
    json_t *models = json_array();
    json_t *influenced = json_array();
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < answer->count && status == WEIR_OK; i++) {
        const struct lineage_seen *seen = &answer->at[i];
        if (seen->live && seen->through == NULL)
            status = note_model(batch, seen, models, err);
        else if (seen->live)
            json_array_append_new(influenced, JSON_FIELDS(JSON_TEXT("model", seen->model),
                                                          JSON_TEXT("through", seen->through)));
    }
    if (status != WEIR_OK) {
        json_decref(models);
        json_decref(influenced);
        return status;
    }
    return orchestrator_erasure_tell(batch, "traced", NULL,
                                     JSON_FIELDS(JSON_NUMBER("erasures", traced->erasures),
                                                 JSON_NEW("models", models),
                                                 JSON_NEW("influenced", influenced)),
                                     err);
}

/* Whatever is in force now belongs to it: its number may still change. */
static enum weir_status gather(struct erasure_batch *batch, struct traced *traced,
                               struct weir_error *err)
{
    WEIR_AUTO(weir_rows) first = NULL;
    struct id_blocks ids = {0};
    enum weir_status status = DB_RUN(batch->context->db, Q_erasure_batch_first, &first, err);
    if (status == WEIR_OK) {
        batch->number = weir_rows_i64(first, 0, "number");
        traced->erasures = weir_rows_i64(first, 0, "count");
        status = orchestrator_lineage_of_batch(batch->context, 0, &ids, err);
    }
    if (status == WEIR_OK)
        status = orchestrator_lineage_query(batch->context, &ids, &traced->answer, err);
    orchestrator_id_blocks_fini(&ids);
    return status;
}

void orchestrator_erasure_trace(struct erasure_batch *batch)
{
    struct weir_error err;
    struct traced traced = {0};
    if (!orchestrator_pipelines_make_way(batch->all->pipelines))
        return; /* orchestrator_pipelines_look_again() brings us back */
    if (orchestrator_erasures_still_come(batch->all)) {
        orchestrator_erasure_begin_after(batch, ORCHESTRATOR_POLL_MS);
        return;
    }
    enum weir_status status = gather(batch, &traced, &err);
    if (status == WEIR_OK && traced.erasures == 0)
        orchestrator_erasures_reload(
            batch->all); /* it was closed: an answer of Postgres was lost */
    else if (status == WEIR_OK)
        orchestrator_erasure_advance(batch, ERASURE_ON_TRACED, effect_traced, &traced);
    else
        orchestrator_erasure_trouble(batch, &err);
    orchestrator_lineage_answer_fini(&traced.answer);
}
