/* Reading the rows of a pipeline: its own, its datasets', its newest trigger's. */
#include "orchestrator/pipeline/pipeline_state.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "orchestrator/context/events.h"
#include "orchestrator/pipeline/decisions.h"

#include <inttypes.h>
#include <stdlib.h>

static enum weir_status load_datasets(struct pipeline *pipeline, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(pipeline->context->db, Q_datasets_of, &rows, err, DB_I64(pipeline->id));
    if (status != WEIR_OK)
        return status;
    pipeline->dataset_count = weir_rows_count(rows);
    for (size_t i = 0; i < pipeline->dataset_count; i++) {
        pipeline->datasets[i] = (uint64_t)weir_rows_i64(rows, i, "dataset");
        pipeline->positions[i] = (uint64_t)weir_rows_i64(rows, i, "position");
    }
    return WEIR_OK;
}

/* Pointers to the owner stay good: it never changes. */
static void keep_owner(struct pipeline *pipeline, const char *owner)
{
    if (weir_str_equal(pipeline->owner, owner))
        return;
    free(pipeline->owner);
    pipeline->owner = weir_strdup(owner);
}

enum weir_status orchestrator_pipeline_load(struct pipeline *pipeline, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(pipeline->context->db, Q_pipeline_get, &rows, err, DB_I64(pipeline->id));
    if (status != WEIR_OK)
        return status;
    if (weir_rows_count(rows) == 0) {
        return weir_fail(err, WEIR_NOT_FOUND, "pipeline %s is not recorded",
                         pipeline->config->name);
    }
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
    return load_datasets(pipeline, err);
}

void orchestrator_pipeline_take_trigger(struct weir_rows *rows, struct trigger_row *ret_trigger)
{
    *ret_trigger = (struct trigger_row){
        .rows = rows,
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

static enum weir_status load_round(struct pipeline *pipeline, struct weir_error *err)
{
    struct weir_rows *rows = NULL;
    enum weir_status status = DB_RUN(pipeline->context->db, Q_round_under_way, &rows, err,
                                     DB_I64(pipeline->id), DB_I64(pipeline->newest.number));
    if (status != WEIR_OK)
        return status;
    pipeline->newest.round = (struct trigger_round){
        .rows = rows,
        .number = weir_rows_i64(rows, 0, "round"),
        .attempt = weir_rows_i64(rows, 0, "attempt"),
        .epochs = (uint64_t)weir_rows_i64(rows, 0, "epochs"),
        .epochs_before = (uint64_t)weir_rows_i64(rows, 0, "epochs_before"),
        .is_last = weir_rows_bool(rows, 0, "is_last"),
        .model = weir_rows_text(rows, 0, "model"),
    };
    return WEIR_OK;
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

enum weir_status orchestrator_pipeline_load_newest(struct pipeline *pipeline,
                                                   struct weir_error *err)
{
    struct weir_rows *rows = NULL;
    enum weir_status status =
        DB_RUN(pipeline->context->db, Q_trigger_under_way, &rows, err, DB_I64(pipeline->id));
    if (status != WEIR_OK)
        return status;
    weir_rows_free(pipeline->newest.rows);
    weir_rows_free(pipeline->newest.round.rows);
    pipeline->newest = (struct trigger_row){.rows = rows};
    if (weir_rows_count(rows) > 0)
        orchestrator_pipeline_take_trigger(rows, &pipeline->newest);
    return load_round(pipeline, err);
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
