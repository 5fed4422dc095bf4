/* Orders of people to a pipeline: to be taken in, to pause, stop, go on, or go. An order that has
 * to wait lies in the pipeline's row, so that it comes about whichever process dies meanwhile. */
#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/memory.h"
#include "orchestrator/config/parse.h"
#include "orchestrator/context/events.h"
#include "orchestrator/pipeline/pipeline_state.h"

static const char *const PENDING_ORDERS[] = {
#define X(name, text) [PENDING_ORDER_##name] = (text),
    PENDING_ORDER_LIST(X)
#undef X
};

static bool rests_until_resumed(const struct pipeline *pipeline)
{
    return pipeline->state == PIPELINE_FAILED || pipeline->state == PIPELINE_STOPPED ||
           pipeline->state == PIPELINE_PAUSED;
}

static enum weir_status fail_state(const struct pipeline *pipeline, const char *verb,
                                   const char *advice, struct weir_error *err)
{
    return weir_fail(err, WEIR_UNSUPPORTED, "pipeline %s is %s and cannot be %s: %s",
                     pipeline->config->name, orchestrator_pipeline_state_name(pipeline->state),
                     verb, advice);
}

static bool may_take(const struct pipeline *pipeline, enum pipeline_event event)
{
    enum pipeline_state to;
    return orchestrator_pipeline_next_state(pipeline->state, event, &to);
}

/* ---- taking in ---- */

enum weir_status orchestrator_pipeline_add_row(struct pipelines *pipelines,
                                               const struct pipeline_file *file,
                                               const struct orchestrator_config *config,
                                               int64_t *ret_id, struct weir_error *err)
{
    struct weir_digest digest = weir_digest_of(file->text);
    char digest_text[WEIR_DIGEST_TEXT_MAX];
    weir_digest_text(&digest, digest_text);
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(pipelines->context->db, Q_pipeline_add, &rows, err, DB_TEXT(config->name),
               DB_TEXT(file->name), DB_BYTES(file->text), DB_TEXT(digest_text),
               DB_TEXT(config->mode == MODE_LIVE ? "live" : "replay"),
               DB_TEXT(orchestrator_pipeline_state_name(PIPELINE_DECLARING)),
               DB_I64(weir_now_wall_us()), DB_TEXT(file->owner));
    if (status == WEIR_OK)
        *ret_id = weir_rows_i64(rows, 0, "id");
    return status;
}

enum weir_status orchestrator_pipeline_begin_new(struct pipelines *pipelines, int64_t id,
                                                 const struct pipeline_file *file,
                                                 struct orchestrator_config *config,
                                                 struct weir_error *err)
{
    struct pipeline *pipeline =
        orchestrator_pipeline_keep(pipelines, id, file->name, file->text, config);
    enum weir_status status = orchestrator_pipeline_load(pipeline, err);
    if (status == WEIR_OK && !pipelines->are_held)
        orchestrator_pipeline_begin_after(pipeline, 0);
    return status;
}

static enum weir_status check_datasets(const struct pipelines *pipelines,
                                       const struct orchestrator_config *config,
                                       struct weir_error *err)
{
    const char *going = pipelines->dataset_going;
    if (going == NULL || !orchestrator_config_names(config, going))
        return WEIR_OK;
    return weir_fail(err, WEIR_UNAVAILABLE, "dataset '%s' is being removed: try again", going);
}

/* Number of the first line that differs; 1, 2, … */
static size_t line_of_difference(struct weir_bytes one, struct weir_bytes other)
{
    size_t line = 1;
    for (size_t i = 0; i < one.size && i < other.size && one.at[i] == other.at[i]; i++)
        line += one.at[i] == '\n';
    return line;
}

/* True when it is the pipeline's, or will be after the trigger under way. */
static bool has_file(const struct pipeline *pipeline, struct weir_bytes text)
{
    return weir_bytes_equal(weir_buf_view(&pipeline->text), text) ||
           (pipeline->pending_order == PENDING_ORDER_APPLY &&
            weir_bytes_equal(weir_buf_view(&pipeline->next_text), text));
}

/* Tells whether it has had a trigger: until then nothing of it can contradict another file. */
static enum weir_status has_begun(const struct pipeline *pipeline, bool *ret_has_begun,
                                  struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(pipeline->context->db, Q_pipeline_has_triggers, &rows, err, DB_I64(pipeline->id));
    if (status == WEIR_OK)
        *ret_has_begun = weir_rows_bool(rows, 0, "has_any");
    return status;
}

static enum weir_status order_with(struct pipeline *pipeline, enum pending_order pending_order,
                                   const char *file, struct weir_bytes text, struct weir_error *err)
{
    enum weir_status status =
        DB_RUN(pipeline->context->db, Q_pipeline_wish_with, NULL, err, DB_I64(pipeline->id),
               DB_TEXT(PENDING_ORDERS[pending_order]), DB_TEXT(file), DB_BYTES(text));
    if (status != WEIR_OK)
        return status;
    orchestrator_pipeline_keep_next(pipeline, file, text);
    pipeline->pending_order = pending_order;
    return WEIR_OK;
}

enum weir_status orchestrator_pipeline_rerun_with(struct pipeline *pipeline, const char *file,
                                                  struct weir_bytes text, struct weir_error *err)
{
    bool is_ordered =
        pipeline->next_file != NULL && weir_bytes_equal(weir_buf_view(&pipeline->next_text), text);
    if (orchestrator_pipeline_wants_removal(pipeline) && !is_ordered)
        return fail_state(pipeline, "run with another file", "another order is being carried out",
                          err);
    enum weir_status status = order_with(pipeline, PENDING_ORDER_RERUN, file, text, err);
    if (status != WEIR_OK)
        return status;
    orchestrator_pipeline_break_off(pipeline);
    orchestrator_pipeline_begin_after(pipeline, 0);
    return WEIR_OK;
}

enum weir_status orchestrator_pipeline_apply(struct pipeline *pipeline, const char *file,
                                             struct weir_bytes text, struct weir_error *err)
{
    if (orchestrator_pipeline_wants_removal(pipeline))
        return fail_state(pipeline, "given another file", "another order is being carried out",
                          err);
    if (pipeline->pending_order == PENDING_ORDER_PAUSE)
        return fail_state(pipeline, "given another file",
                          "it is about to be paused, try again then", err);
    enum weir_status status = order_with(pipeline, PENDING_ORDER_APPLY, file, text, err);
    if (status == WEIR_OK && may_take(pipeline, PIPELINE_ON_APPLIED)) {
        orchestrator_pipeline_break_off(pipeline);
        orchestrator_pipeline_begin_after(pipeline, 0);
    }
    return status;
}

static enum weir_status replace(struct pipeline *known, const char *file, struct weir_bytes text,
                                struct weir_error *err)
{
    bool begun = false;
    enum weir_status status = has_begun(known, &begun, err);
    if (status != WEIR_OK)
        return status;
    if (!begun)
        return orchestrator_pipeline_rerun_with(known, file, text, err);
    return weir_fail(
        err, WEIR_EXISTS,
        "%s:%zu: pipeline %s was begun on this data directory with another file, this is the first "
        "line that differs: weir apply %s changes it where it stands, or give the pipeline a new name",
        file, line_of_difference(weir_buf_view(&known->text), text), known->config->name, file);
}

static enum weir_status take_in(struct pipelines *pipelines, const struct pipeline_file *file,
                                struct orchestrator_config *config, struct weir_error *err)
{
    int64_t id = 0;
    enum weir_status status = orchestrator_pipeline_add_row(pipelines, file, config, &id, err);
    if (status != WEIR_OK) {
        orchestrator_config_free(config);
        return status;
    }
    return orchestrator_pipeline_begin_new(pipelines, id, file, config, err);
}

enum weir_status orchestrator_pipeline_submit(struct pipelines *pipelines,
                                              const struct pipeline_file *file,
                                              struct pipeline **ret_pipeline,
                                              enum pipeline_submitted *ret_how,
                                              struct weir_error *err)
{
    WEIR_AUTO(orchestrator_config) config = NULL;
    enum weir_status status = orchestrator_config_parse(file->name, file->text, &config, err);
    if (status != WEIR_OK)
        return status;
    struct pipeline *known = orchestrator_pipeline_by_name(pipelines, config->name);
    *ret_pipeline = known;
    *ret_how = PIPELINE_KNOWN;
    if (known != NULL && has_file(known, file->text))
        return WEIR_OK;
    const struct orchestrator_site site = orchestrator_site_of(pipelines->context);
    status = orchestrator_config_check_system(config, &site, err);
    if (status == WEIR_OK)
        status = check_datasets(pipelines, config, err);
    if (status != WEIR_OK)
        return status;
    *ret_how = known != NULL ? PIPELINE_REPLACED : PIPELINE_TAKEN_IN;
    if (known != NULL)
        return replace(known, file->name, file->text, err);
    status = take_in(pipelines, file, WEIR_TAKE(config), err);
    *ret_pipeline = pipelines->first;
    return status;
}

enum weir_status orchestrator_pipeline_run(struct pipelines *pipelines,
                                           const struct pipeline_file *file,
                                           struct pipeline **ret_pipeline, struct weir_error *err)
{
    enum pipeline_submitted how = PIPELINE_KNOWN;
    enum weir_status status =
        orchestrator_pipeline_submit(pipelines, file, ret_pipeline, &how, err);
    if (status != WEIR_OK || how == PIPELINE_REPLACED)
        return status;
    struct pipeline *pipeline = *ret_pipeline;
    if (rests_until_resumed(pipeline) || pipeline->pending_order == PENDING_ORDER_PAUSE)
        return orchestrator_pipeline_resume(pipeline, err);
    orchestrator_pipeline_begin_after(pipeline, 0);
    return WEIR_OK;
}

/* ---- telling ---- */

/* An edge that people have ordered is announced each time: `what` names the event. */
static enum weir_status effect_announced(struct pipeline *pipeline, const void *what,
                                         struct weir_error *err)
{
    const char *event = what;
    WEIR_AUTO_FREE char *key = weir_format("%s/%lld", event, (long long)weir_now_wall_us());
    return orchestrator_event_put(pipeline->context,
                                  &(struct event_about){pipeline->id, 0, key, event},
                                  JSON_FIELDS(JSON_TEXT("pipeline", pipeline->config->name)), err);
}

static enum weir_status write_order(struct pipeline *pipeline, enum pending_order pending_order,
                                    struct weir_error *err)
{
    return DB_RUN(pipeline->context->db, Q_pipeline_wish, NULL, err, DB_I64(pipeline->id),
                  DB_TEXT(PENDING_ORDERS[pending_order]));
}

/* A file that waits is taken whatever comes before it. */
static enum pending_order order_after(const struct pipeline *pipeline)
{
    return pipeline->pending_order == PENDING_ORDER_APPLY ? PENDING_ORDER_APPLY
                                                          : PENDING_ORDER_NONE;
}

/* The pending order, if there was one, is carried out. */
static enum weir_status effect_granted(struct pipeline *pipeline, const void *what,
                                       struct weir_error *err)
{
    enum weir_status status = write_order(pipeline, order_after(pipeline), err);
    return status == WEIR_OK ? effect_announced(pipeline, what, err) : status;
}

static enum weir_status fail_busy(const struct pipeline *pipeline, struct weir_error *err)
{
    return weir_fail(err, WEIR_UNAVAILABLE, "pipeline %s: the database is away, try again",
                     pipeline->config->name);
}

static enum weir_status order(struct pipeline *pipeline, enum pipeline_event event,
                              const char *announced, struct weir_error *err)
{
    orchestrator_pipeline_break_off(pipeline);
    if (!orchestrator_pipeline_advance(pipeline, event, effect_granted, announced))
        return fail_busy(pipeline, err);
    pipeline->pending_order = order_after(pipeline);
    return WEIR_OK;
}

/* ---- pause, stop, resume ---- */

bool orchestrator_pipeline_grant_order(struct pipeline *pipeline)
{
    if (pipeline->pending_order == PENDING_ORDER_PAUSE && may_take(pipeline, PIPELINE_ON_PAUSED)) {
        orchestrator_pipeline_break_off(pipeline);
        if (orchestrator_pipeline_advance(pipeline, PIPELINE_ON_PAUSED, effect_granted,
                                          "pipeline_paused"))
            pipeline->pending_order = PENDING_ORDER_NONE;
        return true;
    }
    if (pipeline->pending_order == PENDING_ORDER_APPLY && may_take(pipeline, PIPELINE_ON_APPLIED))
        return orchestrator_pipeline_take_file(pipeline);
    if (orchestrator_pipeline_wants_removal(pipeline) && may_take(pipeline, PIPELINE_ON_REMOVED)) {
        (void)orchestrator_pipeline_advance(pipeline, PIPELINE_ON_REMOVED, effect_announced,
                                            "pipeline_removing");
        return true;
    }
    return false;
}

enum weir_status orchestrator_pipeline_pause(struct pipeline *pipeline, struct weir_error *err)
{
    if (pipeline->state == PIPELINE_PAUSED)
        return WEIR_OK;
    if (orchestrator_pipeline_at_rest(pipeline->state) ||
        orchestrator_pipeline_wants_removal(pipeline))
        return fail_state(pipeline, "paused", "nothing of it is under way", err);
    if (may_take(pipeline, PIPELINE_ON_PAUSED))
        return order(pipeline, PIPELINE_ON_PAUSED, "pipeline_paused", err);
    if (pipeline->pending_order == PENDING_ORDER_APPLY)
        return fail_state(pipeline, "paused", "another file waits for its trigger, try again then",
                          err);
    enum weir_status status = write_order(pipeline, PENDING_ORDER_PAUSE, err);
    if (status == WEIR_OK)
        pipeline->pending_order = PENDING_ORDER_PAUSE;
    return status;
}

enum weir_status orchestrator_pipeline_stop(struct pipeline *pipeline, struct weir_error *err)
{
    if (pipeline->state == PIPELINE_STOPPED)
        return WEIR_OK;
    if (!may_take(pipeline, PIPELINE_ON_STOPPED) || orchestrator_pipeline_wants_removal(pipeline))
        return fail_state(pipeline, "stopped", "nothing of it is under way", err);
    enum weir_status status = order(pipeline, PIPELINE_ON_STOPPED, "pipeline_stopped", err);
    if (status == WEIR_OK)
        orchestrator_pipeline_end_feed(pipeline, NULL);
    return status;
}

enum weir_status orchestrator_pipeline_resume(struct pipeline *pipeline, struct weir_error *err)
{
    if (pipeline->state == PIPELINE_FINISHED || orchestrator_pipeline_wants_removal(pipeline))
        return fail_state(pipeline, "resumed", "weir rerun begins it again from its first sample",
                          err);
    if (rests_until_resumed(pipeline)) {
        if (pipeline->pending_order == PENDING_ORDER_APPLY)
            (void)orchestrator_pipeline_take_file(
                pipeline); /* else it would wait for the trigger */
        pipeline->attached = false;
        return order(pipeline, PIPELINE_ON_RESUMED, "pipeline_resumed", err);
    }
    if (pipeline->pending_order != PENDING_ORDER_PAUSE)
        return WEIR_OK;
    enum weir_status status = write_order(pipeline, PENDING_ORDER_NONE, err);
    if (status == WEIR_OK)
        pipeline->pending_order = PENDING_ORDER_NONE;
    return status;
}

/* ---- remove, rerun ---- */

enum weir_status orchestrator_pipeline_remove(struct pipeline *pipeline, bool again,
                                              struct weir_error *err)
{
    enum pending_order pending_order = again ? PENDING_ORDER_RERUN : PENDING_ORDER_REMOVE;
    if (orchestrator_pipeline_wants_removal(pipeline) && pipeline->pending_order != pending_order)
        return fail_state(pipeline, again ? "run again" : "removed",
                          "another order is being carried out", err);
    enum weir_status status = write_order(pipeline, pending_order, err);
    if (status != WEIR_OK || orchestrator_pipeline_wants_removal(pipeline))
        return status;
    pipeline->pending_order = pending_order;
    orchestrator_pipeline_break_off(pipeline);
    orchestrator_pipeline_begin_after(pipeline, 0);
    return WEIR_OK;
}

/* ---- looking ---- */

bool orchestrator_pipeline_wants_removal(const struct pipeline *pipeline)
{
    return pipeline->pending_order == PENDING_ORDER_REMOVE ||
           pipeline->pending_order == PENDING_ORDER_RERUN;
}

bool orchestrator_pipeline_is_leaving(const struct pipeline *pipeline)
{
    return orchestrator_pipeline_wants_removal(pipeline) || pipeline->state == PIPELINE_REMOVING ||
           pipeline->state == PIPELINE_REMOVED;
}

enum pending_order orchestrator_pipeline_order_from_name(const char *name)
{
    size_t pending_order = 0;
    while (pending_order + 1 < WEIR_COUNT(PENDING_ORDERS) &&
           !weir_str_equal(PENDING_ORDERS[pending_order], name))
        pending_order++;
    return (enum pending_order)pending_order;
}

const char *orchestrator_pipeline_order(const struct pipeline *pipeline)
{
    return PENDING_ORDERS[pipeline->pending_order];
}

char *orchestrator_pipeline_model_name(const struct pipeline *pipeline, int64_t trigger)
{
    return pipeline->generation == 1
               ? weir_format("%s-%lld", pipeline->config->name, (long long)trigger)
               : weir_format("%s.%lld-%lld", pipeline->config->name,
                             (long long)pipeline->generation, (long long)trigger);
}
