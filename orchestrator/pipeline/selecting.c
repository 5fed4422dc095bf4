/* SELECTING: the selector seals the set of the newest trigger, says why there is none, or what has to be before it can
 * choose: a model that scores samples, or one that learns from what is held out. */
#include "orchestrator/pipeline/pipeline_state.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/path.h"
#include "orchestrator/context/events.h"
#include "orchestrator/models/lineage.h"
#include "orchestrator/pipeline/rounds.h"
#include "orchestrator/pipeline/training.h"

enum { HOLDOUT_MODELS_MAX = 2 };

static enum weir_status effect_skipped(struct pipeline *pipeline, const void *what,
                                       struct weir_error *err)
{
    const struct msg_selected *selected = what;
    int64_t number = pipeline->newest.number;
    enum weir_status status =
        DB_RUN(pipeline->context->db, Q_trigger_skipped, NULL, err, DB_I64(pipeline->id),
               DB_I64(number), DB_TEXT(selected->reason));
    if (status == WEIR_OK)
        status = orchestrator_pipeline_drop_rounds(pipeline, "", err);
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO_FREE char *key = weir_format("trigger_skipped/%lld", (long long)number);
    return orchestrator_event_put(
        pipeline->context, &(struct event_about){pipeline->id, 0, key, "trigger_skipped"},
        JSON_FIELDS(JSON_TEXT("pipeline", pipeline->config->name), JSON_NUMBER("trigger", number),
                    JSON_TEXT("reason", selected->reason)),
        err);
}

static const char *text_or_null(const char *text)
{
    return text[0] == '\0' ? NULL : text;
}

/* A training without rounds has no row of one. */
static enum weir_status seal_round(const struct pipeline *pipeline,
                                   const struct msg_selected *selected, uint64_t *ret_epochs,
                                   struct weir_error *err)
{
    const struct trigger_round *round = &pipeline->newest.round;
    const struct round_length length =
        orchestrator_round_length(pipeline->config->epochs, round->epochs_before, selected->period);
    bool is_round = selected->period > 0 || round->number > 0; /* the file may have changed since */
    *ret_epochs = is_round ? length.epochs : 0;
    if (!is_round)
        return WEIR_OK;
    return DB_RUN(pipeline->context->db, Q_round_sealed, NULL, err, DB_I64(pipeline->id),
                  DB_I64(pipeline->newest.number), DB_I64(round->number), DB_TEXT(selected->digest),
                  DB_TEXT(selected->scored_by), DB_I64(length.epochs), DB_BOOL(length.is_last));
}

static enum weir_status effect_sealed(struct pipeline *pipeline, const void *what,
                                      struct weir_error *err)
{
    const struct msg_selected *selected = what;
    int64_t number = pipeline->newest.number;
    uint64_t epochs = 0;
    bool is_scored = selected->scored_by[0] != '\0';
    WEIR_AUTO(weir_rows) sealed = NULL;
    enum weir_status status =
        DB_RUN(pipeline->context->db, Q_trigger_sealed, is_scored ? &sealed : NULL, err,
               DB_I64(pipeline->id), DB_I64(number), DB_TEXT(selected->digest),
               DB_TEXT(weir_path_below(pipeline->context->data_dir, selected->path)),
               DB_I64(selected->samples), DB_TEXT(selected->scored_by), DB_I64(weir_now_wall_us()),
               DB_I64(pipeline->newest.round.number));
    if (status == WEIR_OK)
        status = seal_round(pipeline, selected, &epochs, err);
    if (status == WEIR_OK) {
        status =
            orchestrator_lineage_note_set(pipeline->context, selected->digest, selected->path, err);
    }
    /* The name of a round's run depends on what was sealed before. */
    if (status == WEIR_OK && epochs == 0)
        status = orchestrator_pipeline_add_run(pipeline, selected, err);
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO_FREE char *key = orchestrator_pipeline_round_key(pipeline, "selection_sealed");
    json_t *body = JSON_FIELDS(
        JSON_TEXT("pipeline", pipeline->config->name), JSON_NUMBER("trigger", number),
        JSON_NUMBER("samples", selected->samples), JSON_TEXT("digest", selected->digest),
        JSON_TEXT("policy", selected->policy), JSON_NUMBER("candidates", selected->candidates),
        JSON_NUMBER("seed", selected->seed),
        JSON_TEXT_IF_ANY("scored_by", text_or_null(selected->scored_by)),
        JSON_TEXT_IF_ANY("held_out_by", is_scored
                                            ? text_or_null(weir_rows_text(sealed, 0, "held_out_by"))
                                            : NULL));
    json_object_update_new(body, orchestrator_pipeline_round_json(pipeline, epochs));
    return orchestrator_event_put(pipeline->context,
                                  &(struct event_about){pipeline->id, 0, key, "selection_sealed"},
                                  body, err);
}

static enum weir_status effect_scores_needed(struct pipeline *pipeline, const void *what,
                                             struct weir_error *err)
{
    const struct msg_scores_wanted *wanted = what;
    return DB_RUN(pipeline->context->db, Q_score_want, NULL, err, DB_I64(pipeline->id),
                  DB_I64(pipeline->newest.number), DB_TEXT(wanted->model), DB_TEXT(wanted->mode),
                  DB_TEXT(wanted->digest),
                  DB_TEXT(weir_path_below(pipeline->context->data_dir, wanted->path)),
                  DB_TEXT(wanted->keeps_to));
}

static enum weir_status effect_holdout_model_needed(struct pipeline *pipeline, const void *what,
                                                    struct weir_error *err)
{
    const struct msg_holdout_wanted *wanted = what;
    enum weir_status status =
        DB_RUN(pipeline->context->db, Q_holdout_want, NULL, err, DB_I64(pipeline->id),
               DB_I64(pipeline->newest.number), DB_I64(wanted->half), DB_TEXT(wanted->digest),
               DB_TEXT(weir_path_below(pipeline->context->data_dir, wanted->path)));
    return status == WEIR_OK
               ? orchestrator_lineage_note_set(pipeline->context, wanted->digest, wanted->path, err)
               : status;
}

static void on_selected(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct pipeline *pipeline = owner;
    if (reply == NULL) {
        orchestrator_pipeline_hindered(pipeline, err->status, err);
        return;
    }
    if (reply->type == MSG_scores_wanted) {
        orchestrator_pipeline_advance(pipeline, PIPELINE_ON_SCORES_NEEDED, effect_scores_needed,
                                      reply->message);
        return;
    }
    if (reply->type == MSG_holdout_wanted) {
        orchestrator_pipeline_advance(pipeline, PIPELINE_ON_HOLDOUT_MODEL_NEEDED,
                                      effect_holdout_model_needed, reply->message);
        return;
    }
    const struct msg_selected *selected = reply->message;
    if (selected->digest[0] == '\0' || selected->samples == 0)
        orchestrator_pipeline_advance(pipeline, PIPELINE_ON_SKIPPED, effect_skipped, selected);
    else
        orchestrator_pipeline_advance(pipeline, PIPELINE_ON_SEALED, effect_sealed, selected);
}

/* The model that scores: the one that this trigger began with, as long as it is there; else the newest. After a round
 * of training, the one that came of it. */
static void find_scorer(const struct pipeline *pipeline, struct msg_select *select)
{
    const struct trigger_round *round = &pipeline->newest.round;
    const struct weir_rows *scorer = pipeline->rows.of[ROW_SCORER];
    const char *newest = orchestrator_pipeline_newest_model(pipeline);
    select->pinned = round->number > 0 || weir_rows_count(scorer) > 0;
    if (round->number > 0)
        select->model = round->model;
    else if (select->pinned)
        select->model = weir_rows_text(scorer, 0, "id");
    else if (newest != NULL)
        select->model = newest;
}

/* Models that have learnt for this trigger from what is held out. */
static void find_holdouts(const struct pipeline *pipeline, struct msg_select *select,
                          const char *names[HOLDOUT_MODELS_MAX])
{
    const struct weir_rows *rows = pipeline->rows.of[ROW_HOLDOUTS];
    size_t count = weir_rows_count(rows);
    count = count < HOLDOUT_MODELS_MAX ? count : HOLDOUT_MODELS_MAX;
    for (size_t i = 0; i < count; i++)
        names[i] = weir_rows_text(rows, i, "model");
    select->holdouts = (struct weir_strs){names, count};
}

/* Fills in the end of the trigger: per dataset, and as time and id. */
static void fill_end(const struct pipeline *pipeline, const struct trigger_row *trigger,
                     uint64_t positions[ORCHESTRATOR_DATASETS_MAX], struct msg_select *select)
{
    size_t count = trigger->positions.size / sizeof(*positions);

    count = count < ORCHESTRATOR_DATASETS_MAX ? count : ORCHESTRATOR_DATASETS_MAX;
    for (size_t i = 0; i < count; i++)
        positions[i] = weir_get_u64(trigger->positions.at + i * sizeof(*positions));
    select->pipeline = pipeline->config->name;
    select->trigger = (uint64_t)trigger->number;
    select->round = (uint32_t)trigger->round.number;
    select->positions = (struct weir_u64s){.at = positions, .count = count};
    select->until_time = trigger->until_time;
    select->until_id = (uint64_t)trigger->until_id;
}

void orchestrator_pipeline_select(struct pipeline *pipeline)
{
    struct weir_error err;
    const char *names[HOLDOUT_MODELS_MAX];
    uint64_t positions[ORCHESTRATOR_DATASETS_MAX] = {0};
    struct msg_select select = {.model = ""};
    enum weir_status status = orchestrator_pipeline_load(pipeline, &err);
    if (status != WEIR_OK) {
        orchestrator_pipeline_trouble(pipeline, status, &err);
        return;
    }
    find_scorer(pipeline, &select);
    find_holdouts(pipeline, &select, names);
    fill_end(pipeline, &pipeline->newest, positions, &select);
    weir_rpc_call(pipeline->context->selector, MSG_select, &select, ORCHESTRATOR_REQUEST_MS,
                  on_selected, pipeline);
}

/* Whatever it is: SELECTING asks again, and is answered at once. */
static void on_selected_ahead(void *owner, const struct weir_reply *reply,
                              const struct weir_error *err)
{
    (void)owner, (void)reply, (void)err;
}

void orchestrator_pipeline_select_ahead(struct pipeline *pipeline, const struct trigger_row *next)
{
    uint64_t positions[ORCHESTRATOR_DATASETS_MAX] = {0};
    struct msg_select select = {.model = ""};

    fill_end(pipeline, next, positions, &select);
    weir_rpc_call(pipeline->context->selector, MSG_select, &select, ORCHESTRATOR_REQUEST_MS,
                  on_selected_ahead, pipeline);
}
