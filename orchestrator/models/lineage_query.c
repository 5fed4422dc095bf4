/* Lineage over bitmaps: two statements for all blocks that are asked for, and one pass over the models, parents
 * first. */
#include "orchestrator/models/lineage.h"

#include "core/base/bisect.h"
#include "core/base/hash.h"
#include "core/base/index.h"
#include "core/base/memory.h"
#include "orchestrator/models/store.h"

#include <stdlib.h>
#include <string.h>

struct lineage_query {
    struct id_blocks left; /* of those asked for, less what erasures up to `epoch` took */
    const struct id_blocks *asked;
    struct weir_rows *sets;     /* digest, block, bits: by digest */
    struct weir_rows *erasures; /* epoch, block, bits, rows: by epoch */
    int64_t epoch;
    size_t taken;             /* rows of `erasures` */
    struct weir_index models; /* entries of the answer by their names */
};

static void query_fini(struct lineage_query *query)
{
    orchestrator_id_blocks_fini(&query->left);
    weir_rows_free(query->sets);
    weir_rows_free(query->erasures);
    weir_index_fini(&query->models);
}

static enum weir_status query_load(struct context *context, const struct id_blocks *ids,
                                   struct lineage_query *query, struct weir_error *err)
{
    WEIR_AUTO_FREE int64_t *blocks = weir_calloc(ids->count + 1, sizeof(*blocks));
    query->asked = ids;
    for (size_t i = 0; i < ids->count; i++)
        blocks[i] = ids->at[i].block;
    enum weir_status status =
        DB_RUN(context->db, Q_set_blocks_at, &query->sets, err, DB_I64S(blocks, ids->count));
    return status == WEIR_OK ? DB_RUN(context->db, Q_erasure_blocks_at, &query->erasures, err,
                                      DB_I64S(blocks, ids->count))
                             : status;
}

/* ---- a model's own set ---- */

static void begin_again(struct lineage_query *query)
{
    orchestrator_id_blocks_fini(&query->left);
    for (size_t i = 0; i < query->asked->count; i++)
        orchestrator_id_blocks_add_rows(&query->left, query->asked->at[i].block,
                                        &query->asked->at[i].rows);
    query->taken = 0;
}

static void take_away(struct lineage_query *query, size_t row)
{
    struct weir_bits gone = {0};
    orchestrator_id_block_unpack(weir_rows_bytes(query->erasures, row, "bits"),
                                 weir_rows_bytes(query->erasures, row, "rows"), &gone);
    orchestrator_id_blocks_remove_rows(&query->left, weir_rows_i64(query->erasures, row, "block"),
                                       &gone);
    weir_bits_fini(&gone);
}

/* Leaves what a run was given that began when erasures up to `epoch` held: most models have the epoch of the one
 * before them, or a later one. */
static void leave(struct lineage_query *query, int64_t epoch)
{
    if (epoch < query->epoch)
        begin_again(query);
    query->epoch = epoch;
    for (; query->taken < weir_rows_count(query->erasures) &&
           weir_rows_i64(query->erasures, query->taken, "epoch") <= epoch;
         query->taken++)
        take_away(query, query->taken);
}

/* Samples asked for that were delivered to a run on `set`, which began when erasures up to `clean_epoch` held. */
static size_t delivered(struct lineage_query *query, const char *set, int64_t clean_epoch)
{
    size_t row = 0, end = weir_rows_count(query->sets), sum = 0;
    struct weir_bits held = {0};
    leave(query, clean_epoch);
    WEIR_BISECT(row, end, at, strcmp(weir_rows_text(query->sets, at, "digest"), set) < 0);
    for (; row < weir_rows_count(query->sets) &&
           strcmp(weir_rows_text(query->sets, row, "digest"), set) == 0;
         row++) {
        weir_bits_unpack(&held, weir_rows_bytes(query->sets, row, "bits"));
        sum += orchestrator_id_bits_shared(
            &orchestrator_id_blocks_find(&query->left, weir_rows_i64(query->sets, row, "block"))
                 ->rows,
            &held);
    }
    weir_bits_fini(&held);
    return sum;
}

/* ---- those before it ---- */

static uint64_t hash_of(const struct lineage_query *query, struct weir_bytes name)
{
    return weir_hash64(name, query->models.seed);
}

/* Returns the place of the model in the answer; SIZE_MAX: it is not in it. */
static size_t place_of(const struct lineage_query *query, const struct lineage_answer *answer,
                       struct weir_bytes name)
{
    uint32_t entry;
    struct weir_index_search search = weir_index_search(&query->models, hash_of(query, name));
    while (weir_index_next(&search, &entry)) {
        const char *model = answer->at[entry].model;
        if (strlen(model) == name.size && memcmp(model, name.at, name.size) == 0)
            return entry;
    }
    return SIZE_MAX;
}

/* The first in the answer of these models, separated by spaces; NULL: it has none of them. */
static const char *find_any(const struct lineage_query *query, const struct lineage_answer *answer,
                            const char *models)
{
    size_t first = SIZE_MAX;
    for (const char *at = models; *at != '\0';) {
        size_t size = strcspn(at, " ");
        size_t place = place_of(query, answer, weir_bytes(at, size));
        first = place < first ? place : first;
        at += size + (at[size] == ' ');
    }
    return first == SIZE_MAX ? NULL : answer->at[first].model;
}

/* The ways by which samples reached the model of a row, other than its own set. */
struct descent {
    bool seen;
    const char *through; /* NULL: no influence */
};

static struct descent descend(const struct lineage_query *query, const struct weir_rows *models,
                              size_t row, const struct lineage_answer *answer)
{
    const char *parent = weir_rows_text(models, row, "parent");
    const char *scorer = find_any(query, answer, weir_rows_text(models, row, "scored_by"));
    size_t before = place_of(query, answer, weir_bytes_of(parent));
    if (before != SIZE_MAX && answer->at[before].through == NULL)
        return (struct descent){.seen = true};
    if (before != SIZE_MAX)
        return (struct descent){.through = parent};
    if (scorer != NULL)
        return (struct descent){.through = scorer};
    return (struct descent){
        .through = find_any(query, answer, weir_rows_text(models, row, "held_out_by"))};
}

static void judge(struct lineage_query *query, const struct weir_rows *models, size_t row,
                  struct lineage_answer *answer)
{
    const char *model = weir_rows_text(models, row, "id");
    size_t count = delivered(query, weir_rows_text(models, row, "set_digest"),
                             weir_rows_i64(models, row, "clean_epoch"));
    struct descent descent = descend(query, models, row, answer);
    bool seen = count > 0 || descent.seen;
    if (!seen && descent.through == NULL)
        return;
    weir_index_add(&query->models, hash_of(query, weir_bytes_of(model)), (uint32_t)answer->count);
    answer->at[answer->count++] = (struct lineage_seen){
        .model = weir_strdup(model),
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
    struct lineage_query query = {.epoch = INT64_MAX};
    WEIR_AUTO(weir_rows) models = NULL;
    enum weir_status status = query_load(context, ids, &query, err);
    if (status == WEIR_OK)
        status = DB_RUN(context->db, Q_lineage_models, &models, err);
    if (status == WEIR_OK) {
        size_t count = weir_rows_count(models);
        *ret_answer =
            (struct lineage_answer){.at = weir_calloc(count + 1, sizeof(*ret_answer->at))};
        weir_index_draw_seed(&query.models);
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
