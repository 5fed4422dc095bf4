/* Ordering exports, and seeing their runs through. */
#include "orchestrator/exports/exports.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/path.h"
#include "orchestrator/context/events.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct export_run {
    struct exports *all;
    LIST_ENTRY(export_run) link;
    int64_t number;
    uint64_t timer;
};

static void run_free(struct export_run *export)
{
    orchestrator_run_forget(export->all->runs, export);
    weir_loop_cancel(export->all->context->loop, export->timer);
    LIST_REMOVE(export, link);
    free(export);
}

/* ---- the run ---- */

static void step(void *owner);

static void begin_after(struct export_run *export, int64_t delay_ms)
{
    struct weir_loop *loop = export->all->context->loop;

    weir_loop_cancel(loop, export->timer);
    export->timer = weir_loop_timer(loop, delay_ms, 0, step, export);
}

/* Trouble that may pass is tried again: so is a run that an erasure has purged, which begins from its front. Of
 * anything else its run tells. */
static void trouble(struct export_run *export, const struct weir_error *err)
{
    struct weir_error problem;

    weir_log(WEIR_LOG_WARN, "export is not done", "export=%" PRId64 " because=\"%s\"",
             export->number, err->text);
    if (orchestrator_may_pass(err->status) ||
        DB_RUN(export->all->context->db, Q_export_failed, NULL, &problem, DB_I64(export->number)) !=
            WEIR_OK)
        begin_after(export, ORCHESTRATOR_AGAIN_MS);
    else
        run_free(export);
}

static const char *name_of(const struct exports *exports, int64_t pipeline)
{
    const struct pipeline *found = orchestrator_pipeline_by_id(exports->pipelines, pipeline);
    return found != NULL ? orchestrator_pipeline_config(found)->name : "";
}

static enum weir_status effect_done(void *subject, const void *what, struct weir_error *err)
{
    const struct export_run *export = subject;
    const struct run_result *run = what;
    struct context *context = export->all->context;
    json_t *audit = orchestrator_json_of(run->audit);
    int64_t rows = json_integer_value(json_object_get(audit, "delivered"));
    WEIR_AUTO_FREE char *key = weir_format("export_finished/%" PRId64, export->number);
    enum weir_status status =
        DB_RUN(context->db, Q_export_done, NULL, err, DB_I64(export->number), DB_I64(rows),
               DB_I64(run->clean_epoch), DB_I64(weir_now_wall_us()));

    if (status == WEIR_OK)
        status = orchestrator_event_put(
            context, &(struct event_about){run->pipeline, 0, key, "export_finished"},
            JSON_FIELDS(JSON_TEXT("pipeline", name_of(export->all, run->pipeline)),
                        JSON_NUMBER("export", export->number), JSON_NUMBER("trigger", run->trigger),
                        JSON_NUMBER("samples", rows), JSON_NEW("audit", json_incref(audit))),
            err);
    json_decref(audit);
    return status;
}

static void on_run(void *owner, const struct run_result *run, const struct weir_error *err)
{
    struct export_run *export = owner;
    struct weir_error problem;

    if (run == NULL) {
        trouble(export, err);
        return;
    }
    struct context *context = export->all->context;
    if (orchestrator_commit(context, effect_done, export, run, &problem) != WEIR_OK) {
        trouble(export, &problem);
        return;
    }
    if (orchestrator_run_remove_files(context, run->number, &problem) != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "files of a finished run stay", "%s", problem.text);
    run_free(export);
}

static json_t *options_json(const struct weir_rows *row)
{
    return JSON_FIELDS(JSON_TEXT("to", weir_rows_text(row, 0, "directory")),
                       JSON_TEXT("format", weir_rows_text(row, 0, "format")),
                       JSON_NUMBER("shard_bytes", weir_rows_i64(row, 0, "shard_bytes")));
}

/* `row` is of Q_export_get, `target` of Q_export_target. */
static enum weir_status start_run(struct export_run *export, const struct pipeline *pipeline,
                                  const struct weir_rows *row, const struct weir_rows *target,
                                  struct weir_error *err)
{
    json_t *options = options_json(row);
    char *text = json_dumps(options, JSON_COMPACT);
    WEIR_AUTO_FREE char *purpose = weir_format("export/%" PRId64, export->number);
    WEIR_AUTO_FREE char *set_path =
        weir_path_in(export->all->context->data_dir, weir_rows_text(target, 0, "set_path"));
    const struct run_wanted wanted = {
        .pipeline = orchestrator_pipeline_outline(pipeline),
        .purpose = purpose,
        .mode = "export",
        .trigger = weir_rows_i64(target, 0, "number"),
        .set_digest = weir_rows_text(target, 0, "set_digest"),
        .set_path = set_path,
        .epochs = 1,
        .seed = orchestrator_pipeline_config(pipeline)->seed,
        .base_model = weir_rows_text_or_null(target, 0, "model"),
        .options = text,
    };
    enum weir_status status =
        orchestrator_run_start(export->all->runs, &wanted, on_run, export, err);
    json_decref(options);
    free(text);
    return status;
}

static enum weir_status start(struct export_run *export, struct weir_error *err)
{
    struct weir_db *db = export->all->context->db;
    WEIR_AUTO(weir_rows) row = NULL;
    WEIR_AUTO(weir_rows) target = NULL;
    enum weir_status status = DB_RUN(db, Q_export_get, &row, err, DB_I64(export->number));
    if (status != WEIR_OK)
        return status;
    int64_t id = weir_rows_i64(row, 0, "pipeline");
    const struct pipeline *pipeline = orchestrator_pipeline_by_id(export->all->pipelines, id);
    if (pipeline == NULL || orchestrator_pipeline_state(pipeline) == PIPELINE_REMOVED)
        return weir_fail(err, WEIR_NOT_FOUND, "export %" PRId64 ": pipeline %s is removed",
                         export->number, weir_rows_text(row, 0, "name"));
    status = DB_RUN(db, Q_export_target, &target, err, DB_I64(id),
                    DB_I64(weir_rows_i64(row, 0, "trigger")));
    return status == WEIR_OK ? start_run(export, pipeline, row, target, err) : status;
}

static void step(void *owner)
{
    struct export_run *export = owner;
    struct weir_error err;

    export->timer = 0;
    if (start(export, &err) != WEIR_OK)
        trouble(export, &err);
}

/* ---- orders ---- */

static void take_up(struct exports *exports, int64_t number)
{
    struct export_run *export;

    LIST_FOREACH (export, &exports->all, link)
        if (export->number == number)
            return;
    export = weir_calloc(1, sizeof(*export));
    export->all = exports;
    export->number = number;
    LIST_INSERT_HEAD(&exports->all, export, link);
    begin_after(export, 0);
}

static bool is_same(const struct weir_rows *known, const struct export_order *order,
                    const struct weir_rows *target)
{
    return weir_rows_i64(known, 0, "pipeline") == orchestrator_pipeline_id(order->pipeline) &&
           weir_rows_i64(known, 0, "trigger") == weir_rows_i64(target, 0, "number") &&
           strcmp(weir_rows_text(known, 0, "set_digest"),
                  weir_rows_text(target, 0, "set_digest")) == 0 &&
           strcmp(weir_rows_text(known, 0, "format"), order->format) == 0;
}

/* The export that has begun in the folder. `*ret_number` stays 0 when a new one may; EXISTS when neither. */
static enum weir_status find_known(const struct exports *exports, const struct export_order *order,
                                   const struct weir_rows *target, const char *folder,
                                   int64_t *ret_number, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) known = NULL;
    bool is_empty = false;
    enum weir_status status = orchestrator_export_folder_is_empty(folder, &is_empty, err);
    if (status == WEIR_OK)
        status = DB_RUN(exports->context->db, Q_export_by_directory, &known, err, DB_TEXT(folder));
    if (status != WEIR_OK)
        return status;
    bool has = weir_rows_count(known) > 0;
    bool is_done = has && strcmp(weir_rows_text(known, 0, "state"), "done") == 0;
    if (has && is_same(known, order, target) && !(is_done && is_empty)) {
        *ret_number = weir_rows_i64(known, 0, "number");
        return WEIR_OK;
    }
    if (has && !is_done)
        return weir_fail(err, WEIR_EXISTS,
                         "%s: export %" PRId64 " of another set or format is not finished there: "
                         "expected another folder",
                         folder, weir_rows_i64(known, 0, "number"));
    return is_empty
               ? WEIR_OK
               : weir_fail(err, WEIR_EXISTS, "%s: is not empty: expected a new folder", folder);
}

static enum weir_status record(const struct exports *exports, const struct export_order *order,
                               const struct weir_rows *target, const char *folder,
                               int64_t *ret_number, struct weir_error *err)
{
    struct weir_db *db = exports->context->db;
    WEIR_AUTO(weir_rows) added = NULL;
    enum weir_status status = find_known(exports, order, target, folder, ret_number, err);
    if (status != WEIR_OK || *ret_number != 0)
        return status != WEIR_OK ? status
                                 : DB_RUN(db, Q_export_reopen, NULL, err, DB_I64(*ret_number));
    status =
        DB_RUN(db, Q_export_add, &added, err, DB_I64(orchestrator_pipeline_id(order->pipeline)),
               DB_I64(weir_rows_i64(target, 0, "number")),
               DB_TEXT(weir_rows_text(target, 0, "set_digest")), DB_TEXT(folder),
               DB_TEXT(order->format), DB_I64(order->shard_bytes), DB_I64(weir_now_wall_us()));
    if (status == WEIR_OK)
        *ret_number = weir_rows_i64(added, 0, "number");
    return status;
}

static enum weir_status find_target(const struct exports *exports, const struct export_order *order,
                                    struct weir_rows **ret_target, struct weir_error *err)
{
    const char *name = orchestrator_pipeline_config(order->pipeline)->name;
    WEIR_AUTO(weir_rows) target = NULL;
    enum weir_status status =
        DB_RUN(exports->context->db, Q_export_target, &target, err,
               DB_I64(orchestrator_pipeline_id(order->pipeline)), DB_I64(order->trigger));
    if (status != WEIR_OK)
        return status;
    if (weir_rows_count(target) == 0 && order->trigger > 0)
        return weir_fail(err, WEIR_NOT_FOUND,
                         "%s@%" PRId64 ": there is no set of that trigger; "
                         "weir sets --pipeline %s lists them",
                         name, order->trigger, name);
    if (weir_rows_count(target) == 0)
        return weir_fail(err, WEIR_NOT_FOUND, "pipeline %s: no trigger has a set yet", name);
    *ret_target = WEIR_TAKE(target);
    return WEIR_OK;
}

enum weir_status orchestrator_export_order(struct exports *exports,
                                           const struct export_order *order, int64_t *ret_number,
                                           struct weir_error *err)
{
    WEIR_AUTO(weir_rows) target = NULL;
    WEIR_AUTO_FREE char *folder = NULL;
    int64_t number = 0;
    enum weir_status status = find_target(exports, order, &target, err);
    if (status == WEIR_OK)
        status =
            orchestrator_export_folder(exports->context->data_dir, order->directory, &folder, err);
    if (status == WEIR_OK)
        status = record(exports, order, target, folder, &number, err);
    if (status != WEIR_OK)
        return status;
    *ret_number = number;
    return orchestrator_exports_load(exports, err);
}

void orchestrator_export_break_off(struct exports *exports, int64_t number)
{
    struct export_run *export;

    LIST_FOREACH (export, &exports->all, link)
        if (export->number == number)
            break;
    if (export != NULL)
        run_free(export);
}

enum weir_status orchestrator_exports_load(struct exports *exports, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(exports->context->db, Q_exports_open, &rows, err);

    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        take_up(exports, weir_rows_i64(rows, i, "number"));
    return status;
}

void orchestrator_exports_free(struct exports *exports)
{
    while (!LIST_EMPTY(&exports->all))
        run_free(LIST_FIRST(&exports->all));
}
