/* Samples of sets and erasures as rows of Postgres, one for each block. */
#include "orchestrator/models/lineage.h"

#include "core/base/memory.h"
#include "core/wire/sample_set.h"

enum weir_status orchestrator_lineage_note_set(struct context *context, const char *digest,
                                               const char *path, struct weir_error *err)
{
    struct weir_sample_set set = {0};
    enum weir_status status = weir_sample_set_open(path, &set, err);
    if (status != WEIR_OK)
        return status;
    struct id_blocks blocks = {0};
    orchestrator_id_blocks_add(&blocks, set.ids, set.count);
    weir_sample_set_close(&set);
    for (size_t i = 0; i < blocks.count && status == WEIR_OK; i++) {
        WEIR_AUTO_BUF bits = {0};
        weir_bits_pack(&blocks.at[i].rows, &bits);
        status = DB_RUN(context->db, Q_set_block_add, NULL, err, DB_TEXT(digest),
                        DB_I64(blocks.at[i].block), DB_BYTES(weir_buf_view(&bits)));
    }
    orchestrator_id_blocks_fini(&blocks);
    return status;
}

enum weir_status orchestrator_lineage_note_erasure(struct context *context, int64_t erasure,
                                                   const struct id_blocks *ids,
                                                   struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < ids->count && status == WEIR_OK; i++) {
        WEIR_AUTO_BUF bits = {0};
        WEIR_AUTO_BUF rows = {0};
        orchestrator_id_block_pack(&ids->at[i], &bits, &rows);
        status = DB_RUN(context->db, Q_erasure_block_add, NULL, err, DB_I64(erasure),
                        DB_I64(ids->at[i].block), DB_BYTES(weir_buf_view(&bits)),
                        DB_BYTES(weir_buf_view(&rows)));
    }
    return status;
}

void orchestrator_lineage_take_block(const struct weir_rows *rows, size_t row,
                                     struct id_blocks *ids)
{
    struct weir_bits bits = {0};
    orchestrator_id_block_unpack(weir_rows_bytes(rows, row, "bits"),
                                 weir_rows_bytes(rows, row, "rows"), &bits);
    orchestrator_id_blocks_add_rows(ids, weir_rows_i64(rows, row, "block"), &bits);
    weir_bits_fini(&bits);
}

static enum weir_status load_blocks(struct context *context, int query, struct weir_param owner,
                                    struct id_blocks *ret_ids, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        weir_db_run(context->db, query, &owner, owner.kind == WEIR_PARAM_NULL ? 0 : 1, &rows, err);
    if (status != WEIR_OK)
        return status;
    *ret_ids = (struct id_blocks){0};
    for (size_t i = 0; i < weir_rows_count(rows); i++)
        orchestrator_lineage_take_block(rows, i, ret_ids);
    return WEIR_OK;
}

enum weir_status orchestrator_lineage_of_erasure(struct context *context, int64_t erasure,
                                                 struct id_blocks *ret_ids, struct weir_error *err)
{
    return load_blocks(context, Q_erasure_blocks, DB_I64(erasure), ret_ids, err);
}

enum weir_status orchestrator_lineage_of_finished(struct context *context,
                                                  struct id_blocks *ret_ids, struct weir_error *err)
{
    return load_blocks(context, Q_erasure_finished_blocks, DB_NULL, ret_ids, err);
}

enum weir_status orchestrator_lineage_of_batch(struct context *context, int64_t batch,
                                               struct id_blocks *ret_ids, struct weir_error *err)
{
    return batch == 0 ? load_blocks(context, Q_erasure_waiting_blocks, DB_NULL, ret_ids, err)
                      : load_blocks(context, Q_erasure_batch_blocks, DB_I64(batch), ret_ids, err);
}

enum weir_status orchestrator_lineage_of_set(struct context *context, const char *digest,
                                             struct id_blocks *ret_ids, struct weir_error *err)
{
    return load_blocks(context, Q_set_blocks, DB_TEXT(digest), ret_ids, err);
}
