/* Lineage over bitmaps: a few rows per block asked for, and one pass over the models, parents first. */
#include "orchestrator/models/lineage.h"

#include "core/base/memory.h"
#include "core/wire/sample_set.h"
#include "orchestrator/models/store.h"

#include <stdlib.h>
#include <string.h>

/* ---- noting ---- */

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

/* ---- asking ---- */

/* Everything Postgres knows about one block that is asked for. */
struct known_block {
    const struct id_block *asked;
    struct weir_rows *sets;     /* digest, bits */
    struct weir_rows *erasures; /* epoch, bits */
};

struct lineage_query {
    struct known_block *blocks;
    size_t count;
};

static void query_fini(struct lineage_query *query)
{
    for (size_t i = 0; i < query->count; i++) {
        weir_rows_free(query->blocks[i].sets);
        weir_rows_free(query->blocks[i].erasures);
    }
    free(query->blocks);
}

static enum weir_status query_load(struct context *context, const struct id_blocks *ids,
                                   struct lineage_query *query, struct weir_error *err)
{
    query->blocks = weir_calloc(ids->count + 1, sizeof(*query->blocks));
    query->count = ids->count;
    for (size_t i = 0; i < ids->count; i++) {
        struct known_block *block = &query->blocks[i];
        block->asked = &ids->at[i];
        enum weir_status status =
            DB_RUN(context->db, Q_set_blocks_at, &block->sets, err, DB_I64(ids->at[i].block));
        if (status == WEIR_OK) {
            status = DB_RUN(context->db, Q_erasure_blocks_at, &block->erasures, err,
                            DB_I64(ids->at[i].block));
        }
        if (status != WEIR_OK)
            return status;
    }
    return WEIR_OK;
}

/* Samples of one block that were delivered to a run on `set`, which began when erasures up to `clean_epoch` held. */
static size_t delivered_in_block(const struct known_block *block, struct weir_bytes set,
                                 int64_t clean_epoch)
{
    struct weir_bits asked = {0}, held = {0}, gone = {0};
    weir_bits_copy(&asked, &block->asked->rows);
    for (size_t i = 0; i < weir_rows_count(block->erasures); i++) {
        if (weir_rows_i64(block->erasures, i, "epoch") <= clean_epoch) {
            orchestrator_id_block_unpack(weir_rows_bytes(block->erasures, i, "bits"),
                                         weir_rows_bytes(block->erasures, i, "rows"), &gone);
            orchestrator_id_bits_remove(&asked, &gone);
        }
    }
    weir_bits_unpack(&held, set);
    size_t shared = orchestrator_id_bits_shared(&asked, &held);
    weir_bits_fini(&asked);
    weir_bits_fini(&held);
    weir_bits_fini(&gone);
    return shared;
}

static size_t delivered(const struct lineage_query *query, const char *digest, int64_t clean_epoch)
{
    size_t sum = 0;
    for (size_t i = 0; i < query->count; i++) {
        const struct known_block *block = &query->blocks[i];
        for (size_t j = 0; j < weir_rows_count(block->sets); j++)
            if (strcmp(weir_rows_text(block->sets, j, "digest"), digest) == 0)
                sum +=
                    delivered_in_block(block, weir_rows_bytes(block->sets, j, "bits"), clean_epoch);
    }
    return sum;
}

static const struct lineage_seen *find_seen(const struct lineage_answer *answer, const char *model)
{
    for (size_t i = 0; i < answer->count; i++)
        if (strcmp(answer->at[i].model, model) == 0)
            return &answer->at[i];
    return NULL;
}

/* The ways by which samples reached the model of a row, other than its own set. */
struct descent {
    bool seen;
    const char *through; /* NULL: no influence */
};

/* The first of the models, separated by spaces, that the answer knows; NULL: none. */
static const char *find_any(const struct lineage_answer *answer, const char *models)
{
    for (size_t i = 0; i < answer->count; i++) {
        const char *model = answer->at[i].model;
        size_t size = strlen(model);
        for (const char *at = strstr(models, model); at != NULL; at = strstr(at + 1, model))
            if ((at == models || at[-1] == ' ') && (at[size] == ' ' || at[size] == '\0'))
                return model;
    }
    return NULL;
}

static struct descent descend(const struct weir_rows *models, size_t row,
                              const struct lineage_answer *answer)
{
    const char *parent = weir_rows_text(models, row, "parent");
    const char *scorer = find_any(answer, weir_rows_text(models, row, "scored_by"));
    const struct lineage_seen *before = find_seen(answer, parent);
    if (before != NULL && before->through == NULL)
        return (struct descent){.seen = true};
    if (before != NULL)
        return (struct descent){.through = parent};
    if (scorer != NULL)
        return (struct descent){.through = scorer};
    return (struct descent){.through =
                                find_any(answer, weir_rows_text(models, row, "held_out_by"))};
}

static void judge(const struct lineage_query *query, const struct weir_rows *models, size_t row,
                  struct lineage_answer *answer)
{
    size_t count = delivered(query, weir_rows_text(models, row, "set_digest"),
                             weir_rows_i64(models, row, "clean_epoch"));
    struct descent descent = descend(models, row, answer);
    bool seen = count > 0 || descent.seen;
    if (!seen && descent.through == NULL)
        return;
    answer->at[answer->count++] = (struct lineage_seen){
        .model = weir_strdup(weir_rows_text(models, row, "id")),
        .through = seen ? NULL : weir_strdup(descent.through),
        .pipeline = weir_rows_i64(models, row, "pipeline"),
        .trigger = weir_rows_i64(models, row, "trigger"),
        .run = weir_rows_i64(models, row, "run"),
        .live = orchestrator_model_state_is_live(weir_rows_text(models, row, "state")),
        .is_aside = weir_rows_text(models, row, "role")[0] != '\0',
        .count = count,
    };
}

enum weir_status orchestrator_lineage_query(struct context *context, const struct id_blocks *ids,
                                            struct lineage_answer *ret_answer,
                                            struct weir_error *err)
{
    struct lineage_query query = {0};
    WEIR_AUTO(weir_rows) models = NULL;
    enum weir_status status = query_load(context, ids, &query, err);
    if (status == WEIR_OK)
        status = DB_RUN(context->db, Q_lineage_models, &models, err);
    if (status == WEIR_OK) {
        size_t count = weir_rows_count(models);
        *ret_answer =
            (struct lineage_answer){.at = weir_calloc(count + 1, sizeof(*ret_answer->at))};
        for (size_t i = 0; i < count; i++)
            judge(&query, models, i, ret_answer);
    }
    query_fini(&query);
    return status;
}

void orchestrator_lineage_answer_fini(struct lineage_answer *answer)
{
    for (size_t i = 0; i < answer->count; i++) {
        free(answer->at[i].model);
        free(answer->at[i].through);
    }
    free(answer->at);
    *answer = (struct lineage_answer){0};
}
