/* TRACING: when no pipeline is amidst a trigger, lineage says which live models have seen the
 * samples, and each pipeline's deletion policy what becomes of them. A model that is trained again
 * goes on from its ancestors; those whose files were dropped are trained again before it. */
#include "core/base/memory.h"
#include "orchestrator/erasures/erasure_state.h"
#include "orchestrator/events.h"
#include "orchestrator/models/lineage.h"
#include "orchestrator/models/store.h"
#include "orchestrator/pipeline/pipeline.h"

#include <stdlib.h>
#include <string.h>

/* Its sets are gone: nothing of it is trained again. */
static bool is_removed(const struct orchestrator *orch, int64_t pipeline)
{
    const struct pipeline *found = orchestrator_pipeline_by_id(orch, pipeline);
    return found == NULL || orchestrator_pipeline_state(found) == PIPELINE_REMOVED;
}

/* A model of the holdout is not made again: the next trigger starts from one that has not seen the samples. */
static const char *action_for(const struct orchestrator *orch, const struct lineage_seen *seen)
{
    static const char *const ACTIONS[] = {
        [DELETION_RETRAIN_NOW] = "retrain", [DELETION_RETIRE] = "retire", [DELETION_KEEP] = "keep"};
    const struct pipeline *found = orchestrator_pipeline_by_id(orch, seen->pipeline);
    if (found == NULL)
        return "retire";
    int policy = (int)orchestrator_pipeline_config(found)->deletion;
    return (seen->holdout || is_removed(orch, seen->pipeline)) && policy != DELETION_KEEP
               ? "retire"
               : ACTIONS[policy];
}

static enum weir_status note(const struct erasure *erasure, const struct stored_model *model,
                             const char *action, struct weir_error *err)
{
    return DB_RUN(erasure->orch->db, Q_erasure_model_add, NULL, err, DB_I64(erasure->number),
                  DB_TEXT(model->id), DB_I64(model->pipeline), DB_I64(model->trigger),
                  DB_TEXT(action));
}

/* Up to the newest one that is there. */
static enum weir_status note_dropped_ancestors(const struct erasure *erasure, const char *parent,
                                               const char *action, struct weir_error *err)
{
    WEIR_AUTO_FREE char *id = parent == NULL ? NULL : weir_strdup(parent);
    enum weir_status status = WEIR_OK;
    while (status == WEIR_OK && id != NULL) {
        struct stored_model model = {0};
        status = orchestrator_model_get(erasure->orch, id, &model, err);
        if (status != WEIR_OK)
            return status;
        bool dropped = orchestrator_model_is_dropped(&model);
        if (dropped && !is_removed(erasure->orch, model.pipeline))
            status = note(erasure, &model, action, err);
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

static enum weir_status note_model(struct erasure *erasure, const struct lineage_seen *seen,
                                   json_t *models, struct weir_error *err)
{
    const char *action = action_for(erasure->orch, seen);
    struct stored_model model = {0};
    json_array_append_new(models, json_pack("{ss,ss,sI}", "model", seen->model, "action", action,
                                            "samples", (json_int_t)seen->count));
    enum weir_status status = orchestrator_model_get(erasure->orch, seen->model, &model, err);
    if (status == WEIR_OK)
        status = note(erasure, &model, action, err);
    if (status == WEIR_OK && strcmp(action, "retrain") == 0)
        status = note_dropped_ancestors(erasure, model.parent, action, err);
    orchestrator_model_fini(&model);
    return status;
}

/* What was merely influenced is told, and left as it is. */
static enum weir_status effect_traced(struct erasure *erasure, const void *what,
                                      struct weir_error *err)
{
    const struct lineage_answer *answer = what;
    json_t *models = json_array();
    json_t *influenced = json_array();
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < answer->count && status == WEIR_OK; i++) {
        const struct lineage_seen *seen = &answer->at[i];
        if (seen->live && seen->through == NULL)
            status = note_model(erasure, seen, models, err);
        else if (seen->live)
            json_array_append_new(
                influenced, json_pack("{ss,ss}", "model", seen->model, "through", seen->through));
    }
    if (status != WEIR_OK) {
        json_decref(models);
        json_decref(influenced);
        return status;
    }
    return erasure_tell(erasure, "traced", NULL,
                        json_pack("{so,so}", "models", models, "influenced", influenced), err);
}

void erasure_trace(struct erasure *erasure)
{
    struct weir_error err;
    struct id_blocks ids = {0};
    struct lineage_answer answer = {0};
    if (!erasure_is_first(erasure) || !orchestrator_pipelines_make_way(erasure->orch))
        return; /* orchestrator_look_again() brings us back */
    enum weir_status status =
        orchestrator_lineage_of_erasure(erasure->orch, erasure->number, &ids, &err);
    if (status == WEIR_OK)
        status = orchestrator_lineage_ask(erasure->orch, &ids, &answer, &err);
    if (status == WEIR_OK)
        erasure_advance(erasure, ERASURE_ON_TRACED, effect_traced, &answer);
    else
        erasure_trouble(erasure, &err);
    id_blocks_fini(&ids);
    orchestrator_lineage_answer_fini(&answer);
}
