/* HOLDING: a model learns from samples that are held out, so that a choice by scores can ask it
 * what is hard even for who knows samples like these. A run like any training's, but its model is
 * never active, nothing starts from it but the one of the next trigger, and no replacement is made
 * for it. Then the selector is asked again. */
#include "core/base/log.h"
#include "core/base/memory.h"
#include "orchestrator/context/events.h"
#include "orchestrator/models/store.h"
#include "orchestrator/pipeline/pipeline_state.h"
#include "orchestrator/pipeline/training.h"

#include <inttypes.h>
#include <string.h>

/* It is no trigger's: no other model is stored as its difference. */
static const struct models_settings WHOLE = {.storage = MODELS_FULL};

static enum weir_status load_wanted(const struct pipeline *pipeline, struct weir_rows **ret_rows,
                                    struct weir_error *err)
{
    enum weir_status status = DB_RUN(pipeline->context->db, Q_holdout_wanted, ret_rows, err,
                                     DB_I64(pipeline->id), DB_I64(pipeline->newest.number));
    if (status != WEIR_OK || weir_rows_count(*ret_rows) > 0)
        return status;
    return weir_fail(err, WEIR_INTERNAL,
                     "pipeline %s: nothing is recorded of what trigger %" PRId64 " holds out",
                     pipeline->config->name, pipeline->newest.number);
}

/* ---- its model ---- */

struct held {
    int64_t half;
    struct model_wanted wanted; /* id "": nothing of the set could be delivered */
    struct model_files files;
};

static enum weir_status effect_holdout_model_ready(struct pipeline *pipeline, const void *what,
                                                   struct weir_error *err)
{
    const struct held *held = what;
    struct pipelines *all = pipeline->all;
    const struct run_result *run = held->wanted.run;
    enum weir_status status = WEIR_OK;
    if (held->wanted.id[0] != '\0')
        status = orchestrator_model_add(all->context, &held->wanted, &held->files, err);
    if (status == WEIR_OK) {
        status =
            DB_RUN(all->context->db, Q_holdout_settle, NULL, err, DB_I64(pipeline->id),
                   DB_I64(pipeline->newest.number), DB_I64(held->half), DB_TEXT(held->wanted.id));
    }
    if (status != WEIR_OK)
        return status;
    json_t *body = orchestrator_training_json(pipeline, run);
    json_object_set_new(body, "half", json_integer(held->half));
    json_object_set_new(body, "model", json_string(held->wanted.id));
    WEIR_AUTO_FREE char *key = weir_format("holdout_finished/%s", run->purpose);
    return orchestrator_event_put(
        all->context, &(struct event_about){pipeline->id, 0, key, "holdout_finished"}, body, err);
}

static enum weir_status store(struct pipeline *pipeline, const struct run_result *run,
                              struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = load_wanted(pipeline, &rows, err);
    if (status != WEIR_OK)
        return status;
    struct held held = {.half = weir_rows_i64(rows, 0, "half")};
    WEIR_AUTO_FREE char *name = orchestrator_pipeline_model_name(pipeline, pipeline->newest.number);
    WEIR_AUTO_FREE char *id = orchestrator_run_is_hollow(run)
                                  ? weir_strdup("")
                                  : weir_format("%s-h%" PRId64 ".%" PRId64, name, held.half,
                                                weir_rows_i64(rows, 0, "round"));
    held.wanted = (struct model_wanted){.id = id,
                                        .run = run,
                                        .state = "holdout",
                                        .role = "holdout",
                                        .until_time = pipeline->newest.until_time,
                                        .settings = &WHOLE};
    if (id[0] != '\0')
        status = orchestrator_model_place(pipeline->context, &held.wanted, &held.files, err);
    if (status != WEIR_OK)
        return status;
    struct weir_error problem;
    if (orchestrator_pipeline_advance(pipeline, PIPELINE_ON_HOLDOUT_MODEL_READY,
                                      effect_holdout_model_ready, &held) &&
        orchestrator_run_remove_files(pipeline->context, run->number, &problem) != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "files of a finished run stay", "%s", problem.text);
    orchestrator_model_files_fini(&held.files);
    return WEIR_OK;
}

static void on_run(void *owner, const struct run_result *run, const struct weir_error *err)
{
    orchestrator_pipeline_store_run(owner, run, err, store);
}

/* ---- the run ---- */

/* It goes on from the one of an earlier trigger, which has seen nothing but what is held out of the same half. */
static enum weir_status find_base(const struct pipeline *pipeline, int64_t half,
                                  struct weir_rows **ret_rows, const char **ret_base,
                                  struct weir_error *err)
{
    *ret_base = NULL;
    if (strcmp(pipeline->config->start_from, "previous") != 0)
        return WEIR_OK;
    enum weir_status status =
        DB_RUN(pipeline->context->db, Q_holdout_newest, ret_rows, err, DB_I64(pipeline->id),
               DB_I64(half), DB_I64(pipeline->newest.number));
    if (status == WEIR_OK && weir_rows_count(*ret_rows) > 0)
        *ret_base = weir_rows_text(*ret_rows, 0, "id");
    return status;
}

static enum weir_status start_run(struct pipeline *pipeline, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) wanted = NULL;
    WEIR_AUTO(weir_rows) base_row = NULL;
    const char *base = NULL;
    enum weir_status status = orchestrator_pipeline_load(pipeline, err);
    if (status == WEIR_OK)
        status = load_wanted(pipeline, &wanted, err);
    int64_t half = status == WEIR_OK ? weir_rows_i64(wanted, 0, "half") : 0;
    if (status == WEIR_OK)
        status = find_base(pipeline, half, &base_row, &base, err);
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO_FREE char *purpose =
        weir_format("holdout/%" PRId64 "/%" PRId64 "/%" PRId64, pipeline->newest.number, half,
                    weir_rows_i64(wanted, 0, "round"));
    const struct run_wanted run = {
        .pipeline = orchestrator_pipeline_outline(pipeline),
        .purpose = purpose,
        .mode = "train",
        .trigger = pipeline->newest.number,
        .set_digest = weir_rows_text(wanted, 0, "set_digest"),
        .set_path = weir_rows_text(wanted, 0, "set_path"),
        .epochs = pipeline->config->epochs,
        .seed = pipeline->config->seed,
        .base_model = base,
    };
    return orchestrator_run_start(pipeline->all->runs, &run, on_run, pipeline, err);
}

void orchestrator_pipeline_hold_out(struct pipeline *pipeline)
{
    struct weir_error err;
    enum weir_status status = start_run(pipeline, &err);
    if (status != WEIR_OK)
        orchestrator_pipeline_trouble(pipeline, status, &err);
}
