/* One statement, however much has happened. */
#include "orchestrator/live/recent.h"

#include "core/base/utf8.h"
#include "orchestrator/context/events.h"
#include "orchestrator/live/excerpt.h"
#include "orchestrator/screen/lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES_MAX = 2000 };

/* Numbers of the pipelines that a tenant sees, a line each. */
static void list_seen(const struct pipelines *pipelines, const char *tenant, struct weir_buf *out)
{
    for (const struct pipeline *pipeline = pipelines->first; pipeline != NULL;
         pipeline = orchestrator_pipeline_next(pipeline))
        if (orchestrator_pipeline_is_seen_by(pipeline, tenant))
            weir_buf_printf(out, "%s%" PRId64, out->size == 0 ? "" : "\n",
                            orchestrator_pipeline_id(pipeline));
}

static enum weir_status read(const struct pipelines *pipelines, const struct live_scope *scope,
                             struct weir_rows **ret_rows, struct weir_error *err)
{
    struct weir_db *db = pipelines->context->db;
    WEIR_AUTO_BUF seen = {0};
    if (scope->tenant[0] == '\0')
        return DB_RUN(db, Q_event_recent, ret_rows, err, DB_I64(scope->log.number),
                      DB_I64(LIVE_LINES_MAX));
    list_seen(pipelines, scope->tenant, &seen);
    return DB_RUN(db, Q_event_recent_of, ret_rows, err, DB_I64(scope->log.number),
                  DB_I64(LIVE_LINES_MAX), DB_TEXT(weir_buf_text(&seen)));
}

/* The event that a browser is sent; empty for one that people need not see. */
static void put_frame(const struct pipelines *pipelines, const struct weir_rows *rows, size_t row,
                      struct weir_buf *frame)
{
    WEIR_AUTO_BUF line = {0};
    int64_t number = weir_rows_i64(rows, row, "number");
    const struct pipeline *pipeline =
        orchestrator_pipeline_by_id(pipelines, weir_rows_i64(rows, row, "pipeline"));
    json_t *event = orchestrator_json_of(weir_rows_text(rows, row, "json"));
    json_t *excerpt = orchestrator_live_event(event);
    orchestrator_screen_line_of(excerpt, &line);
    json_decref(excerpt);
    json_decref(event);
    if (line.size == 0)
        return;
    weir_utf8_shorten(&line, LINE_BYTES_MAX);
    json_t *told = JSON_FIELDS(
        JSON_NUMBER("number", number), JSON_TIME("at", weir_rows_i64(rows, row, "at_us")),
        JSON_TEXT_OR_NULL("of",
                          pipeline != NULL ? orchestrator_pipeline_config(pipeline)->name : NULL),
        JSON_TEXT("line", weir_buf_text(&line) + strspn(weir_buf_text(&line), " ")));
    char *json = json_dumps(told, JSON_COMPACT | JSON_PRESERVE_ORDER);
    if (json != NULL)
        weir_buf_printf(frame, "id: %" PRId64 "\nevent: line\ndata: %s\n\n", number, json);
    free(json);
    json_decref(told);
}

bool orchestrator_live_recent_read(const struct pipelines *pipelines, struct live_scope *scope)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    struct weir_error err;
    size_t before = scope->log.count;
    int64_t newest = pipelines->context->event_shown;
    if (scope->log.number >= newest || read(pipelines, scope, &rows, &err) != WEIR_OK)
        return false; /* what cannot be read is read in the next round */
    for (size_t i = 0; i < weir_rows_count(rows); i++) {
        WEIR_AUTO_BUF frame = {0};
        put_frame(pipelines, rows, i, &frame);
        if (frame.size > 0)
            orchestrator_live_log_add(&scope->log, weir_rows_i64(rows, i, "number"),
                                      weir_buf_view(&frame));
    }
    scope->log.number = scope->log.number > newest ? scope->log.number : newest;
    return scope->log.count > before;
}
