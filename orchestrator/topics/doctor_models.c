/* See doctor_models.h. */
#include "orchestrator/topics/doctor_models.h"

#include "core/base/memory.h"
#include "core/loop/work.h"
#include "orchestrator/models/content.h"
#include "orchestrator/topics/finding.h"

#include <stdlib.h>

enum { PAGE_MODELS = 32 };

struct doctor_models {
    struct topic_call *call;
    doctor_models_fn *done;
    struct weir_rows *page;
    size_t next;   /* row of it */
    char *after;   /* id of the newest that was looked at */
    bool is_again; /* it was not what its row said, which may have changed meanwhile */
    size_t fine, looked_at;
    struct weir_work *work;
    /* Of the thread, until it is done: */
    const struct context *context;
    struct stored_model model; /* of the page */
    struct model_chain chain;
    struct weir_error content_err, fitted_err;
    enum weir_status content, fitted;
};

static void say(json_t *findings, const char *verdict, const char *found, const char *expected,
                const char *advice)
{
    orchestrator_finding_add(findings, "dataset", json_string(""),
                             &(struct finding){"models", verdict, found, expected, advice});
}

static void say_damaged(json_t *findings, const char *found, const char *expected)
{
    say(findings, "wrong", found, expected,
        "restore the file from a backup, or train the model again");
}

/* ---- on a thread ---- */

static void examine(struct weir_work *work, void *owner)
{
    struct doctor_models *models = owner;
    struct model_content content = {.mapped = NULL};
    WEIR_AUTO_BUF fitted = {0};
    (void)work;
    if (models->content == WEIR_OK)
        models->content = orchestrator_model_content_by(
            models->context, &models->model, &models->chain, &content, &models->content_err);
    orchestrator_model_content_fini(&content);
    models->fitted =
        orchestrator_model_fitted(models->context, &models->model, &fitted, &models->fitted_err);
}

/* ---- in the loop ---- */

static void models_free(struct doctor_models *models)
{
    orchestrator_model_chain_fini(&models->chain);
    weir_rows_free(models->page);
    free(models->after);
    free(models);
}

static void on_gone(void *owner)
{
    models_free(owner);
}

static void forget(struct topic_call *call)
{
    weir_work_abandon(call->models->work, on_gone);
    call->models = NULL;
}

static void end(struct doctor_models *models)
{
    models->call->models = NULL;
    models->call->forget = NULL;
    models_free(models);
}

static void finish(struct doctor_models *models)
{
    struct topic_call *call = models->call;
    doctor_models_fn *done = models->done;
    if (models->fine == models->looked_at) {
        WEIR_AUTO_FREE char *found = weir_format("%zu models have their checksum", models->fine);
        say(json_object_get(call->collected, "findings"), "fine", found, "", "");
    }
    end(models);
    done(call);
}

static void next(struct doctor_models *models);

static void count(struct doctor_models *models)
{
    json_t *findings = json_object_get(models->call->collected, "findings");
    if (models->content != WEIR_OK)
        say_damaged(findings, models->content_err.text, models->model.checksum);
    if (models->fitted != WEIR_OK)
        say_damaged(findings, models->fitted_err.text, models->model.fitted_checksum);
    models->looked_at++;
    models->fine += models->content == WEIR_OK && models->fitted == WEIR_OK;
}

/* Looks at a damaged model twice: its file may have been let go, or stored in another way, since its row was read. */
static void on_examined(void *owner)
{
    struct doctor_models *models = owner;
    bool is_fine = models->content == WEIR_OK && models->fitted == WEIR_OK;
    models->work = NULL;
    orchestrator_model_chain_fini(&models->chain);
    if (!is_fine && !models->is_again) {
        models->is_again = true;
        weir_rows_free(models->page);
        models->page = NULL; /* as the rows are now, from this model on */
    } else {
        models->is_again = false;
        count(models);
        free(models->after);
        models->after = weir_strdup(models->model.id);
        models->next++;
    }
    next(models);
}

static enum weir_status turn_page(struct doctor_models *models, struct weir_error *err)
{
    weir_rows_free(models->page);
    models->page = NULL;
    models->next = 0;
    return DB_RUN(models->call->context->db, Q_model_after, &models->page, err,
                  DB_TEXT(models->after), DB_I64(PAGE_MODELS));
}

/* Finds the next model whose file is to be there; `*ret_found` is false after the last of all. */
static enum weir_status find_next(struct doctor_models *models, bool *ret_found,
                                  struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    *ret_found = false;
    while (status == WEIR_OK) {
        bool is_read = models->page == NULL || models->next == weir_rows_count(models->page);
        if (is_read)
            status = turn_page(models, err);
        if (status != WEIR_OK || weir_rows_count(models->page) == 0)
            return status;
        orchestrator_model_row(models->page, models->next, &models->model);
        *ret_found = orchestrator_model_is_live(&models->model);
        if (*ret_found)
            return WEIR_OK;
        free(models->after);
        models->after = weir_strdup(models->model.id);
        models->is_again = false;
        models->next++;
    }
    return status;
}

/* A model whose base is gone is damaged. */
static enum weir_status find_chain(struct doctor_models *models, struct weir_error *err)
{
    enum weir_status status =
        orchestrator_model_chain(models->call->context, &models->model, &models->chain, err);
    bool is_damaged = status == WEIR_NOT_FOUND || status == WEIR_CORRUPT;
    models->content = is_damaged ? status : WEIR_OK;
    if (is_damaged)
        models->content_err = *err;
    return is_damaged ? WEIR_OK : status;
}

static void next(struct doctor_models *models)
{
    struct topic_call *call = models->call;
    struct weir_error err;
    bool is_found = false;
    enum weir_status status = find_next(models, &is_found, &err);
    if (status == WEIR_OK && is_found)
        status = find_chain(models, &err);
    if (status != WEIR_OK) {
        end(models);
        orchestrator_topic_refuse(call, &err);
    } else if (!is_found) {
        finish(models);
    } else {
        models->work = weir_work_enqueue(call->context->measurings, examine, on_examined, models);
    }
}

void orchestrator_doctor_models(struct topic_call *call, doctor_models_fn *done)
{
    struct doctor_models *models = weir_calloc(1, sizeof(*models));
    *models = (struct doctor_models){
        .call = call,
        .done = done,
        .context = call->context,
        .after = weir_strdup(""),
    };
    call->models = models;
    call->forget = forget;
    next(models);
}
