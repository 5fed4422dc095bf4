/* See doctor_models.h. */
#include "orchestrator/topics/doctor_models.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "orchestrator/models/content.h"
#include "orchestrator/topics/finding.h"

#include <stdlib.h>

enum { PAGE_MODELS = 32 /* few: what a step does not come to is asked for again */, STEP_MS = 10 };

struct doctor_models {
    doctor_models_fn *done;
    json_t *findings; /* the call's */
    char *after;      /* id of the newest that was looked at */
    size_t fine, looked_at;
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

/* True: its file is what was stored, and so is its fitted state. */
static bool check_model(struct context *context, const struct stored_model *model, json_t *findings)
{
    struct model_content content = {.mapped = NULL};
    WEIR_AUTO_BUF fitted = {0};
    struct weir_error err;
    bool is_fine = true;
    enum weir_status status = orchestrator_model_content(context, model, &content, &err);
    orchestrator_model_content_fini(&content);
    if (status != WEIR_OK) {
        say_damaged(findings, err.text, model->checksum);
        is_fine = false;
    }
    if (orchestrator_model_fitted(context, model, &fitted, &err) != WEIR_OK) {
        say_damaged(findings, err.text, model->fitted_checksum);
        is_fine = false;
    }
    return is_fine;
}

static void end(struct topic_call *call)
{
    struct doctor_models *models = call->models;
    call->models = NULL;
    call->forget = NULL;
    free(models->after);
    free(models);
}

static void forget(struct topic_call *call)
{
    weir_loop_cancel(call->context->loop, call->timer);
    end(call);
}

/* Looks at models of the page until a step is over; true: at the last of all. */
static bool look(struct topic_call *call, struct weir_rows *page)
{
    struct doctor_models *models = call->models;
    const int64_t until_ms = weir_now_ms() + STEP_MS;
    const size_t count = weir_rows_count(page);
    size_t i = 0;
    for (; i < count && (i == 0 || weir_now_ms() < until_ms); i++) {
        struct stored_model model;
        orchestrator_model_row(page, i, &model);
        free(models->after);
        models->after = weir_strdup(model.id);
        if (!orchestrator_model_is_live(&model))
            continue; /* its file may be gone on purpose */
        models->looked_at++;
        models->fine += check_model(call->context, &model, models->findings);
    }
    return i == count && count < PAGE_MODELS;
}

static void step(void *owner)
{
    struct topic_call *call = owner;
    struct doctor_models *models = call->models;
    struct weir_error err;
    WEIR_AUTO(weir_rows) page = NULL;
    if (DB_RUN(call->context->db, Q_model_after, &page, &err, DB_TEXT(models->after),
               DB_I64(PAGE_MODELS)) != WEIR_OK) {
        end(call);
        orchestrator_topic_refuse(call, &err);
        return;
    }
    if (!look(call, page)) {
        call->timer = weir_loop_timer(call->context->loop, 0, 0, step, call);
        return;
    }
    if (models->fine == models->looked_at) {
        WEIR_AUTO_FREE char *found = weir_format("%zu models have their checksum", models->fine);
        say(models->findings, "fine", found, "", "");
    }
    doctor_models_fn *done = models->done;
    end(call);
    done(call);
}

void orchestrator_doctor_models(struct topic_call *call, doctor_models_fn *done)
{
    call->models = weir_calloc(1, sizeof(*call->models));
    *call->models = (struct doctor_models){
        .done = done,
        .findings = json_object_get(call->collected, "findings"),
        .after = weir_strdup(""),
    };
    call->forget = forget;
    step(call);
}
