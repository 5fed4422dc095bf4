/* Dropping an export: its writer ends, then its files go, then its row. */
#include "core/base/memory.h"
#include "core/wire/export_formats.h"
#include "orchestrator/context/events.h"
#include "orchestrator/exports/exports.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* One that is not done is not taken up again. UNAVAILABLE until its writer is gone. */
static enum weir_status end(struct exports *exports, int64_t number, int64_t run,
                            struct weir_error *err)
{
    enum weir_status status =
        DB_RUN(exports->context->db, Q_export_failed, NULL, err, DB_I64(number));

    if (status != WEIR_OK)
        return status;
    orchestrator_export_break_off(exports, number);
    if (run != 0)
        status = DB_RUN(exports->context->db, Q_run_failed, NULL, err, DB_I64(run),
                        DB_TEXT("its export is dropped"));
    if (status != WEIR_OK)
        return status;
    weir_rpc_send(exports->context->dispatcher, MSG_job_close,
                  &(struct msg_job_close){.job = (uint64_t)run}); /* it may be closed already */
    return run != 0 && orchestrator_run_watch_has(exports->runs->watch, run)
               ? weir_fail(err, WEIR_UNAVAILABLE, "export %" PRId64 ": its writer is ending",
                           number)
               : WEIR_OK;
}

static enum weir_status remove_folder(const char *directory, const char *format, bool *ret_there,
                                      struct weir_error *err)
{
    *ret_there = access(directory, F_OK) == 0;
    enum weir_status status = weir_export_clean(directory, format, err);
    if (status == WEIR_OK && rmdir(directory) != 0 && errno != ENOENT && errno != ENOTEMPTY)
        status = weir_fail(err, WEIR_IO, "%s: cannot be removed: %s", directory, strerror(errno));
    return status;
}

/* An export that is dropped. */
struct drop {
    int64_t number, pipeline;
    const char *name, *directory; /* of the pipeline; of the export */
    struct context *context;
};

static enum weir_status effect_dropped(void *subject, const void *what, struct weir_error *err)
{
    const struct drop *drop = subject;
    WEIR_AUTO_FREE char *key = weir_format("export_dropped/%" PRId64, drop->number);
    enum weir_status status =
        DB_RUN(drop->context->db, Q_export_drop, NULL, err, DB_I64(drop->number));
    (void)what;
    return status == WEIR_OK
               ? orchestrator_event_put(
                     drop->context, &(struct event_about){drop->pipeline, 0, key, "export_dropped"},
                     JSON_FIELDS(JSON_TEXT("pipeline", drop->name),
                                 JSON_NUMBER("export", drop->number),
                                 JSON_TEXT("directory", drop->directory)),
                     err)
               : status;
}

enum weir_status orchestrator_export_drop(struct exports *exports, int64_t number,
                                          char **ret_directory, bool *ret_there,
                                          struct weir_error *err)
{
    WEIR_AUTO(weir_rows) row = NULL;
    enum weir_status status = DB_RUN(exports->context->db, Q_export_get, &row, err, DB_I64(number));
    if (status != WEIR_OK)
        return status;
    if (number == 0 || weir_rows_count(row) == 0)
        return weir_fail(err, WEIR_NOT_FOUND,
                         "export %" PRId64 ": there is none; weir exports lists them", number);
    struct drop drop = {.number = number,
                        .pipeline = weir_rows_i64(row, 0, "pipeline"),
                        .name = weir_rows_text(row, 0, "name"),
                        .directory = weir_rows_text(row, 0, "directory"),
                        .context = exports->context};
    int64_t run = weir_rows_i64(row, 0, "run");
    if (strcmp(weir_rows_text(row, 0, "state"), "done") != 0)
        status = end(exports, number, run, err);
    if (status == WEIR_OK)
        status = remove_folder(drop.directory, weir_rows_text(row, 0, "format"), ret_there, err);
    if (status == WEIR_OK && run != 0)
        status = orchestrator_run_remove_files(exports->context, run, err);
    if (status == WEIR_OK)
        status = orchestrator_commit(exports->context, effect_dropped, &drop, NULL, err);
    if (status == WEIR_OK)
        *ret_directory = weir_strdup(drop.directory);
    return status;
}
