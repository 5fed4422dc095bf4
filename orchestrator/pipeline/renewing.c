/* RENEWING: a round of a training is over, and its set is to be chosen again, by the model as it is now. That becomes a
 * model of its own, which is never active: it scores, and the next round starts from it. Then the selector is asked
 * again, and the model before it goes. */
#include "core/base/log.h"
#include "core/base/memory.h"
#include "orchestrator/models/retention.h"
#include "orchestrator/models/store.h"
#include "orchestrator/pipeline/pipeline_state.h"
#include "orchestrator/pipeline/training.h"

#include <inttypes.h>

/* It goes before long: no other model is stored as its difference. */
static const struct models_settings WHOLE = {.storage = MODELS_FULL};

struct renewed {
    struct model_wanted wanted;
    struct model_files files;
};

static enum weir_status effect_renewed(struct pipeline *pipeline, const void *what,
                                       struct weir_error *err)
{
    const struct renewed *renewed = what;
    const struct trigger_row *trigger = &pipeline->newest;
    struct weir_db *db = pipeline->context->db;
    enum weir_status status =
        orchestrator_model_add(pipeline->context, &renewed->wanted, &renewed->files, err);
    if (status == WEIR_OK)
        status =
            DB_RUN(db, Q_round_settle, NULL, err, DB_I64(pipeline->id), DB_I64(trigger->number),
                   DB_I64(trigger->round.number), DB_TEXT(renewed->wanted.id));
    return status == WEIR_OK ? orchestrator_pipeline_drop_rounds(pipeline, renewed->wanted.id, err)
                             : status;
}

/* Of an attempt after the first, it has a name of its own, too. */
static char *name_model(const struct pipeline *pipeline)
{
    const struct trigger_round *round = &pipeline->newest.round;
    WEIR_AUTO_FREE char *name = orchestrator_pipeline_model_name(pipeline, pipeline->newest.number);
    return round->attempt == 1
               ? weir_format("%s-r%" PRId64, name, round->number + 1)
               : weir_format("%s-r%" PRId64 ".%" PRId64, name, round->number + 1, round->attempt);
}

static enum weir_status store(struct pipeline *pipeline, const struct run_result *run,
                              struct weir_error *err)
{
    WEIR_AUTO_FREE char *id = name_model(pipeline);
    struct renewed renewed = {.wanted = {.id = id,
                                         .run = run,
                                         .state = "round",
                                         .role = "round",
                                         .until_time = pipeline->newest.until_time,
                                         .settings = &WHOLE}};
    struct weir_error problem;
    enum weir_status status =
        orchestrator_model_place(pipeline->context, &renewed.wanted, &renewed.files, err);
    if (status != WEIR_OK)
        return status;
    if (orchestrator_pipeline_advance(pipeline, PIPELINE_ON_RENEWED, effect_renewed, &renewed) &&
        (orchestrator_run_remove_files(pipeline->context, run->number, &problem) != WEIR_OK ||
         orchestrator_models_end_dropping(pipeline->context, &problem) != WEIR_OK))
        weir_log(WEIR_LOG_WARN, "files of a finished round stay", "%s", problem.text);
    orchestrator_model_files_fini(&renewed.files);
    return WEIR_OK;
}

static void on_run(void *owner, const struct run_result *run, const struct weir_error *err)
{
    orchestrator_pipeline_store_run(owner, run, err, store);
}

void orchestrator_pipeline_renew(struct pipeline *pipeline)
{
    struct weir_error err;
    enum weir_status status = orchestrator_pipeline_run_newest(pipeline, on_run, &err);
    if (status != WEIR_OK)
        orchestrator_pipeline_trouble(pipeline, status, &err);
}
