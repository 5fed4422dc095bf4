/* Another file for a pipeline: one transaction between two triggers. The file before stays, in memory and in the
 * database, with the newest trigger that was made with it, so that models are used with what they were made with. */
#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/memory.h"
#include "core/config/difference.h"
#include "orchestrator/config/parse.h"
#include "orchestrator/context/events.h"
#include "orchestrator/pipeline/pipeline_state.h"
#include "orchestrator/runs/run.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- files that it had ---- */

/* Takes over what the edition names. */
static void keep_edition(struct pipeline *pipeline, struct pipeline_edition edition)
{
    edition.before = pipeline->editions;
    pipeline->editions = weir_calloc(1, sizeof(edition));
    *pipeline->editions = edition;
}

static enum weir_status load_edition(struct pipeline *pipeline, const struct weir_rows *rows,
                                     size_t row, struct weir_error *err)
{
    struct orchestrator_config *config = NULL;
    const char *file = weir_rows_text(rows, row, "file");
    struct weir_bytes text = weir_rows_bytes(rows, row, "config");
    struct weir_buf copy = {0};
    enum weir_status status = orchestrator_config_parse(file, text, &config, err);
    if (status != WEIR_OK)
        return weir_error_wrap(err, status, "earlier file of pipeline %s", pipeline->config->name);
    weir_buf_append(&copy, text.at, text.size);
    keep_edition(pipeline, (struct pipeline_edition){
                               .until = weir_rows_i64(rows, row, "until_trigger"),
                               .file = weir_strdup(file),
                               .text = copy,
                               .config = config,
                           });
    return WEIR_OK;
}

enum weir_status orchestrator_pipeline_load_editions(struct pipeline *pipeline,
                                                     struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(pipeline->context->db, Q_pipeline_editions, &rows, err, DB_I64(pipeline->id));
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        status = load_edition(pipeline, rows, i, err);
    return status;
}

void orchestrator_pipeline_free_editions(struct pipeline *pipeline)
{
    while (pipeline->editions != NULL) {
        struct pipeline_edition *edition = pipeline->editions;
        pipeline->editions = edition->before;
        free(edition->file);
        weir_buf_fini(&edition->text);
        orchestrator_config_free(edition->config);
        free(edition);
    }
}

/* ---- the edge ---- */

/* Numbers that are written with the edge. */
struct application {
    int64_t until;   /* the newest trigger that is through */
    bool drops_runs; /* of a trigger that begins again */
    bool is_policy_new;
};

static enum weir_status tell(const struct pipeline *pipeline, const struct application *application,
                             struct weir_error *err)
{
    WEIR_AUTO_FREE char *key = weir_format("file_applied/%" PRId64, weir_now_wall_us());
    return orchestrator_event_put(pipeline->context,
                                  &(struct event_about){pipeline->id, 0, key, "file_applied"},
                                  JSON_FIELDS(JSON_TEXT("pipeline", pipeline->config->name),
                                              JSON_TEXT("file", pipeline->next_file),
                                              JSON_NUMBER("after_trigger", application->until)),
                                  err);
}

static enum weir_status effect_applied(struct pipeline *pipeline, const void *what,
                                       struct weir_error *err)
{
    const struct application *application = what;
    struct weir_db *db = pipeline->context->db;
    struct weir_bytes text = weir_buf_view(&pipeline->next_text);
    struct weir_digest digest = weir_digest_of(text);
    char digest_text[WEIR_DIGEST_TEXT_MAX];
    weir_digest_text(&digest, digest_text);
    enum weir_status status =
        DB_RUN(db, Q_pipeline_apply, NULL, err, DB_I64(pipeline->id), DB_TEXT(pipeline->next_file),
               DB_BYTES(text), DB_TEXT(digest_text), DB_BOOL(application->is_policy_new));
    if (status == WEIR_OK && application->until > 0)
        status = DB_RUN(db, Q_pipeline_edition_add, NULL, err, DB_I64(pipeline->id),
                        DB_I64(application->until), DB_TEXT(pipeline->file),
                        DB_BYTES(weir_buf_view(&pipeline->text)));
    if (status == WEIR_OK && application->drops_runs)
        status = DB_RUN(db, Q_runs_drop, NULL, err, DB_I64(pipeline->id));
    return status == WEIR_OK ? tell(pipeline, application, err) : status;
}

/* In memory as the edge has written it. Evaluations that are under way may still look at the file before. */
static void take_over(struct pipeline *pipeline, int64_t until, struct orchestrator_config *config)
{
    keep_edition(pipeline, (struct pipeline_edition){.until = until,
                                                     .file = pipeline->file,
                                                     .text = pipeline->text,
                                                     .config = pipeline->config});
    pipeline->file = WEIR_TAKE(pipeline->next_file);
    pipeline->text = pipeline->next_text;
    pipeline->next_text = (struct weir_buf){0};
    pipeline->config = config;
    pipeline->attached = false;
    pipeline->pending_order = PENDING_ORDER_NONE;
    orchestrator_warm_end(pipeline->all->runs->warm, pipeline->id, "its pipeline has another file");
}

/* The trigger that is not through began with the file before: it ends with it, unless the pipeline rests. */
static enum weir_status prepare(struct pipeline *pipeline, const struct orchestrator_config *next,
                                struct application *ret_application, bool *ret_waits,
                                struct weir_error *err)
{
    bool is_at_rest = orchestrator_pipeline_at_rest(pipeline->state);
    enum weir_status status = orchestrator_pipeline_load(pipeline, err);
    bool is_through = status == WEIR_OK && orchestrator_pipeline_is_through(pipeline);
    if (status == WEIR_OK && is_at_rest && !is_through)
        status = orchestrator_pipeline_drop_runs(pipeline, err);
    *ret_waits = !is_through && !is_at_rest;
    *ret_application = (struct application){
        .until = is_through ? pipeline->newest.number : pipeline->newest.number - 1,
        .drops_runs = is_at_rest && !is_through,
        .is_policy_new = !cfg_are_equal(pipeline->config->trigger, next->trigger),
    };
    return status;
}

bool orchestrator_pipeline_take_file(struct pipeline *pipeline)
{
    struct weir_error err;
    struct application application;
    bool waits = false;
    WEIR_AUTO(orchestrator_config) next = NULL;
    enum weir_status status = orchestrator_config_parse(
        pipeline->next_file, weir_buf_view(&pipeline->next_text), &next, &err);
    if (status == WEIR_OK)
        status = prepare(pipeline, next, &application, &waits, &err);
    if (status != WEIR_OK) {
        orchestrator_pipeline_trouble(pipeline, status, &err);
        return true;
    }
    if (waits)
        return false;
    orchestrator_pipeline_break_off(pipeline);
    if (orchestrator_pipeline_advance(pipeline, PIPELINE_ON_APPLIED, effect_applied, &application))
        take_over(pipeline, application.until, WEIR_TAKE(next));
    return true;
}
