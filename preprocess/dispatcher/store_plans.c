/* Plans of pipeline files in Postgres, and what came of the rows that they keep. */
#include "preprocess/dispatcher/store_queries.h"
#include "preprocess/plan/keeping.h"
#include "preprocess/plan/planning.h"

#include "core/base/memory.h"

#include <string.h>

/* Copies bytes that are as large as what they are to fill. */
static bool read_whole(struct weir_bytes bytes, void *to, size_t size)
{
    if (bytes.size == size)
        memcpy(to, bytes.at, size);
    return bytes.size == size;
}

enum weir_status preprocess_store_plan_load(struct weir_db *db, const struct weir_digest *key,
                                            size_t operators, struct planning *planning,
                                            struct keeping *keeping, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    struct planning found = *planning;
    enum weir_status status =
        DB_RUN(db, Q_plan_find, &rows, err, DB_BYTES(weir_bytes(key->bytes, sizeof(key->bytes))));
    if (status != WEIR_OK || weir_rows_count(rows) == 0)
        return status;
    struct keeping kept;
    if (read_whole(weir_rows_bytes(rows, 0, "keeping"), &kept, sizeof(kept)))
        *keeping = kept;
    size_t size = operators * sizeof(struct ordering_cost);
    bool fits =
        read_whole(weir_rows_bytes(rows, 0, "running"), found.order, operators) &&
        read_whole(weir_rows_bytes(rows, 0, "choice"), &found.choice, sizeof(found.choice)) &&
        read_whole(weir_rows_bytes(rows, 0, "costs"), found.costs, size) &&
        read_whole(weir_rows_bytes(rows, 0, "before"), found.before, size);
    int64_t state = weir_rows_i64(rows, 0, "state");
    found.changes = (uint32_t)weir_rows_i64(rows, 0, "changes");
    found.state = (enum planning_state)state;
    struct placement placement;
    if (read_whole(weir_rows_bytes(rows, 0, "place"), &placement, sizeof(placement)))
        found.placement = placement;
    for (size_t i = 0; i < operators; i++)
        fits = fits && found.order[i] < operators;
    if (fits && state >= PLANNING_MEASURING && state <= PLANNING_FIXED)
        *planning = found;
    return WEIR_OK;
}

enum weir_status preprocess_store_plan_save(struct weir_db *db, const struct weir_digest *key,
                                            size_t operators, const struct planning *planning,
                                            const struct keeping *keeping, struct weir_error *err)
{
    enum { PLANS_STORED_MAX = 1000 };
    size_t size = operators * sizeof(struct ordering_cost);
    enum weir_status status = DB_RUN(
        db, Q_plan_save, NULL, err, DB_BYTES(weir_bytes(key->bytes, sizeof(key->bytes))),
        DB_I64(planning->state), DB_I64(planning->changes),
        DB_BYTES(weir_bytes(planning->order, operators)),
        DB_BYTES(weir_bytes(&planning->choice, sizeof(planning->choice))),
        DB_BYTES(weir_bytes(planning->costs, size)), DB_BYTES(weir_bytes(planning->before, size)),
        DB_BYTES(weir_bytes(&planning->placement, sizeof(planning->placement))),
        DB_BYTES(weir_bytes(keeping, sizeof(*keeping))));
    return status == WEIR_OK ? DB_RUN(db, Q_plans_bound, NULL, err, DB_I64(PLANS_STORED_MAX))
                             : status;
}

/* ---- rows that are kept ---- */

static const uint64_t *u64_column(const struct weir_rows *rows, const char *name,
                                  struct weir_arena *arena)
{
    size_t count = weir_rows_count(rows);
    uint64_t *column = weir_arena_alloc(arena, (count + 1) * sizeof(*column));
    for (size_t i = 0; i < count; i++)
        column[i] = (uint64_t)weir_rows_i64(rows, i, name);
    return column;
}

static const int64_t *i64_column(const struct weir_rows *rows, const char *name,
                                 struct weir_arena *arena)
{
    return (const int64_t *)u64_column(rows, name, arena);
}

enum weir_status preprocess_store_kept(struct weir_db *db, struct weir_arena *arena,
                                       struct msg_cache_is *ret_answer, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(db, Q_kept, &rows, err);
    if (status != WEIR_OK)
        return status;
    size_t count = weir_rows_count(rows);
    const char **operators = weir_arena_alloc(arena, (count + 1) * sizeof(*operators));
    for (size_t i = 0; i < count; i++)
        operators[i] = weir_arena_format(arena, "%s", weir_rows_text(rows, i, "operators"));
    *ret_answer = (struct msg_cache_is){
        .keys = {u64_column(rows, "key", arena), count},
        .operators = {operators, count},
        .hits = {u64_column(rows, "hits", arena), count},
        .misses = {u64_column(rows, "misses", arena), count},
        .damaged = {u64_column(rows, "damaged", arena), count},
        .made_ns = {i64_column(rows, "made_ns", arena), count},
        .read_ns = {i64_column(rows, "read_ns", arena), count},
        .since_us = {i64_column(rows, "since_us", arena), count},
    };
    return WEIR_OK;
}
