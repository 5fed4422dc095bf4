/* Tombstones: see tombstones.h. */
#include "storage/chunks/tombstones.h"

#include "core/base/clock.h"
#include "storage/keys/id_list.h"
#include "storage/sql/queries.h"

#include <stdlib.h>

struct writer {
    struct weir_db *db;
    struct chunk_cache *cache;
    struct dataset *dataset;
    enum weir_change_kind kind;
    struct id_list *sequences, *firsts, *counts; /* rows of the feed */
};

/* Moves one sample between the accounts. False when it is marked already. */
static bool mark(const struct writer *w, uint32_t block, uint32_t row, int64_t length)
{
    struct accounts *accounts = &w->dataset->accounts;
    struct dead_rows *dead = storage_dataset_dead(w->dataset, block);
    bool is_removed = weir_bits_get(&dead->removed, row);
    bool is_replaced = weir_bits_get(&dead->replaced, row);

    if (weir_bits_get(&dead->erased, row) ||
        (w->kind != WEIR_CHANGE_ERASED && (is_removed || is_replaced)))
        return false;
    if (is_removed) {
        accounts->removed--;
    } else if (is_replaced) {
        accounts->replaced--;
    } else {
        accounts->live--;
        accounts->bytes -= (uint64_t)length;
    }
    if (w->kind == WEIR_CHANGE_ERASED) {
        accounts->erased++;
        weir_bits_set(&dead->erased, row);
    } else if (w->kind == WEIR_CHANGE_REMOVED) {
        accounts->removed++;
        weir_bits_set(&dead->removed, row);
    } else {
        accounts->replaced++;
        weir_bits_set(&dead->replaced, row);
    }
    return true;
}

static void tell(const struct writer *w, uint64_t first, uint64_t count)
{
    if (count == 0)
        return;
    storage_id_list_add(w->sequences, ++w->dataset->sequence);
    storage_id_list_add(w->firsts, first);
    storage_id_list_add(w->counts, count);
}

/* All at once: scattered samples are a row each. */
static enum weir_status store_feed(const struct writer *w, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    if (w->sequences->count > 0)
        status = DB_RUN(w->db, Q_feed_add_chunks, NULL, err, DB_I64(w->dataset->number),
                        DB_I64(w->kind), DB_I64S(w->sequences->at, w->sequences->count),
                        DB_I64S(w->firsts->at, w->firsts->count),
                        DB_I64S(w->counts->at, w->counts->count), DB_I64(weir_now_wall_us()));
    return status;
}

/* Marks the ids of one chunk, beginning with ids[0]; tells the feed of each unbroken run. */
static enum weir_status mark_chunk(const struct writer *w, const struct chunk_ref *ref,
                                   struct weir_u64s ids, size_t *ret_done, struct weir_error *err)
{
    const struct chunk *chunk;
    uint64_t first = 0, count = 0;
    size_t i = 0;
    enum weir_status status =
        storage_chunk_cache_get(w->cache, w->db, w->dataset, ref, &chunk, err);

    for (; status == WEIR_OK && i < ids.count; i++) {
        uint32_t row = weir_sample_row(ids.at[i]);

        if (weir_sample_block(ids.at[i]) != ref->block || row - ref->first_row >= ref->count)
            break;
        if (!mark(w, ref->block, row, weir_column_at(&chunk->lengths, row - ref->first_row)))
            continue;
        if (ids.at[i] != first + count) {
            tell(w, first, count);
            first = ids.at[i];
            count = 0;
        }
        count++;
    }
    tell(w, first, count);
    *ret_done = i;
    return status;
}

static enum weir_status store_block(const struct writer *w, uint32_t block, struct weir_error *err)
{
    const struct dead_rows *dead = storage_dataset_dead(w->dataset, block);
    WEIR_AUTO_BUF erased = {0};
    WEIR_AUTO_BUF removed = {0};
    WEIR_AUTO_BUF replaced = {0};

    weir_bits_pack(&dead->erased, &erased);
    weir_bits_pack(&dead->removed, &removed);
    weir_bits_pack(&dead->replaced, &replaced);
    return DB_RUN(w->db, Q_dead_put, NULL, err, DB_I64(w->dataset->number), DB_I64(block),
                  DB_BYTES(weir_buf_view(&erased)), DB_BYTES(weir_buf_view(&removed)),
                  DB_BYTES(weir_buf_view(&replaced)));
}

enum weir_status storage_tombstones_write(struct weir_db *db, struct chunk_cache *cache,
                                          struct dataset *dataset, enum weir_change_kind kind,
                                          const struct weir_u64s *ids, struct weir_error *err)
{
    struct id_list sequences = {0}, firsts = {0}, counts = {0};
    const struct writer w = {.db = db,
                             .cache = cache,
                             .dataset = dataset,
                             .kind = kind,
                             .sequences = &sequences,
                             .firsts = &firsts,
                             .counts = &counts};
    enum weir_status status = WEIR_OK;

    storage_dataset_bump_edition(dataset);
    for (size_t i = 0; status == WEIR_OK && i < ids->count;) {
        uint32_t block = weir_sample_block(ids->at[i]);
        const struct chunk_ref *ref =
            storage_dataset_chunk(dataset, block, weir_sample_row(ids->at[i]));
        size_t done = 1;

        if (ref != NULL)
            status =
                mark_chunk(&w, ref, (struct weir_u64s){ids->at + i, ids->count - i}, &done, err);
        i += done;
        if (status == WEIR_OK && (i == ids->count || weir_sample_block(ids->at[i]) != block))
            status = store_block(&w, block, err);
    }
    if (status == WEIR_OK)
        status = store_feed(&w, err);
    free(sequences.at);
    free(firsts.at);
    free(counts.at);
    return status;
}

enum weir_status storage_dataset_store(struct weir_db *db, const struct dataset *dataset,
                                       uint64_t sequence_before, struct weir_error *err)
{
    const struct accounts *a = &dataset->accounts;
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(
        db, Q_dataset_advance, &rows, err, DB_I64(dataset->number), DB_BOOL(dataset->is_scanned),
        DB_I64(dataset->next_row), DB_I64(dataset->sequence), DB_I64(a->ingested), DB_I64(a->live),
        DB_I64(a->erased), DB_I64(a->removed), DB_I64(a->replaced), DB_I64(a->quarantined),
        DB_I64(a->duplicate), DB_I64(a->blocked), DB_I64(a->bytes), DB_I64(sequence_before),
        DB_I64(a->returned), DB_BOOL(dataset->declaration->is_copied),
        DB_TEXT(dataset->columns != NULL ? dataset->columns : ""));

    if (status == WEIR_OK && weir_rows_count(rows) != 1)
        return weir_fail(err, WEIR_UNAVAILABLE, "dataset '%s' has moved on in Postgres",
                         dataset->name);
    return status;
}
