/* TRAINING: the run of the newest trigger, from whatever training.start_from names. Also where an erasure's driver
 * learns how a trigger of this pipeline is trained. */
#include "orchestrator/pipeline/training.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "orchestrator/context/events.h"
#include "orchestrator/pipeline/pipeline_state.h"
#include "orchestrator/pipeline/rounds.h"
#include "orchestrator/values/json_number.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- the event ---- */

json_t *orchestrator_training_json(const struct pipeline *pipeline, const struct run_result *run)
{
    json_t *audit = orchestrator_json_of(run->audit);
    double seconds = (double)(run->busy_ns + run->wait_ns) / 1e9;
    double delivered = (double)json_integer_value(json_object_get(audit, "delivered"));
    WEIR_AUTO_BUF cost = {0};
    orchestrator_cost_json(&pipeline->context->prices, &run->cost, &cost);
    return JSON_FIELDS(
        JSON_TEXT("pipeline", pipeline->config->name), JSON_NUMBER("trigger", run->trigger),
        JSON_NUMBER("samples", (json_int_t)delivered), JSON_DOUBLE("seconds", seconds),
        JSON_DOUBLE("samples_per_second", seconds > 0 ? delivered / seconds : 0.0),
        JSON_DOUBLE("stall_fraction", seconds > 0 ? (double)run->wait_ns / 1e9 / seconds : 0.0),
        JSON_NEW("loss", orchestrator_json_number(run->loss)),
        JSON_NEW("metrics", orchestrator_json_of(run->metrics)),
        JSON_NEW("cost", orchestrator_json_of(weir_buf_text(&cost))), JSON_NEW("audit", audit),
        JSON_NUMBER("run", run->number));
}

/* Told of each round. */
static enum weir_status effect_round_trained(struct pipeline *pipeline, const void *what,
                                             struct weir_error *err)
{
    const struct run_result *run = what;
    WEIR_AUTO_FREE char *key = orchestrator_pipeline_round_key(pipeline, "training_finished");
    json_t *body = orchestrator_training_json(pipeline, run);
    json_object_update_new(
        body, orchestrator_pipeline_round_json(pipeline, pipeline->newest.round.epochs));
    return orchestrator_event_put(pipeline->context,
                                  &(struct event_about){pipeline->id, 0, key, "training_finished"},
                                  body, err);
}

static enum weir_status effect_trained(struct pipeline *pipeline, const void *what,
                                       struct weir_error *err)
{
    const struct run_result *run = what;
    enum weir_status status =
        DB_RUN(pipeline->context->db, Q_trigger_trained, NULL, err, DB_I64(pipeline->id),
               DB_I64(run->trigger), DB_I64(weir_now_wall_us()), DB_I64(run->number));
    return status == WEIR_OK ? effect_round_trained(pipeline, run, err) : status;
}

static enum weir_status effect_hollow(struct pipeline *pipeline, const void *what,
                                      struct weir_error *err)
{
    WEIR_AUTO_FREE char *reason = orchestrator_run_hollow_reason(what);
    enum weir_status status =
        DB_RUN(pipeline->context->db, Q_trigger_skipped, NULL, err, DB_I64(pipeline->id),
               DB_I64(pipeline->newest.number), DB_TEXT(reason));
    if (status == WEIR_OK)
        status = orchestrator_pipeline_drop_rounds(pipeline, "", err);
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO_FREE char *key = weir_format("trigger_skipped/%" PRId64, pipeline->newest.number);
    return orchestrator_event_put(
        pipeline->context, &(struct event_about){pipeline->id, 0, key, "trigger_skipped"},
        JSON_FIELDS(JSON_TEXT("pipeline", pipeline->config->name),
                    JSON_NUMBER("trigger", pipeline->newest.number), JSON_TEXT("reason", reason)),
        err);
}

static void on_trained(void *owner, const struct run_result *run, const struct weir_error *err)
{
    struct pipeline *pipeline = owner;
    if (run == NULL)
        orchestrator_pipeline_trouble(pipeline, err->status, err);
    else if (orchestrator_run_is_hollow(run))
        orchestrator_pipeline_advance(pipeline, PIPELINE_ON_SKIPPED, effect_hollow, run);
    else if (!pipeline->newest.round.is_last)
        orchestrator_pipeline_advance(pipeline, PIPELINE_ON_ROUND_TRAINED, effect_round_trained,
                                      run);
    else
        orchestrator_pipeline_advance(pipeline, PIPELINE_ON_TRAINED, effect_trained, run);
}

void orchestrator_pipeline_store_run(struct pipeline *pipeline, const struct run_result *run,
                                     const struct weir_error *err, store_run_fn *store)
{
    struct weir_error problem;
    enum weir_status status = run == NULL ? err->status : store(pipeline, run, &problem);
    if (status != WEIR_OK)
        orchestrator_pipeline_trouble(pipeline, status, run == NULL ? err : &problem);
}

bool orchestrator_run_is_hollow(const struct run_result *run)
{
    json_t *audit = orchestrator_json_of(run->audit);
    bool hollow = json_integer_value(json_object_get(audit, "delivered")) == 0;
    json_decref(audit);
    return hollow;
}

char *orchestrator_run_hollow_reason(const struct run_result *run)
{
    static const char *const HOLES[] = {"erased", "gone", "filtered", "failed"};
    WEIR_AUTO_BUF text = {0};
    json_t *audit = orchestrator_json_of(run->audit);
    weir_buf_append_text(&text, "no sample of the set is left to train on");
    const char *before = ": ";
    for (size_t i = 0; i < WEIR_COUNT(HOLES); i++) {
        json_int_t count = json_integer_value(json_object_get(audit, HOLES[i]));
        if (count == 0)
            continue;
        weir_buf_printf(&text, "%s%" JSON_INTEGER_FORMAT " %s", before, count, HOLES[i]);
        before = ", ";
    }
    json_decref(audit);
    return weir_strdup(weir_buf_text(&text));
}

/* ---- the run ---- */

/* The model to start from, or NULL: initial weights. A later round goes on from the one before. Borrowed. */
static const char *find_base(const struct pipeline *pipeline)
{
    const char *start_from = pipeline->config->start_from;
    if (pipeline->newest.round.number > 0)
        return pipeline->newest.round.model;
    if (strcmp(start_from, "scratch") == 0)
        return NULL;
    return strcmp(start_from, "previous") == 0 ? orchestrator_pipeline_newest_model(pipeline)
                                               : start_from;
}

/* The run on a set of the newest trigger; texts are borrowed. */
static struct run_wanted run_on(const struct pipeline *pipeline, const char *purpose,
                                const char *set_digest, const char *set_path)
{
    const struct trigger_round *round = &pipeline->newest.round;
    return (struct run_wanted){
        .pipeline = orchestrator_pipeline_outline(pipeline),
        .purpose = purpose,
        .mode = "train",
        .trigger = pipeline->newest.number,
        .set_digest = set_digest,
        .set_path = set_path,
        .epochs = round->epochs > 0 ? round->epochs : pipeline->config->epochs,
        .epochs_before = round->epochs_before,
        .epochs_in_all = round->epochs > 0 ? pipeline->config->epochs : 0,
        .seed = orchestrator_round_seed(pipeline->config->seed, round->number),
        .base_model = find_base(pipeline),
    };
}

enum weir_status orchestrator_pipeline_add_run(const struct pipeline *pipeline,
                                               const struct msg_selected *selected,
                                               struct weir_error *err)
{
    WEIR_AUTO_FREE char *purpose = orchestrator_pipeline_round_key(pipeline, "train");
    const struct run_wanted wanted = run_on(pipeline, purpose, selected->digest, selected->path);
    return orchestrator_run_add(pipeline->all->runs, &wanted, err);
}

enum weir_status orchestrator_pipeline_run_newest(struct pipeline *pipeline, run_done_fn *done,
                                                  struct weir_error *err)
{
    enum weir_status status = orchestrator_pipeline_load(pipeline, err);
    if (status != WEIR_OK)
        return status;
    const struct trigger_row *newest = &pipeline->newest;
    WEIR_AUTO_FREE char *purpose = orchestrator_pipeline_round_key(pipeline, "train");
    struct run_wanted wanted = run_on(pipeline, purpose, newest->set_digest, newest->set_path);
    wanted.known = &pipeline->rows.of[ROW_RUN];
    return orchestrator_run_start(pipeline->all->runs, &wanted, done, pipeline, err);
}

void orchestrator_pipeline_train(struct pipeline *pipeline)
{
    struct weir_error err;
    enum weir_status status = orchestrator_pipeline_run_newest(pipeline, on_trained, &err);
    if (status != WEIR_OK)
        orchestrator_pipeline_trouble(pipeline, status, &err);
    else
        orchestrator_pipeline_look_ahead(pipeline);
}
