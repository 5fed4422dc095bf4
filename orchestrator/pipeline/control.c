/* What people order of a pipeline: to be taken in, to pause, stop, go on, or go. An order that has
 * to wait is a wish, in the pipeline's row, so that it comes about whoever dies meanwhile. */
#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/memory.h"
#include "orchestrator/context/events.h"
#include "orchestrator/pipeline/pipeline_state.h"

static const char *const WISHES[] = {
#define X(name, text) [WISH_##name] = (text),
    PIPELINE_WISH_LIST(X)
#undef X
};

static bool rests_until_resumed(const struct pipeline *pipeline)
{
    return pipeline->state == PIPELINE_FAILED || pipeline->state == PIPELINE_STOPPED ||
           pipeline->state == PIPELINE_PAUSED;
}

/* ---- taking in ---- */

enum weir_status pipeline_add_row(struct pipelines *pipelines, const char *file,
                                  struct weir_bytes text, const struct orchestrator_config *config,
                                  int64_t *ret_id, struct weir_error *err)
{
    struct weir_digest digest = weir_digest_of(text);
    char digest_text[WEIR_DIGEST_TEXT_MAX];
    weir_digest_text(&digest, digest_text);
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(pipelines->context->db, Q_pipeline_add, &rows, err, DB_TEXT(config->name),
               DB_TEXT(file), DB_BYTES(text), DB_TEXT(digest_text),
               DB_TEXT(config->mode == MODE_LIVE ? "live" : "replay"),
               DB_TEXT(pipeline_state_name(PIPELINE_DECLARING)), DB_I64(weir_now_wall_us()));
    if (status == WEIR_OK)
        *ret_id = weir_rows_i64(rows, 0, 0);
    return status;
}

enum weir_status pipeline_begin_new(struct pipelines *pipelines, int64_t id, const char *file,
                                    struct weir_bytes text, struct orchestrator_config *config,
                                    struct weir_error *err)
{
    struct pipeline *pipeline = pipeline_keep(pipelines, id, file, text, config);
    enum weir_status status = pipeline_load(pipeline, err);
    if (status == WEIR_OK && !pipelines->are_held)
        pipeline_begin_after(pipeline, 0);
    return status;
}

/* Of the first line that is not the same in both; 1, 2, … */
static size_t line_of_difference(struct weir_bytes one, struct weir_bytes other)
{
    size_t line = 1;
    for (size_t i = 0; i < one.size && i < other.size && one.at[i] == other.at[i]; i++)
        line += one.at[i] == '\n';
    return line;
}

enum weir_status orchestrator_pipeline_submit(struct pipelines *pipelines, const char *file,
                                              struct weir_bytes text,
                                              struct pipeline **ret_pipeline, bool *ret_is_new,
                                              struct weir_error *err)
{
    WEIR_AUTO(orchestrator_config) config = NULL;
    enum weir_status status = orchestrator_config_parse(file, text, &config, err);
    if (status != WEIR_OK)
        return status;
    struct pipeline *known = orchestrator_pipeline_by_name(pipelines, config->name);
    *ret_is_new = known == NULL;
    if (known != NULL && !weir_bytes_equal(weir_buf_view(&known->text), text)) {
        return weir_fail(
            err, WEIR_EXISTS,
            "%s:%zu: pipeline %s was begun on this data directory with another file, this is the first "
            "line that differs: give the pipeline a new name, use another --data-dir, or weir remove %s first",
            file, line_of_difference(weir_buf_view(&known->text), text), config->name,
            config->name);
    }
    *ret_pipeline = known;
    if (known != NULL)
        return WEIR_OK;
    int64_t id = 0;
    status = pipeline_add_row(pipelines, file, text, config, &id, err);
    if (status == WEIR_OK)
        status = pipeline_begin_new(pipelines, id, file, text, WEIR_TAKE(config), err);
    *ret_pipeline = pipelines->first;
    return status;
}

enum weir_status orchestrator_pipeline_run(struct pipelines *pipelines, const char *file,
                                           struct weir_bytes text, struct pipeline **ret_pipeline,
                                           struct weir_error *err)
{
    bool is_new = false;
    enum weir_status status =
        orchestrator_pipeline_submit(pipelines, file, text, ret_pipeline, &is_new, err);
    if (status != WEIR_OK)
        return status;
    struct pipeline *pipeline = *ret_pipeline;
    if (rests_until_resumed(pipeline) || pipeline->wish == WISH_PAUSE)
        return orchestrator_pipeline_resume(pipeline, err);
    pipeline_begin_after(pipeline, 0);
    return WEIR_OK;
}

/* ---- telling ---- */

/* An edge that people have ordered is told each time: `what` names the event. */
static enum weir_status effect_told(struct pipeline *pipeline, const void *what,
                                    struct weir_error *err)
{
    const char *event = what;
    WEIR_AUTO_FREE char *key = weir_format("%s/%lld", event, (long long)weir_now_wall_us());
    return orchestrator_event_put(pipeline->context,
                                  &(struct event_about){pipeline->id, 0, key, event},
                                  json_pack("{ss}", "pipeline", pipeline->config->name), err);
}

static enum weir_status write_wish(struct pipeline *pipeline, enum pipeline_wish wish,
                                   struct weir_error *err)
{
    return DB_RUN(pipeline->context->db, Q_pipeline_wish, NULL, err, DB_I64(pipeline->id),
                  DB_TEXT(WISHES[wish]));
}

/* The wish, if there was one, has come about. */
static enum weir_status effect_granted(struct pipeline *pipeline, const void *what,
                                       struct weir_error *err)
{
    enum weir_status status = write_wish(pipeline, WISH_NONE, err);
    return status == WEIR_OK ? effect_told(pipeline, what, err) : status;
}

static enum weir_status fail_busy(const struct pipeline *pipeline, struct weir_error *err)
{
    return weir_fail(err, WEIR_UNAVAILABLE, "pipeline %s: the database is away, try again",
                     pipeline->config->name);
}

static enum weir_status order(struct pipeline *pipeline, enum pipeline_event event,
                              const char *told, struct weir_error *err)
{
    pipeline_break_off(pipeline);
    if (!pipeline_advance(pipeline, event, effect_granted, told))
        return fail_busy(pipeline, err);
    pipeline->wish = WISH_NONE;
    return WEIR_OK;
}

static enum weir_status fail_state(const struct pipeline *pipeline, const char *verb,
                                   const char *advice, struct weir_error *err)
{
    return weir_fail(err, WEIR_UNSUPPORTED, "pipeline %s is %s and cannot be %s: %s",
                     pipeline->config->name, pipeline_state_name(pipeline->state), verb, advice);
}

/* ---- pause, stop, resume ---- */

static bool may_take(const struct pipeline *pipeline, enum pipeline_event event)
{
    enum pipeline_state to;
    return pipeline_next_state(pipeline->state, event, &to);
}

bool pipeline_grant_wish(struct pipeline *pipeline)
{
    if (pipeline->wish == WISH_PAUSE && may_take(pipeline, PIPELINE_ON_PAUSED)) {
        pipeline_break_off(pipeline);
        if (pipeline_advance(pipeline, PIPELINE_ON_PAUSED, effect_granted, "pipeline_paused"))
            pipeline->wish = WISH_NONE;
        return true;
    }
    if (pipeline_wants_removal(pipeline) && may_take(pipeline, PIPELINE_ON_REMOVED)) {
        (void)pipeline_advance(pipeline, PIPELINE_ON_REMOVED, effect_told, "pipeline_removing");
        return true;
    }
    return false;
}

enum weir_status orchestrator_pipeline_pause(struct pipeline *pipeline, struct weir_error *err)
{
    if (pipeline->state == PIPELINE_PAUSED)
        return WEIR_OK;
    if (pipeline_at_rest(pipeline->state) || pipeline_wants_removal(pipeline))
        return fail_state(pipeline, "paused", "nothing of it is under way", err);
    if (may_take(pipeline, PIPELINE_ON_PAUSED))
        return order(pipeline, PIPELINE_ON_PAUSED, "pipeline_paused", err);
    enum weir_status status = write_wish(pipeline, WISH_PAUSE, err);
    if (status == WEIR_OK)
        pipeline->wish = WISH_PAUSE;
    return status;
}

enum weir_status orchestrator_pipeline_stop(struct pipeline *pipeline, struct weir_error *err)
{
    if (pipeline->state == PIPELINE_STOPPED)
        return WEIR_OK;
    if (!may_take(pipeline, PIPELINE_ON_STOPPED) || pipeline_wants_removal(pipeline))
        return fail_state(pipeline, "stopped", "nothing of it is under way", err);
    enum weir_status status = order(pipeline, PIPELINE_ON_STOPPED, "pipeline_stopped", err);
    if (status == WEIR_OK)
        pipeline_end_feed(pipeline, NULL);
    return status;
}

enum weir_status orchestrator_pipeline_resume(struct pipeline *pipeline, struct weir_error *err)
{
    if (pipeline->state == PIPELINE_FINISHED || pipeline_wants_removal(pipeline))
        return fail_state(pipeline, "resumed", "weir rerun begins it again from its first sample",
                          err);
    if (rests_until_resumed(pipeline)) {
        pipeline->attached = false;
        return order(pipeline, PIPELINE_ON_RESUMED, "pipeline_resumed", err);
    }
    enum weir_status status =
        pipeline->wish == WISH_NONE ? WEIR_OK : write_wish(pipeline, WISH_NONE, err);
    if (status == WEIR_OK)
        pipeline->wish = WISH_NONE;
    return status;
}

/* ---- remove, rerun ---- */

enum weir_status orchestrator_pipeline_remove(struct pipeline *pipeline, bool again,
                                              struct weir_error *err)
{
    enum pipeline_wish wish = again ? WISH_RERUN : WISH_REMOVE;
    if (pipeline_wants_removal(pipeline) && pipeline->wish != wish)
        return fail_state(pipeline, again ? "run again" : "removed",
                          "another order is being carried out", err);
    enum weir_status status = write_wish(pipeline, wish, err);
    if (status != WEIR_OK || pipeline_wants_removal(pipeline))
        return status;
    pipeline->wish = wish;
    pipeline_break_off(pipeline);
    pipeline_begin_after(pipeline, 0);
    return WEIR_OK;
}

/* ---- looking ---- */

bool pipeline_wants_removal(const struct pipeline *pipeline)
{
    return pipeline->wish == WISH_REMOVE || pipeline->wish == WISH_RERUN;
}

enum pipeline_wish pipeline_wish_from_name(const char *name)
{
    size_t wish = 0;
    while (wish + 1 < WEIR_COUNT(WISHES) && !weir_str_equal(WISHES[wish], name))
        wish++;
    return (enum pipeline_wish)wish;
}

const char *orchestrator_pipeline_wish(const struct pipeline *pipeline)
{
    return WISHES[pipeline->wish];
}

char *orchestrator_pipeline_model_name(const struct pipeline *pipeline, int64_t trigger)
{
    return pipeline->generation == 1
               ? weir_format("%s-%lld", pipeline->config->name, (long long)trigger)
               : weir_format("%s.%lld-%lld", pipeline->config->name,
                             (long long)pipeline->generation, (long long)trigger);
}
