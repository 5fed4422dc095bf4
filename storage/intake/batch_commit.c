/* The one transaction of a batch: ids, chunks, files, feed, subjects, refusals, accounting. */
#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/memory.h"
#include "core/wire/column.h"
#include "storage/chunks/held_out.h"
#include "storage/chunks/label_values.h"
#include "storage/chunks/tombstones.h"
#include "storage/files/owned.h"
#include "storage/intake/batch_stage.h"
#include "storage/intake/duplicates.h"
#include "storage/intake/late_labels.h"
#include "storage/intake/refused_names.h"
#include "storage/keys/id_list.h"
#include "storage/keys/key_store.h"
#include "storage/sql/queries.h"

#include <stdlib.h>

enum { BLOCKS_PER_PARTITION = 64 };

struct commit {
    struct batch *batch;
    struct dataset *dataset;
    struct weir_db *db;
    struct chunk_cache *cache;
    struct weir_error *err;
};

/* ---- samples that stop being live ---- */

static enum weir_status add_ids_of(const struct commit *c, const struct stored_file *file,
                                   struct id_list *ids)
{
    struct chunk_span span = storage_dataset_chunks_of(c->dataset, file);
    int64_t number = (int64_t)storage_file_number(file);

    for (size_t i = span.first; i < span.end; i++) {
        const struct chunk_ref *ref = &c->dataset->chunks[i];
        const struct chunk *chunk;
        enum weir_status status =
            storage_chunk_cache_get(c->cache, c->db, c->dataset, ref, &chunk, c->err);

        if (status != WEIR_OK)
            return status;
        for (uint32_t row = 0; row < chunk->count; row++) {
            if (weir_column_at(&chunk->files, row) == number)
                storage_id_list_add(
                    ids, weir_sample_id(c->dataset->number, chunk->block, chunk->first_row + row));
        }
    }
    return WEIR_OK;
}

static enum weir_status kill_kind(const struct commit *c, enum weir_change_kind kind)
{
    struct id_list ids = {0};
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; status == WEIR_OK && i < c->batch->kills.count; i++) {
        if (c->batch->kills.at[i].kind == kind)
            status = add_ids_of(c, c->batch->kills.at[i].file, &ids);
    }
    if (status == WEIR_OK && ids.count > 0) {
        storage_id_list_sort(&ids);
        status = storage_tombstones_write(c->db, c->cache, c->dataset, kind,
                                          &(struct weir_u64s){ids.at, ids.count}, c->err);
    }
    free(ids.at);
    return status;
}

/* ---- samples that appear ---- */

static enum weir_status make_partition(const struct commit *c, uint32_t block)
{
    uint32_t slice = block / BLOCKS_PER_PARTITION;
    WEIR_AUTO_FREE char *sql =
        weir_format("CREATE TABLE IF NOT EXISTS chunk_%u_%u PARTITION OF chunk "
                    "FOR VALUES FROM (%u, %u) TO (%u, %u)",
                    c->dataset->number, slice, c->dataset->number, slice * BLOCKS_PER_PARTITION,
                    c->dataset->number, (slice + 1) * BLOCKS_PER_PARTITION);

    return weir_db_exec(c->db, sql, c->err);
}

static void range_of(const int64_t *values, size_t count, int64_t *min, int64_t *max)
{
    *min = *max = values[0];
    for (size_t i = 1; i < count; i++) {
        *min = values[i] < *min ? values[i] : *min;
        *max = values[i] > *max ? values[i] : *max;
    }
}

static enum weir_status insert_chunk(const struct commit *c, const struct chunk_ref *chunk,
                                     uint64_t sequence, size_t first)
{
    WEIR_AUTO_BUF packed = {0};
    size_t ends[BATCH_COLUMNS + 1] = {0};
    struct weir_bytes columns[BATCH_COLUMNS];
    size_t value_bytes = storage_declaration_value_bytes(c->dataset->declaration);

    for (int i = 0; i < BATCH_COLUMNS; i++) {
        weir_column_pack(c->batch->columns[i] + first, chunk->count, &packed);
        ends[i + 1] = packed.size;
    }
    for (int i = 0; i < BATCH_COLUMNS; i++)
        columns[i] = weir_bytes(packed.at + ends[i], ends[i + 1] - ends[i]);
    return DB_RUN(c->db, Q_chunk_add, NULL, c->err, DB_I64(c->dataset->number),
                  DB_I64(chunk->block), DB_I64(chunk->first_row), DB_I64(chunk->count),
                  DB_I64(sequence), DB_BYTES(weir_bytes("", 0)), DB_I64(chunk->time_min),
                  DB_I64(chunk->time_max), DB_BYTES(columns[BATCH_TIME]),
                  DB_BYTES(columns[BATCH_LABEL]), DB_BYTES(columns[BATCH_FILE]),
                  DB_BYTES(columns[BATCH_OFFSET]), DB_BYTES(columns[BATCH_LENGTH]),
                  DB_BYTES(weir_bytes(value_bytes > 0 ? c->batch->values.at + first * value_bytes
                                                      : (const uint8_t *)"",
                                      chunk->count * value_bytes)));
}

/* One change: a chunk, and what memory knows of it. */
static enum weir_status add_chunk(const struct commit *c, const struct chunk_ref *chunk,
                                  size_t first)
{
    struct dataset *dataset = c->dataset;
    uint64_t sequence = ++dataset->sequence;
    enum weir_status status = insert_chunk(c, chunk, sequence, first);

    if (status != WEIR_OK)
        return status;
    storage_dataset_add_chunk(dataset, chunk);
    storage_dataset_add_run(
        dataset, (struct added_run){.first_row = dataset->next_row, .sequence = sequence});
    dataset->next_row += chunk->count;
    dataset->accounts.ingested += chunk->count;
    dataset->accounts.live += chunk->count;
    return WEIR_OK;
}

/* The rows of a batch get their ids: chunks end where a block is full, whatever file they are of. */
static enum weir_status insert_chunks(const struct commit *c)
{
    size_t done = 0;
    enum weir_status status = WEIR_OK;

    while (status == WEIR_OK && done < c->batch->row_count) {
        uint64_t next = c->dataset->next_row;
        struct chunk_ref chunk = {
            .block = (uint32_t)(next >> WEIR_ROW_BITS),
            .first_row = (uint32_t)next & (WEIR_BLOCK_ROWS - 1),
        };
        size_t room = WEIR_BLOCK_ROWS - chunk.first_row;
        size_t rows_max = storage_values_rows(c->dataset->declaration, CHUNK_VALUES_BYTES);
        size_t rest = c->batch->row_count - done;

        if (chunk.block >> WEIR_BLOCK_BITS)
            return weir_fail(c->err, WEIR_LIMIT, "dataset '%s' is full: all blocks are used",
                             c->dataset->name);
        room = room < rows_max ? room : rows_max;
        chunk.count = (uint32_t)(rest < room ? rest : room);
        range_of(c->batch->columns[BATCH_TIME] + done, chunk.count, &chunk.time_min,
                 &chunk.time_max);
        if (chunk.first_row == 0 && chunk.block % BLOCKS_PER_PARTITION == 0)
            status = make_partition(c, chunk.block);
        if (status == WEIR_OK)
            status = add_chunk(c, &chunk, done);
        done += chunk.count;
    }
    return status;
}

/* Files have their numbers now: rows name them by it, and files know where their rows are. */
static void join_files(const struct commit *c, uint64_t first_id)
{
    const struct batch *batch = c->batch;

    for (size_t i = 0; i < batch->segments.count; i++) {
        const struct batch_segment *segment = &batch->segments.at[i];
        struct stored_file *file = segment->file;
        int64_t number = (int64_t)storage_file_number(file);

        for (size_t row = segment->first; row < segment->first + segment->count; row++) {
            batch->columns[BATCH_FILE][row] = number;
            c->dataset->accounts.bytes += (uint64_t)batch->columns[BATCH_LENGTH][row];
        }
        if (file->first_id == 0)
            file->first_id = first_id + segment->first;
        file->last_id = first_id + segment->first + segment->count - 1;
    }
}

/* An entry's id is the row of the batch, and then of the dataset (block << 16 | row). */
static enum weir_status insert_keys(const struct commit *c, struct key_index *index,
                                    struct sorted_run_entry *entries, size_t count,
                                    uint64_t first_row)
{
    for (size_t i = 0; i < count; i++)
        entries[i].id += first_row;
    return storage_key_store_add(c->db, c->dataset->number, index, entries, count, c->err);
}

/* Tells the feed of the chunks from `first` on, each added by a change of its own, with one statement. */
static enum weir_status tell_added(const struct commit *c, size_t first)
{
    const struct dataset *dataset = c->dataset;
    size_t count = dataset->chunk_count - first;
    WEIR_AUTO_FREE uint64_t *sequences = weir_calloc(3 * count + 1, sizeof(*sequences));
    uint64_t *firsts = sequences + count, *counts = firsts + count;

    if (count == 0)
        return WEIR_OK;
    for (size_t i = 0; i < count; i++) {
        const struct added_run *run = &dataset->runs[dataset->run_count - count + i];

        sequences[i] = run->sequence;
        firsts[i] = storage_dataset_id(dataset, run->first_row);
        counts[i] = dataset->chunks[first + i].count;
    }
    return DB_RUN(c->db, Q_feed_add_chunks, NULL, c->err, DB_I64(dataset->number),
                  DB_I64(WEIR_CHANGE_ADDED), DB_I64S(sequences, count), DB_I64S(firsts, count),
                  DB_I64S(counts, count), DB_I64(weir_now_wall_us()));
}

static enum weir_status hold_out(const struct commit *c, uint64_t first_row)
{
    const struct held_out_rows rows = {
        .share = c->dataset->declaration->held_share,
        .entries = c->batch->subjects.at,
        .count = c->batch->subjects.count,
        .first_row = first_row,
    };

    return storage_held_out_add(c->db, c->dataset->number, &rows, c->err);
}

static enum weir_status insert_rows(const struct commit *c)
{
    uint64_t first_row = c->dataset->next_row;
    size_t first_chunk = c->dataset->chunk_count;
    enum weir_status status;

    join_files(c, storage_dataset_id(c->dataset, first_row));
    status = insert_chunks(c);
    if (status == WEIR_OK)
        status = tell_added(c, first_chunk);
    if (status == WEIR_OK)
        status = hold_out(c, first_row);
    if (status == WEIR_OK)
        status = insert_keys(c, &c->dataset->subjects, c->batch->subjects.at,
                             c->batch->subjects.count, first_row);
    if (status == WEIR_OK)
        status =
            insert_keys(c, &c->dataset->keys, c->batch->keys.at, c->batch->keys.count, first_row);
    return status;
}

/* Samples (places) that rows of this batch take the place of, or that wait for their labels. */
static enum weir_status replace(const struct commit *c, struct id_list *places)
{
    for (size_t i = 0; i < places->count; i++)
        places->at[i] = storage_dataset_id(c->dataset, places->at[i]);
    if (places->count == 0)
        return WEIR_OK;
    storage_id_list_sort(places);
    return storage_tombstones_write(c->db, c->cache, c->dataset, WEIR_CHANGE_REPLACED,
                                    &(struct weir_u64s){places->at, places->count}, c->err);
}

static enum weir_status choose(const struct commit *c, struct id_list *replaced)
{
    const struct declaration *d = c->dataset->declaration;

    if (c->batch->is_late) {
        for (size_t i = 0; i < c->batch->replaced.count; i++)
            storage_id_list_add(replaced, c->batch->replaced.at[i]);
        return WEIR_OK;
    }
    if (d->awaits_label)
        return storage_late_labels_fill(c->batch, c->db, c->cache, c->dataset->next_row, replaced,
                                        c->err);
    if (d->keep == KEEP_LAST)
        return storage_duplicates_replaced(c->batch, c->db, c->dataset->next_row, replaced, c->err);
    return d->keep == KEEP_FIRST ? storage_duplicates_refuse(c->batch, c->db, c->err) : WEIR_OK;
}

static enum weir_status insert_samples(const struct commit *c)
{
    struct id_list replaced = {0};
    enum weir_status status = choose(c, &replaced);

    if (status == WEIR_OK)
        status = insert_rows(c);
    if (status == WEIR_OK)
        status = replace(c, &replaced);
    free(replaced.at);
    return status;
}

/* ---- the rest ---- */

static enum weir_status write_groups(const struct commit *c)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; status == WEIR_OK && i < c->batch->groups.count; i++)
        status = storage_file_cache_write(c->dataset->file_cache, c->dataset->number,
                                          c->batch->groups.at[i], c->err);
    return status;
}

static enum weir_status write_classes(const struct commit *c)
{
    struct dataset *dataset = c->dataset;
    enum weir_status status = WEIR_OK;

    for (; status == WEIR_OK && dataset->class_stored < dataset->class_count;
         dataset->class_stored++)
        status =
            DB_RUN(c->db, Q_class_add, NULL, c->err, DB_I64(dataset->number),
                   DB_I64(dataset->class_stored), DB_TEXT(dataset->classes[dataset->class_stored]));
    return status;
}

/* The names of a file that is another one go, too. */
static enum weir_status withdraw_names(const struct commit *c, const char *path)
{
    struct id_list none = {0};

    return storage_mirrors(c->dataset)
               ? storage_refused_names_replace(c->db, c->dataset, path, &none, c->err)
               : WEIR_OK;
}

static enum weir_status withdraw(const struct commit *c)
{
    const struct batch *batch = c->batch;
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; status == WEIR_OK && i < batch->withdrawals.count; i++) {
        WEIR_AUTO(weir_rows) rows = NULL;

        status = DB_RUN(c->db, Q_quarantine_withdraw, &rows, c->err, DB_I64(c->dataset->number),
                        DB_BYTES(weir_bytes_of(batch->withdrawals.at[i].path)),
                        DB_BOOL(batch->withdrawals.at[i].all));
        if (status == WEIR_OK && batch->withdrawals.at[i].all)
            status = withdraw_names(c, batch->withdrawals.at[i].path);
        if (status != WEIR_OK)
            return status;
        c->dataset->accounts.quarantined -= (uint64_t)weir_rows_i64(rows, 0, "quarantined");
        c->dataset->accounts.blocked -= (uint64_t)weir_rows_i64(rows, 0, "blocked");
    }
    return status;
}

static enum weir_status write_refusals(const struct commit *c)
{
    struct batch *batch = c->batch;
    enum weir_status status = withdraw(c);

    for (size_t i = 0; status == WEIR_OK && i < batch->refusals.count; i++) {
        const struct staged_refusal *refusal = &batch->refusals.at[i];

        status = DB_RUN(c->db, Q_quarantine_add, NULL, c->err, DB_I64(c->dataset->number),
                        DB_BYTES(weir_bytes_of(refusal->path)), DB_TEXT(refusal->place),
                        DB_TEXT(refusal->reason), DB_I64(refusal->count), DB_BOOL(refusal->is_tail),
                        DB_BOOL(refusal->is_blocked),
                        DB_BOOL(!c->dataset->declaration->is_copied && !refusal->is_blocked));
        if (refusal->is_blocked)
            c->dataset->accounts.blocked += refusal->count;
        else
            c->dataset->accounts.quarantined += refusal->count;
    }
    return status == WEIR_OK ? storage_refused_names_store(batch, c->db, c->err) : status;
}

static enum weir_status write_blocked(const struct commit *c)
{
    const struct batch *batch = c->batch;
    enum weir_status status = WEIR_OK;

    if (batch->blocked.count > 0)
        status = DB_RUN(c->db, Q_blocked_add_all, NULL, c->err, DB_I64(c->dataset->number),
                        DB_I64S(batch->blocked.at, batch->blocked.count));
    if (status != WEIR_OK || batch->met.count == 0)
        return status;
    c->dataset->accounts.blocked += batch->met.count;
    return DB_RUN(c->db, Q_blocked_met, NULL, c->err, DB_I64(c->dataset->number),
                  DB_I64S(batch->met.at, batch->met.count));
}

static enum weir_status write_all(const struct commit *c)
{
    enum weir_status status;

    for (size_t i = 0; i < c->batch->groups.count; i++) {
        if (c->batch->groups.at[i]->number == 0)
            storage_dataset_add_group(c->dataset, c->batch->groups.at[i]);
    }
    status = kill_kind(c, WEIR_CHANGE_REMOVED);
    if (status == WEIR_OK)
        status = kill_kind(c, WEIR_CHANGE_REPLACED);
    if (status == WEIR_OK)
        status = insert_samples(c);
    if (status == WEIR_OK)
        status = write_groups(c);
    if (status == WEIR_OK)
        status = write_classes(c);
    if (status == WEIR_OK)
        status = write_refusals(c);
    if (status == WEIR_OK)
        status = write_blocked(c);
    if (status == WEIR_OK && c->batch->also != NULL)
        status = c->batch->also(c->batch->also_owner, c->db, c->err);
    return status;
}

/* Samples of another dataset whose labels have come with this batch, which began at `first_row`. */
static enum weir_status write_late(const struct commit *c, uint64_t first_row)
{
    WEIR_AUTO(batch) late = storage_batch_new(c->dataset->updates);
    const struct commit l = {late, late->dataset, c->db, c->cache, c->err};
    uint64_t before = late->dataset->sequence;
    enum weir_status status;

    late->is_late = true;
    status = storage_late_labels_stage(c->batch, c->db, c->cache, first_row, late, c->err);
    if (status != WEIR_OK || late->row_count == 0)
        return status;
    status = write_all(&l);
    return status == WEIR_OK ? storage_dataset_store(c->db, late->dataset, before, c->err) : status;
}

/* Bytes that hold still from now on. Of a file that is new to the store, from its beginning. */
static struct fresh_bytes fresh_of(const struct batch *batch, const struct batch_segment *segment)
{
    const struct stored_file *file = segment->file;
    bool is_one_sample = batch->dataset->declaration->format->is_one_sample;
    bool is_new = file->samples == segment->count;

    return (struct fresh_bytes){
        .file = storage_file_number(file),
        .from = is_new ? 0 : (uint64_t)batch->columns[BATCH_OFFSET][segment->first],
        .to = is_one_sample ? file->size : file->indexed,
    };
}

static void note_fresh(const struct batch *batch)
{
    struct fresh *fresh = &batch->dataset->fresh;

    if (!storage_owns(batch->dataset))
        return;
    for (size_t i = 0; i < batch->kills.count; i++)
        storage_fresh_add(fresh,
                          (struct fresh_bytes){storage_file_number(batch->kills.at[i].file), 0, 0});
    for (size_t i = 0; i < batch->segments.count; i++)
        storage_fresh_add(fresh, fresh_of(batch, &batch->segments.at[i]));
}

enum weir_status storage_batch_commit(struct batch *batch, struct weir_db *db,
                                      struct chunk_cache *cache, struct weir_error *err)
{
    const struct commit c = {
        .batch = batch, .dataset = batch->dataset, .db = db, .cache = cache, .err = err};
    uint64_t before = batch->dataset->sequence, first_row = batch->dataset->next_row;
    enum weir_status status = weir_db_begin(db, err);

    if (status == WEIR_OK)
        status = write_all(&c);
    if (status == WEIR_OK && batch->dataset->updates != NULL && batch->keys.count > 0)
        status = write_late(&c, first_row);
    if (status == WEIR_OK)
        status = storage_dataset_store(db, batch->dataset, before, err);
    if (status == WEIR_OK && weir_fault("storage.batch.commit"))
        status = weir_fail(err, WEIR_UNAVAILABLE, "fault storage.batch.commit");
    if (status == WEIR_OK)
        status = weir_db_commit(db, err);
    if (status == WEIR_OK && weir_fault("storage.batch.committed"))
        status = weir_fail(err, WEIR_UNAVAILABLE, "fault storage.batch.committed");
    if (status != WEIR_OK)
        weir_db_rollback(db);
    else
        storage_batch_keep_files(batch);
    if (status == WEIR_OK)
        note_fresh(batch);
    batch->dataset->columns_are_staged = false;
    storage_batch_clear(batch);
    return status;
}
