/* Judging models, and making one of them active. */
#include "orchestrator/judging/promotion.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "orchestrator/context/events.h"
#include "orchestrator/models/store.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool orchestrator_models_judge(const struct promotion_case *measured)
{
    if (!measured->candidate_defined || !measured->active_defined)
        return false;
    double gain = measured->candidate - measured->active;
    return (measured->higher_is_better ? gain : -gain) >= -measured->not_worse_by;
}

/* ---- what is kept of a decision ---- */

struct decision {
    int64_t pipeline;
    const char *model;
    bool promoted;
    const char *reason;
};

/* Stores a decision. `ret_row`, unless it is NULL: its number, and the model that was active until now. */
static enum weir_status keep(struct context *context, const struct decision *decision,
                             struct weir_rows **ret_row, struct weir_error *err)
{
    enum weir_status status =
        DB_RUN(context->db, Q_promotion_add, ret_row, err, DB_I64(decision->pipeline),
               DB_TEXT(decision->model), DB_BOOL(decision->promoted), DB_TEXT(decision->reason),
               DB_I64(weir_now_wall_us()));
    if (status == WEIR_OK && decision->promoted) {
        status = DB_RUN(context->db, Q_pipeline_activate, NULL, err, DB_I64(decision->pipeline),
                        DB_TEXT(decision->model));
    }
    return status;
}

static enum weir_status keep_and_tell(struct context *context, const struct decision *decision,
                                      struct weir_error *err)
{
    WEIR_AUTO(weir_rows) row = NULL;
    enum weir_status status = keep(context, decision, &row, err);
    if (status != WEIR_OK)
        return status;
    const char *event = decision->promoted ? "model_promoted" : "model_kept_back";
    WEIR_AUTO_FREE char *key = weir_format("%s/%" PRId64, event, weir_rows_i64(row, 0, "number"));
    return orchestrator_event_put(context, &(struct event_about){decision->pipeline, 0, key, event},
                                  JSON_FIELDS(JSON_TEXT("model", decision->model),
                                              JSON_TEXT(decision->promoted ? "previous" : "active",
                                                        weir_rows_text(row, 0, "previous")),
                                              JSON_TEXT("reason", decision->reason)),
                                  err);
}

enum weir_status orchestrator_promote(struct context *context, int64_t pipeline, const char *model,
                                      const char *reason, struct weir_error *err)
{
    return keep_and_tell(context, &(struct decision){pipeline, model, true, reason}, err);
}

enum weir_status orchestrator_promotion_stored(struct context *context,
                                               struct pipeline_outline pipeline, const char *active,
                                               const char *model, struct weir_error *err)
{
    int64_t number = pipeline.id;
    bool compares = pipeline.config->promote.metric != NULL;
    if (compares)
        return active[0] == '\0'
                   ? orchestrator_promote(context, number, model, "the first one", err)
                   : WEIR_OK;
    return keep(context, &(struct decision){number, model, true, "the newest one"}, NULL, err);
}

/* ---- judging ---- */

enum verdict { JUDGED, AWAITED };

struct judge {
    struct context *context;
    const struct pipeline_outline *pipeline;
    const struct promote_settings *settings;
    const char *metric;
    struct promotion_wait *wait;
};

static enum weir_status effect_judged(void *subject, const void *what, struct weir_error *err)
{
    return keep_and_tell(subject, what, err);
}

static enum weir_status commit(const struct judge *judge, const char *model, bool promoted,
                               const char *reason, struct weir_error *err)
{
    const struct decision decision = {judge->pipeline->id, model, promoted, reason};
    return orchestrator_commit(judge->context, effect_judged, judge->context, &decision, err);
}

static enum weir_status compare(const struct judge *judge, const char *candidate,
                                const struct weir_rows *row, struct weir_error *err)
{
    struct promotion_case measured = {
        .higher_is_better = orchestrator_metric_of(judge->settings->metric)->higher_is_better,
        .not_worse_by = judge->settings->not_worse_by,
        .candidate_defined = !weir_rows_is_null(row, 0, "candidate"),
        .active_defined = !weir_rows_is_null(row, 0, "active"),
    };
    WEIR_AUTO_BUF reason = {0};
    weir_buf_printf(&reason, "%s of %s: ", judge->metric, weir_rows_text(row, 0, "name"));
    if (measured.candidate_defined && measured.active_defined) {
        measured.candidate = weir_rows_f64(row, 0, "candidate");
        measured.active = weir_rows_f64(row, 0, "active");
        weir_buf_printf(&reason, "%.6g, the active one has %.6g", measured.candidate,
                        measured.active);
    } else {
        weir_buf_append_text(&reason, "undefined");
    }
    return commit(judge, candidate, orchestrator_models_judge(&measured), weir_buf_text(&reason),
                  err);
}

/* Requests that the active model is measured where the candidate was. Returns false when that was in vain before. */
static bool request_tasks(const struct judge *judge, const char *candidate, const char *active,
                          const struct weir_rows *row, struct evaluation_tasks *tasks)
{
    const struct orchestrator_config *config = judge->pipeline->config;
    if (weir_str_equal(judge->wait->requested_for, candidate))
        return false;
    free(judge->wait->requested_for);
    judge->wait->requested_for = weir_strdup(candidate);
    const struct orchestrator_evaluation *evaluation =
        orchestrator_config_evaluation(config, weir_rows_text(row, 0, "name"));
    if (evaluation != NULL)
        orchestrator_evaluation_tasks_add(tasks, active, (size_t)(evaluation - config->evaluations),
                                          weir_rows_i64(row, 0, "from_time"),
                                          weir_rows_i64(row, 0, "to_time"));
    return true;
}

static enum weir_status judge_one(const struct judge *judge, const char *candidate,
                                  int64_t until_time, struct evaluation_tasks *tasks,
                                  enum verdict *ret_verdict, struct weir_error *err)
{
    int64_t pipeline = judge->pipeline->id;
    WEIR_AUTO(weir_rows) active = NULL;
    WEIR_AUTO(weir_rows) measures = NULL;
    enum weir_status status =
        DB_RUN(judge->context->db, Q_model_active, &active, err, DB_I64(pipeline));
    if (status == WEIR_OK) {
        status = DB_RUN(judge->context->db, Q_promotion_measures, &measures, err, DB_I64(pipeline),
                        DB_TEXT(candidate), DB_TEXT(weir_rows_text(active, 0, "model")),
                        DB_TEXT(judge->metric), DB_TEXT(judge->settings->evaluation),
                        DB_I64(until_time));
    }
    if (status != WEIR_OK)
        return status;
    bool is_measured = weir_rows_count(measures) > 0;
    *ret_verdict = JUDGED;
    if (is_measured && weir_rows_bool(measures, 0, "has_active"))
        return compare(judge, candidate, measures, err);
    if (is_measured &&
        !request_tasks(judge, candidate, weir_rows_text(active, 0, "model"), measures, tasks))
        return commit(judge, candidate, false, "the active model could not be measured there", err);
    if (!is_measured && judge->wait->is_last)
        return commit(judge, candidate, false, "never measured", err);
    *ret_verdict = AWAITED;
    return WEIR_OK;
}

enum weir_status orchestrator_promotions_judge(struct context *context,
                                               struct pipeline_outline pipeline,
                                               struct promotion_wait *wait,
                                               struct evaluation_tasks *tasks,
                                               struct weir_error *err)
{
    const struct promote_settings *settings = &pipeline.config->promote;
    if (settings->metric == NULL)
        return WEIR_OK;
    const struct judge judge = {context, &pipeline, settings,
                                orchestrator_metric_label(settings->metric), wait};
    enum verdict verdict = JUDGED;
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(context->db, Q_promotion_candidates, &rows, err, DB_I64(pipeline.id));
    for (size_t i = 0; status == WEIR_OK && verdict == JUDGED && i < weir_rows_count(rows); i++) {
        status = judge_one(&judge, weir_rows_text(rows, i, "id"),
                           weir_rows_i64(rows, i, "until_time"), tasks, &verdict, err);
    }
    return status;
}
