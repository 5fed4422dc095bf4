/* See harvest.h. */
#include "orchestrator/comparing/harvest.h"

#include "core/base/clock.h"
#include "core/base/host.h"
#include "core/base/memory.h"
#include "orchestrator/comparing/verdict.h"
#include "orchestrator/context/events.h"

#include <stdlib.h>

/* Borrowed from the rows. */
static struct measured_window *list_windows(const struct weir_rows *rows)
{
    struct measured_window *windows = weir_calloc(weir_rows_count(rows) + 1, sizeof(*windows));
    for (size_t i = 0; i < weir_rows_count(rows); i++)
        windows[i] = (struct measured_window){
            .evaluation = weir_rows_text(rows, i, "name"),
            .metric = weir_rows_text(rows, i, "metric"),
            .from = weir_rows_i64(rows, i, "from_time"),
            .until = weir_rows_i64(rows, i, "to_time"),
            .trigger = weir_rows_i64(rows, i, "trigger"),
            .known_until = weir_rows_i64(rows, i, "until_time"),
            .model = weir_rows_text(rows, i, "model"),
            .is_defined = !weir_rows_is_null(rows, i, "value"),
            .value = weir_rows_f64(rows, i, "value"),
            .samples = weir_rows_i64(rows, i, "samples"),
        };
    return windows;
}

/* `from` and `until` in microseconds, exact; the time of day is for people. */
static json_t *window_json(const struct measured_window *window)
{
    return JSON_FIELDS(
        JSON_TEXT("evaluation", window->evaluation), JSON_TEXT("metric", window->metric),
        JSON_NUMBER("from_us", window->from), JSON_NUMBER("until_us", window->until),
        JSON_TEXT("model", window->model), JSON_NUMBER("trigger", window->trigger),
        JSON_NUMBER("samples", window->samples),
        JSON_NEW("value", window->is_defined ? json_real(window->value) : json_null()));
}

static enum weir_status read_windows(struct context *context, int64_t pipeline, char **ret_text,
                                     struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(context->db, Q_cell_windows, &rows, err, DB_I64(pipeline));
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO_FREE struct measured_window *windows = list_windows(rows);
    size_t count = orchestrator_windows_in_use(windows, weir_rows_count(rows));
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, window_json(&windows[i]));
    *ret_text = json_dumps(list, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(list);
    return *ret_text != NULL ? WEIR_OK
                             : weir_fail(err, WEIR_INTERNAL, "windows that JSON cannot hold");
}

enum weir_status orchestrator_cell_harvest(struct context *context, int64_t comparison,
                                           const char *cell, int64_t pipeline,
                                           struct weir_error *err)
{
    WEIR_AUTO_FREE char *windows = NULL;
    WEIR_AUTO_FREE char *machine = weir_host_text();
    enum weir_status status = read_windows(context, pipeline, &windows, err);
    return status == WEIR_OK
               ? DB_RUN(context->db, Q_cell_done, NULL, err, DB_I64(comparison), DB_TEXT(cell),
                        DB_I64(weir_now_wall_us()), DB_TEXT(WEIR_VERSION), DB_TEXT(machine),
                        DB_TEXT(windows), DB_I64(pipeline))
               : status;
}
