/* Exports as holders of samples: see holders.h. */
#include "orchestrator/exports/holders.h"

#include "core/base/memory.h"
#include "core/wire/export_formats.h"
#include "orchestrator/context/events.h"

#include <stdlib.h>
#include <unistd.h>

/* Rows of Q_export_blocks come by export, then by block. */
static void take_blocks(struct export_holders *holders, const struct weir_rows *rows)
{
    size_t export = 0;

    for (size_t i = 0; i < weir_rows_count(rows); i++) {
        struct weir_bits bits = {0};
        int64_t number = weir_rows_i64(rows, i, "number");
        while (weir_rows_i64(holders->exports, export, "number") != number)
            export ++;
        orchestrator_id_block_unpack(weir_rows_bytes(rows, i, "bits"), weir_bytes(NULL, 0), &bits);
        orchestrator_id_blocks_add_rows(&holders->held[export], weir_rows_i64(rows, i, "block"),
                                        &bits);
        weir_bits_fini(&bits);
    }
}

static enum weir_status load_blocks(struct context *context, const struct id_blocks *ids,
                                    struct export_holders *holders, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    WEIR_AUTO_FREE int64_t *blocks = weir_calloc(ids->count + 1, sizeof(*blocks));

    for (size_t i = 0; i < ids->count; i++)
        blocks[i] = ids->at[i].block;
    enum weir_status status =
        DB_RUN(context->db, Q_export_blocks, &rows, err, DB_I64S(blocks, ids->count));
    if (status == WEIR_OK)
        take_blocks(holders, rows);
    return status;
}

enum weir_status orchestrator_export_holders_load(struct context *context,
                                                  const struct id_blocks *ids,
                                                  struct export_holders *ret_holders,
                                                  struct weir_error *err)
{
    struct export_holders holders = {0};
    enum weir_status status = DB_RUN(context->db, Q_exports_done, &holders.exports, err);
    if (status != WEIR_OK)
        return status;
    size_t count = weir_rows_count(holders.exports);
    holders.held = weir_calloc(count + 1, sizeof(*holders.held));
    if (count > 0)
        status = load_blocks(context, ids, &holders, err);
    if (status == WEIR_OK)
        *ret_holders = holders;
    else
        orchestrator_export_holders_fini(&holders);
    return status;
}

void orchestrator_export_holders_fini(struct export_holders *holders)
{
    for (size_t i = 0; holders->exports != NULL && i < weir_rows_count(holders->exports); i++)
        orchestrator_id_blocks_fini(&holders->held[i]);
    free(holders->held);
    weir_rows_free(holders->exports);
    *holders = (struct export_holders){.exports = NULL};
}

json_t *orchestrator_export_holders_json(const struct export_holders *holders,
                                         const struct id_blocks *ids, int64_t erasure_epoch)
{
    const struct weir_rows *rows = holders->exports;
    json_t *list = json_array();

    for (size_t i = 0; rows != NULL && i < weir_rows_count(rows); i++) {
        const char *directory = weir_rows_text(rows, i, "directory");
        size_t samples = weir_rows_i64(rows, i, "clean_epoch") < erasure_epoch
                             ? orchestrator_id_blocks_shared(ids, &holders->held[i])
                             : 0;
        if (samples > 0)
            json_array_append_new(
                list, JSON_FIELDS(JSON_NUMBER("export", weir_rows_i64(rows, i, "number")),
                                  JSON_TEXT("directory", directory),
                                  JSON_TEXT("format", weir_rows_text(rows, i, "format")),
                                  JSON_NUMBER("samples", samples),
                                  JSON_TIME("finished", weir_rows_i64(rows, i, "finished_us")),
                                  JSON_FLAG("there", access(directory, F_OK) == 0)));
    }
    return list;
}

/* INT64_MAX: not known yet. */
static enum weir_status find_epoch(struct context *context, int64_t erasure, int64_t *ret_epoch,
                                   struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        erasure == 0 ? WEIR_OK : DB_RUN(context->db, Q_erasure_get, &rows, err, DB_I64(erasure));

    *ret_epoch = INT64_MAX;
    if (rows != NULL && weir_rows_count(rows) > 0 && weir_rows_i64(rows, 0, "epoch") > 0)
        *ret_epoch = weir_rows_i64(rows, 0, "epoch");
    return status;
}

enum weir_status orchestrator_export_holders_of(struct context *context, int64_t erasure,
                                                const struct id_blocks *ids, json_t **ret_list,
                                                struct weir_error *err)
{
    struct export_holders holders = {0};
    int64_t epoch;
    enum weir_status status = find_epoch(context, erasure, &epoch, err);

    if (status == WEIR_OK)
        status = orchestrator_export_holders_load(context, ids, &holders, err);
    if (status == WEIR_OK)
        *ret_list = orchestrator_export_holders_json(&holders, ids, epoch);
    orchestrator_export_holders_fini(&holders);
    return status;
}

enum weir_status orchestrator_exports_purge(struct context *context, int64_t *removed,
                                            struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(context->db, Q_exports_unfinished, &rows, err);

    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++, ++*removed)
        status = weir_export_clean(weir_rows_text(rows, i, "directory"),
                                   weir_rows_text(rows, i, "format"), err);
    return status;
}
