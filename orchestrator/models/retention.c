/* Choosing, and dropping in two steps: a model is `dropping` from the transaction that decides it until its files are
 * gone. */
#include "orchestrator/models/retention.h"

#include "core/base/memory.h"
#include "orchestrator/context/events.h"
#include "orchestrator/models/store.h"

#include <stdlib.h>
#include <string.h>

/* ---- the choice ---- */

/* Number of models that are better; of equals, the newer one is. */
static size_t rank_of(const struct retention_model *models, size_t count, size_t index,
                      bool higher_is_better)
{
    const struct retention_model *one = &models[index];
    size_t better = 0;
    for (size_t i = 0; i < count; i++) {
        const struct retention_model *other = &models[i];
        if (i == index || !other->measured)
            continue;
        bool both = one->defined && other->defined;
        bool equal = both ? other->value == one->value : one->defined == other->defined;
        bool wins = both ? (other->value > one->value) == higher_is_better : other->defined;
        better += equal ? i > index : wins;
    }
    return better;
}

static bool is_wanted(const struct models_settings *settings, const struct retention_model *models,
                      size_t count, size_t index)
{
    if (models[index].active || index + 1 == count || settings->keep == MODELS_KEEP_ALL)
        return true;
    if (settings->keep == MODELS_KEEP_LAST)
        return count - index <= settings->keep_count;
    return !models[index].measured ||
           rank_of(models, count, index, settings->higher_is_better) < settings->keep_count;
}

static bool is_base_of_kept(const struct retention_model *models, size_t count, size_t index,
                            const bool *drop)
{
    for (size_t i = index + 1; i < count; i++)
        if (!drop[i] && strcmp(models[i].base, models[index].id) == 0)
            return true;
    return false;
}

void orchestrator_models_choose_dropped(const struct models_settings *settings,
                                        const struct retention_model *models, size_t count,
                                        bool *drop)
{
    for (size_t i = count; i-- > 0;) /* what is a difference comes after what it differs from */
        drop[i] =
            !is_wanted(settings, models, count, i) && !is_base_of_kept(models, count, i, drop);
}

/* ---- doing it ---- */

struct dropping {
    struct context *context;
    int64_t pipeline;
    const char *model;
};

static enum weir_status effect_dropping(void *subject, const void *what, struct weir_error *err)
{
    const struct dropping *dropping = what;
    (void)subject;
    WEIR_AUTO_FREE char *key = weir_format("model_dropped/%s", dropping->model);
    enum weir_status status =
        DB_RUN(dropping->context->db, Q_model_dropping, NULL, err, DB_TEXT(dropping->model));
    return status == WEIR_OK
               ? orchestrator_event_put(
                     dropping->context,
                     &(struct event_about){dropping->pipeline, 0, key, "model_dropped"},
                     JSON_FIELDS(JSON_TEXT("model", dropping->model)), err)
               : status;
}

enum weir_status orchestrator_models_end_dropping(struct context *context, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(context->db, Q_models_dropping, &rows, err);
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        struct stored_model model = {0};
        status = orchestrator_model_get(context, weir_rows_text(rows, i, "id"), &model, err);
        if (status == WEIR_OK)
            status = orchestrator_model_remove_files(context, &model, err);
        if (status == WEIR_OK)
            status = DB_RUN(context->db, Q_model_dropped, NULL, err, DB_TEXT(model.id));
        orchestrator_model_fini(&model);
    }
    return status;
}

static enum weir_status drop_one(struct context *context, int64_t pipeline, const char *model,
                                 struct weir_error *err)
{
    const struct dropping dropping = {context, pipeline, model};
    return orchestrator_commit(context, effect_dropping, NULL, &dropping, err);
}

static void read_rows(struct weir_rows *rows, struct retention_model *models)
{
    for (size_t i = 0; i < weir_rows_count(rows); i++) {
        bool defined = !weir_rows_is_null(rows, i, "value");
        models[i] = (struct retention_model){
            .id = weir_rows_text(rows, i, "id"),
            .base = weir_rows_text(rows, i, "base"),
            .active = weir_rows_bool(rows, i, "is_active"),
            .measured = weir_rows_bool(rows, i, "is_measured"),
            .defined = defined,
            .value = defined ? weir_rows_f64(rows, i, "value") : 0,
        };
    }
}

static enum weir_status drop_some(struct context *context, const struct pipeline_outline *pipeline,
                                  const struct models_settings *settings, struct weir_error *err)
{
    int64_t number = pipeline->id;
    WEIR_AUTO(weir_rows) rows = NULL;
    const char *by = settings->keep_by == NULL ? "" : orchestrator_metric_label(settings->keep_by);
    enum weir_status status =
        DB_RUN(context->db, Q_models_to_keep, &rows, err, DB_I64(number), DB_TEXT(by));
    if (status != WEIR_OK)
        return status;
    size_t count = weir_rows_count(rows);
    WEIR_AUTO_FREE struct retention_model *models = weir_calloc(count + 1, sizeof(*models));
    WEIR_AUTO_FREE bool *drop = weir_calloc(count + 1, sizeof(*drop));
    read_rows(rows, models);
    orchestrator_models_choose_dropped(settings, models, count, drop);
    for (size_t i = 0; status == WEIR_OK && i < count; i++)
        if (drop[i])
            status = drop_one(context, number, models[i].id, err);
    return status;
}

/* They had their say when a set was chosen. */
static enum weir_status drop_holdouts(struct context *context, int64_t pipeline,
                                      struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(context->db, Q_holdouts_to_drop, &rows, err, DB_I64(pipeline));
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        status = drop_one(context, pipeline, weir_rows_text(rows, i, "id"), err);
    return status;
}

enum weir_status orchestrator_models_retain(struct context *context,
                                            struct pipeline_outline pipeline,
                                            struct weir_error *err)
{
    const struct models_settings *settings = &pipeline.config->models;
    if (settings->keep == MODELS_KEEP_ALL)
        return WEIR_OK;
    enum weir_status status = drop_some(context, &pipeline, settings, err);
    if (status == WEIR_OK)
        status = drop_holdouts(context, pipeline.id, err);
    return status == WEIR_OK ? orchestrator_models_end_dropping(context, err) : status;
}
