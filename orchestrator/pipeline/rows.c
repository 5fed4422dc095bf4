/* Reading the rows of a pipeline: its own, its datasets', its newest trigger's. */
#include "orchestrator/pipeline/pipeline_state.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "orchestrator/context/events.h"
#include "orchestrator/pipeline/decisions.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- reading ---- */

void orchestrator_pipeline_ask_rows(const struct pipeline *pipeline, struct weir_asked asked[ROWS])
{
    static const int QUERIES[ROWS] = {
        [ROW_PIPELINE] = Q_pipeline_get,
        [ROW_DATASETS] = Q_datasets_of,
        [ROW_TRIGGER] = Q_trigger_under_way,
        [ROW_ROUND] = Q_round_under_way,
        [ROW_SCORER] = Q_score_model_under_way,
        [ROW_HOLDOUTS] = Q_holdout_models_under_way,
        [ROW_MODEL] = Q_model_newest,
        [ROW_RUN] = Q_run_under_way,
        [ROW_RUN_BASE] = Q_run_under_way_base,
        [ROW_RUN_BEFORE] = Q_run_under_way_before,
        [ROW_NEXT] = Q_trigger_next,
    };
    for (size_t i = 0; i < ROWS; i++)
        asked[i] = DB_ASKED(QUERIES[i], DB_I64(pipeline->id));
}

void orchestrator_pipeline_rows_fini(struct pipeline_rows *rows)
{
    for (size_t i = 0; i < ROWS; i++)
        weir_rows_free(rows->of[i]);
    *rows = (struct pipeline_rows){0};
}

static void keep(const struct pipeline *pipeline, struct pipeline_rows *rows,
                 const struct weir_asked asked[ROWS])
{
    orchestrator_pipeline_rows_fini(rows);
    for (size_t i = 0; i < ROWS; i++)
        rows->of[i] = asked[i].rows;
    if (rows->of[ROWS - 1] != NULL) /* the others are there, too */
        rows->changes = weir_db_changes(pipeline->context->db);
}

void orchestrator_pipeline_keep_rows(struct pipeline *pipeline, const struct weir_asked asked[ROWS])
{
    keep(pipeline, &pipeline->committed, asked);
}

static bool is_new(const struct pipeline *pipeline, const struct pipeline_rows *rows)
{
    return rows->changes != 0 && rows->changes == weir_db_changes(pipeline->context->db);
}

static enum weir_status read_rows(struct pipeline *pipeline, struct weir_error *err)
{
    struct weir_asked asked[ROWS];
    if (is_new(pipeline, &pipeline->rows))
        return WEIR_OK;
    if (is_new(pipeline, &pipeline->committed)) {
        orchestrator_pipeline_rows_fini(&pipeline->rows);
        pipeline->rows = pipeline->committed;
        pipeline->committed = (struct pipeline_rows){0};
        return WEIR_OK;
    }
    orchestrator_pipeline_rows_fini(&pipeline->committed); /* old ones may hold erased words */
    orchestrator_pipeline_ask_rows(pipeline, asked);
    enum weir_status status = weir_db_ask(pipeline->context->db, asked, ROWS, err);
    if (status == WEIR_OK)
        keep(pipeline, &pipeline->rows, asked);
    return status;
}

/* ---- taking ---- */

/* Pointers to the owner stay good: it never changes. */
static void keep_owner(struct pipeline *pipeline, const char *owner)
{
    if (weir_str_equal(pipeline->owner, owner))
        return;
    free(pipeline->owner);
    pipeline->owner = weir_strdup(owner);
}

static void take_pipeline(struct pipeline *pipeline, const struct weir_rows *rows)
{
    pipeline->after_time = weir_rows_i64(rows, 0, "after_time");
    pipeline->after_id = weir_rows_i64(rows, 0, "after_id");
    pipeline->end_time = weir_rows_i64(rows, 0, "end_time");
    pipeline->pending = (uint64_t)weir_rows_i64(rows, 0, "pending");
    pipeline->pending_time = weir_rows_i64(rows, 0, "pending_time");
    pipeline->pending_id = weir_rows_i64(rows, 0, "pending_id");
    pipeline->pending_us = weir_rows_i64(rows, 0, "pending_us");
    pipeline->checks = weir_rows_i64(rows, 0, "checks");
    pipeline->generation = weir_rows_i64(rows, 0, "generation");
    keep_owner(pipeline, weir_rows_text(rows, 0, "owner"));
    struct weir_bytes saved = weir_rows_bytes(rows, 0, "trigger_state");
    weir_buf_clear(&pipeline->trigger_saved);
    weir_buf_append(&pipeline->trigger_saved, saved.at, saved.size);
}

static void take_datasets(struct pipeline *pipeline, const struct weir_rows *rows)
{
    pipeline->dataset_count = weir_rows_count(rows);
    for (size_t i = 0; i < pipeline->dataset_count; i++) {
        pipeline->datasets[i] = (uint64_t)weir_rows_i64(rows, i, "dataset");
        pipeline->positions[i] = (uint64_t)weir_rows_i64(rows, i, "position");
    }
}

void orchestrator_pipeline_take_trigger(const struct weir_rows *rows,
                                        struct trigger_row *ret_trigger)
{
    *ret_trigger = (struct trigger_row){
        .number = weir_rows_i64(rows, 0, "number"),
        .state = weir_rows_text(rows, 0, "state"),
        .reason = weir_rows_text(rows, 0, "reason"),
        .samples_new = weir_rows_i64(rows, 0, "samples_new"),
        .until_time = weir_rows_i64(rows, 0, "until_time"),
        .until_id = weir_rows_i64(rows, 0, "until_id"),
        .positions = weir_rows_bytes(rows, 0, "positions"),
        .set_digest = weir_rows_text(rows, 0, "set_digest"),
        .set_path = weir_rows_text(rows, 0, "set_path"),
        .samples = weir_rows_i64(rows, 0, "samples"),
    };
}

static void take_round(const struct weir_rows *rows, struct trigger_round *ret_round)
{
    *ret_round = (struct trigger_round){
        .number = weir_rows_i64(rows, 0, "round"),
        .attempt = weir_rows_i64(rows, 0, "attempt"),
        .epochs = (uint64_t)weir_rows_i64(rows, 0, "epochs"),
        .epochs_before = (uint64_t)weir_rows_i64(rows, 0, "epochs_before"),
        .is_last = weir_rows_bool(rows, 0, "is_last"),
        .model = weir_rows_text(rows, 0, "model"),
    };
}

enum weir_status orchestrator_pipeline_load(struct pipeline *pipeline, struct weir_error *err)
{
    enum weir_status status = read_rows(pipeline, err);
    if (status != WEIR_OK)
        return status;
    struct weir_rows *const *rows = pipeline->rows.of;
    pipeline->newest = (struct trigger_row){0};
    if (weir_rows_count(rows[ROW_PIPELINE]) == 0) {
        return weir_fail(err, WEIR_NOT_FOUND, "pipeline %s is not recorded",
                         pipeline->config->name);
    }
    take_pipeline(pipeline, rows[ROW_PIPELINE]);
    take_datasets(pipeline, rows[ROW_DATASETS]);
    if (weir_rows_count(rows[ROW_TRIGGER]) > 0)
        orchestrator_pipeline_take_trigger(rows[ROW_TRIGGER], &pipeline->newest);
    take_round(rows[ROW_ROUND], &pipeline->newest.round);
    return WEIR_OK;
}

const char *orchestrator_pipeline_newest_model(const struct pipeline *pipeline)
{
    const struct weir_rows *rows = pipeline->rows.of[ROW_MODEL];
    return weir_rows_count(rows) > 0 ? weir_rows_text(rows, 0, "id") : NULL;
}

enum weir_status orchestrator_pipeline_drop_rounds(const struct pipeline *pipeline,
                                                   const char *kept, struct weir_error *err)
{
    return DB_RUN(pipeline->context->db, Q_rounds_drop, NULL, err, DB_I64(pipeline->id),
                  DB_I64(pipeline->newest.number), DB_TEXT(kept));
}

char *orchestrator_pipeline_round_key(const struct pipeline *pipeline, const char *what)
{
    const struct trigger_row *trigger = &pipeline->newest;
    const struct trigger_round *round = &trigger->round;
    return round->number == 0 && round->attempt == 1
               ? weir_format("%s/%" PRId64, what, trigger->number)
               : weir_format("%s/%" PRId64 "/%" PRId64 "/%" PRId64, what, trigger->number,
                             round->number, round->attempt);
}

json_t *orchestrator_pipeline_round_json(const struct pipeline *pipeline, uint64_t epochs)
{
    return epochs == 0 ? json_object()
                       : JSON_FIELDS(JSON_NUMBER("round", pipeline->newest.round.number + 1),
                                     JSON_NUMBER("epochs", epochs));
}

enum weir_status orchestrator_pipeline_open_trigger(const struct pipeline *pipeline,
                                                    struct trigger **ret_trigger,
                                                    struct weir_error *err)
{
    WEIR_AUTO(trigger) trigger = NULL;
    enum weir_status status =
        orchestrator_trigger_open(pipeline->config->trigger, "trigger", &trigger, err);
    struct weir_bytes saved = weir_buf_view(&pipeline->trigger_saved);
    if (status == WEIR_OK && saved.size > 0)
        status = orchestrator_trigger_restore(trigger, &saved, err);
    if (status == WEIR_OK)
        *ret_trigger = WEIR_TAKE(trigger);
    return status;
}

static enum weir_status add_trigger(struct pipeline *pipeline, int64_t number,
                                    const struct fired *fired, struct weir_error *err)
{
    WEIR_AUTO_BUF positions = {0};
    int64_t now_us = weir_now_wall_us();
    for (size_t i = 0; i < pipeline->dataset_count; i++)
        weir_buf_append_u64(&positions, fired->positions[i]);
    return DB_RUN(pipeline->context->db, Q_trigger_add, NULL, err, DB_I64(pipeline->id),
                  DB_I64(number), DB_TEXT(fired->reason), DB_I64(fired->samples_new),
                  DB_I64(fired->until_time), DB_I64(fired->until_id),
                  DB_BYTES(weir_buf_view(&positions)), DB_I64(now_us),
                  DB_I64(fired->arrived_us < now_us ? fired->arrived_us : now_us));
}

enum weir_status orchestrator_pipeline_effect_fired(struct pipeline *pipeline, const void *what,
                                                    struct weir_error *err)
{
    const struct fired *fired = what;
    int64_t number = pipeline->newest.number + 1;
    WEIR_AUTO_BUF saved = {0};
    orchestrator_trigger_save(fired->policy, &saved);
    enum weir_status status = add_trigger(pipeline, number, fired, err);
    if (status == WEIR_OK) {
        status = DB_RUN(pipeline->context->db, Q_pipeline_cursor, NULL, err, DB_I64(pipeline->id),
                        DB_I64(fired->until_time), DB_I64(fired->until_id),
                        DB_I64(fired->samples_new), DB_BYTES(weir_buf_view(&saved)));
    }
    for (size_t i = 0; status == WEIR_OK && i < pipeline->dataset_count; i++) {
        status = DB_RUN(pipeline->context->db, Q_dataset_fix, NULL, err, DB_I64(pipeline->id),
                        DB_I64(i), DB_I64(fired->positions[i]));
    }
    if (status == WEIR_OK && fired->decision != NULL)
        status = orchestrator_pipeline_decision_add(pipeline, fired->decision, number, err);
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO_FREE char *key = weir_format("trigger_fired/%lld", (long long)number);
    return orchestrator_event_put(
        pipeline->context, &(struct event_about){pipeline->id, 0, key, "trigger_fired"},
        JSON_FIELDS(
            JSON_TEXT("pipeline", pipeline->config->name), JSON_NUMBER("trigger", number),
            JSON_TEXT("reason", fired->reason), JSON_NUMBER("samples_new", fired->samples_new),
            JSON_TIME("until", fired->until_time), JSON_SHARED_IF_ANY("decision", fired->decision)),
        err);
}
