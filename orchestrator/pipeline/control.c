/* What people order of a pipeline: to be taken in, to go on, to stop. */
#include "core/base/clock.h"
#include "core/base/hash.h"
#include "orchestrator/pipeline/pipeline_state.h"

/* ---- taking in ---- */

static enum weir_status add(struct orchestrator *orch, const char *file, struct weir_bytes text,
                            struct orchestrator_config *config, struct pipeline **ret_pipeline,
                            struct weir_error *err)
{
    struct weir_digest digest = weir_digest_of(text);
    char digest_text[WEIR_DIGEST_TEXT_MAX];
    weir_digest_text(&digest, digest_text);
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(
        orch->db, Q_pipeline_add, &rows, err, DB_TEXT(config->name), DB_TEXT(file), DB_BYTES(text),
        DB_TEXT(digest_text), DB_TEXT(config->mode == MODE_LIVE ? "live" : "replay"),
        DB_TEXT(pipeline_state_name(PIPELINE_DECLARING)), DB_I64(weir_now_wall_us()));
    if (status != WEIR_OK)
        return status;
    *ret_pipeline = pipeline_keep(orch, weir_rows_i64(rows, 0, 0), file, text, config);
    return pipeline_load(*ret_pipeline, err);
}

/* Of the first line that is not the same in both; 1, 2, … */
static size_t line_of_difference(struct weir_bytes one, struct weir_bytes other)
{
    size_t line = 1;
    for (size_t i = 0; i < one.size && i < other.size && one.at[i] == other.at[i]; i++)
        line += one.at[i] == '\n';
    return line;
}

enum weir_status orchestrator_pipeline_submit(struct orchestrator *orch, const char *file,
                                              struct weir_bytes text,
                                              struct pipeline **ret_pipeline, bool *ret_is_new,
                                              struct weir_error *err)
{
    WEIR_AUTO(orchestrator_config) config = NULL;
    enum weir_status status = orchestrator_config_parse(file, text, &config, err);
    if (status != WEIR_OK)
        return status;
    struct pipeline *known = orchestrator_pipeline_by_name(orch, config->name);
    *ret_is_new = known == NULL;
    if (known != NULL && !weir_bytes_equal(weir_buf_view(&known->text), text)) {
        return weir_fail(
            err, WEIR_EXISTS,
            "%s:%zu: pipeline %s was begun on this data directory with another file, this is the first "
            "line that differs: give the pipeline a new name, or use another --data-dir",
            file, line_of_difference(weir_buf_view(&known->text), text), config->name);
    }
    if (known == NULL) {
        status = add(orch, file, text, config, &known, err);
        if (status != WEIR_OK)
            return status;
        config = NULL; /* the pipeline's now */
        if (!orch->hold)
            pipeline_begin_after(known, 0);
    }
    *ret_pipeline = known;
    return WEIR_OK;
}

enum weir_status orchestrator_pipeline_run(struct orchestrator *orch, const char *file,
                                           struct weir_bytes text, struct pipeline **ret_pipeline,
                                           struct weir_error *err)
{
    bool is_new = false;
    enum weir_status status =
        orchestrator_pipeline_submit(orch, file, text, ret_pipeline, &is_new, err);
    if (status != WEIR_OK)
        return status;
    struct pipeline *pipeline = *ret_pipeline;
    if (pipeline->state != PIPELINE_FAILED && pipeline->state != PIPELINE_STOPPED) {
        pipeline_begin_after(pipeline, 0);
        return WEIR_OK;
    }
    pipeline->stop_asked = false;
    pipeline->attached = false;
    return pipeline_advance(pipeline, PIPELINE_ON_RESUMED, NULL, NULL)
               ? WEIR_OK
               : weir_fail(err, WEIR_UNAVAILABLE, "pipeline %s cannot be resumed now",
                           pipeline->config->name);
}

/* ---- stopping ---- */

void orchestrator_pipeline_stop(struct pipeline *pipeline)
{
    pipeline->stop_asked = true;
    if (pipeline->state == PIPELINE_READING && pipeline->attached) {
        pipeline_forget_calls(pipeline);
        pipeline_begin_after(pipeline, 0);
    }
}
