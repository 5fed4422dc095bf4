/* materialize, exports, exports_drop: sets written as folders that other tools read, and how far they are. */
#include "orchestrator/exports/exports.h"

#include "core/wire/export_formats.h"
#include "orchestrator/context/events.h"
#include "orchestrator/topics/topic.h"

#include <string.h>

enum {
    SHARD_BYTES = 1 << 26,
    SHARD_BYTES_MIN = 1 << 10,
    SHARD_BYTES_MAX = 1 << 30,
    PAGE_EXPORTS = 2000 /* of one answer: a message is bounded */
};

/* ---- how they are ---- */

/* Samples of the run that are under way; 0 when it is not. */
static uint64_t samples_so_far(const struct topic_call *call, const struct weir_rows *rows,
                               size_t row)
{
    struct run_progress progress;
    int64_t run = weir_rows_i64(rows, row, "run");

    return run != 0 && orchestrator_run_progress_of(call->all->runs, run, &progress)
               ? progress.samples
               : 0;
}

static json_t *export_json(const struct topic_call *call, const struct weir_rows *rows, size_t row)
{
    const char *state = weir_rows_text(rows, row, "state");
    bool is_done = strcmp(state, "done") == 0;
    uint64_t samples =
        is_done ? (uint64_t)weir_rows_i64(rows, row, "rows") : samples_so_far(call, rows, row);

    return JSON_FIELDS(
        JSON_NUMBER("export", weir_rows_i64(rows, row, "number")),
        JSON_TEXT("pipeline", weir_rows_text(rows, row, "name")),
        JSON_NUMBER("trigger", weir_rows_i64(rows, row, "trigger")),
        JSON_TEXT("digest", weir_rows_text(rows, row, "set_digest")),
        JSON_TEXT("directory", weir_rows_text(rows, row, "directory")),
        JSON_TEXT("format", weir_rows_text(rows, row, "format")), JSON_TEXT("state", state),
        JSON_NUMBER("samples", samples), JSON_NUMBER("set", weir_rows_i64(rows, row, "samples")),
        JSON_TIME("created", weir_rows_i64(rows, row, "created_us")),
        JSON_NEW("finished", is_done
                                 ? orchestrator_json_time(weir_rows_i64(rows, row, "finished_us"))
                                 : json_null()),
        JSON_TEXT_IF_ANY("error",
                         strcmp(state, "failed") == 0 ? weir_rows_text(rows, row, "error") : NULL));
}

static void answer_one(struct topic_call *call, int64_t number)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    struct weir_error err;

    if (DB_RUN(call->context->db, Q_export_get, &rows, &err, DB_I64(number)) != WEIR_OK)
        orchestrator_topic_refuse(call, &err);
    else if (weir_rows_count(rows) == 0)
        topic_fail(call, WEIR_NOT_FOUND, "export %lld: there is none; weir exports lists them",
                   (long long)number);
    else
        orchestrator_topic_answer(call, export_json(call, rows, 0));
}

/* Oldest first. */
static json_t *page_json(const struct topic_call *call, const struct weir_rows *rows)
{
    const struct topic_page shown = orchestrator_topic_page(rows, PAGE_EXPORTS);
    json_t *list = json_array();
    for (size_t i = shown.count; i-- > 0;)
        json_array_append_new(list, export_json(call, rows, i));
    json_t *page = JSON_FIELDS(JSON_NEW("exports", list));
    if (shown.has_older)
        json_object_set_new(page, "before",
                            json_integer(weir_rows_i64(rows, shown.count - 1, "number")));
    return page;
}

void orchestrator_topic_exports(struct topic_call *call)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    struct weir_error err;
    int64_t number = orchestrator_topic_number(call, "export", 0);

    if (number != 0) {
        answer_one(call, number);
        return;
    }
    if (DB_RUN(call->context->db, Q_exports_page, &rows, &err,
               DB_I64(orchestrator_topic_number(call, "before", 0)),
               DB_I64(PAGE_EXPORTS + 1)) != WEIR_OK) {
        orchestrator_topic_refuse(call, &err);
        return;
    }
    orchestrator_topic_answer(call, page_json(call, rows));
}

/* ---- orders ---- */

static enum weir_status check_format(const char *format, struct weir_error *err)
{
#define X(name, index, doc) #name,
    static const char *const NAMES[] = {EXPORT_FORMATS(X) NULL};
#undef X
#define X(name, index, doc) " " #name
    static const char LIST[] = EXPORT_FORMATS(X);
#undef X

    for (size_t i = 0; NAMES[i] != NULL; i++)
        if (strcmp(NAMES[i], format) == 0)
            return WEIR_OK;
    return weir_fail(err, WEIR_INVALID, "format: expected one of%s, found '%.40s'", LIST, format);
}

static enum weir_status read_order(const struct topic_call *call, struct export_order *order,
                                   struct weir_error *err)
{
    int64_t shard_bytes = orchestrator_topic_number(call, "shard_bytes", SHARD_BYTES);

    order->directory = orchestrator_topic_text(call, "to", "");
    order->format = orchestrator_topic_text(call, "format", "");
    order->trigger = orchestrator_topic_number(call, "trigger", 0);
    order->shard_bytes = (uint64_t)shard_bytes;
    if (shard_bytes < SHARD_BYTES_MIN || shard_bytes > SHARD_BYTES_MAX)
        return weir_fail(err, WEIR_INVALID, "shard_bytes: expected 1KiB to 1GiB, found %lld",
                         (long long)shard_bytes);
    return check_format(order->format, err);
}

void orchestrator_topic_materialize(struct topic_call *call)
{
    struct weir_error err;
    struct export_order order = {.pipeline = orchestrator_topic_pipeline(call)};
    int64_t number = 0;

    if (order.pipeline == NULL)
        return;
    enum weir_status status = read_order(call, &order, &err);
    if (status == WEIR_OK)
        status = orchestrator_export_order(call->all->exports, &order, &number, &err);
    if (status == WEIR_OK)
        answer_one(call, number);
    else
        orchestrator_topic_refuse(call, &err);
}

void orchestrator_topic_exports_drop(struct topic_call *call)
{
    struct weir_error err;
    WEIR_AUTO_FREE char *directory = NULL;
    int64_t number = orchestrator_topic_number(call, "export", 0);
    bool there = false;

    if (orchestrator_export_drop(call->all->exports, number, &directory, &there, &err) != WEIR_OK)
        orchestrator_topic_refuse(call, &err);
    else
        orchestrator_topic_answer(call, JSON_FIELDS(JSON_NUMBER("export", number),
                                                    JSON_TEXT("directory", directory),
                                                    JSON_FLAG("there", there)));
}
