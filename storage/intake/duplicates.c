/* Duplicates by key: see duplicates.h. */
#include "storage/intake/duplicates.h"

#include "core/base/memory.h"
#include "storage/files/blanking.h"
#include "storage/files/copy.h"
#include "storage/keys/key_store.h"

#include <stdlib.h>
#include <string.h>

/* ---- what is known already ---- */

/* Rows of the batch stand by key, then in their order. */
static void sort_keys(struct batch *batch, struct weir_db *db)
{
    if (batch->keys.count > 0)
        storage_key_store_sort(db, batch->keys.at, batch->keys.count);
}

static bool is_live(const struct dataset *dataset, uint64_t place)
{
    return !storage_dataset_is_dead(dataset, (uint32_t)(place >> WEIR_ROW_BITS),
                                    (uint32_t)place & (WEIR_BLOCK_ROWS - 1));
}

/* The live samples that have a key of the batch, whose keys are sorted. */
static enum weir_status find_known(const struct batch *batch, struct weir_db *db,
                                   struct key_hits *hits, struct weir_error *err)
{
    WEIR_AUTO_FREE uint64_t *hashes = weir_calloc(batch->keys.count + 1, sizeof(*hashes));
    size_t count = 0, kept = 0;
    enum weir_status status;

    for (size_t i = 0; i < batch->keys.count; i++) {
        if (count == 0 || hashes[count - 1] != batch->keys.at[i].hash)
            hashes[count++] = batch->keys.at[i].hash;
    }
    status = storage_key_store_find(db, &batch->dataset->keys, &(struct id_list){hashes, count, 0},
                                    SIZE_MAX, hits, err);
    for (size_t i = 0; i < hits->count; i++) {
        if (is_live(batch->dataset, hits->at[i].id))
            hits->at[kept++] = hits->at[i];
    }
    hits->count = kept;
    return status;
}

/* ---- keep: first ---- */

/* Marks the rows that are to go. */
static size_t mark(const struct batch *batch, const struct id_list *known, bool *gone)
{
    size_t count = 0;

    for (size_t i = 0; i < batch->keys.count; i++) {
        const struct sorted_run_entry *key = &batch->keys.at[i];
        bool is_later = i > 0 && key[-1].hash == key->hash;

        gone[key->id] = is_later || storage_id_list_has(known, key->hash);
        count += gone[key->id];
    }
    return count;
}

/* Moves what stays together; rows[i] becomes the new place of row i. */
static void move_rows(struct batch *batch, const bool *gone, uint64_t *rows)
{
    size_t kept = 0, bytes = storage_declaration_value_bytes(batch->dataset->declaration);

    for (size_t row = 0; row < batch->row_count; row++) {
        rows[row] = kept;
        if (gone[row])
            continue;
        for (int i = 0; i < BATCH_COLUMNS; i++)
            batch->columns[i][kept] = batch->columns[i][row];
        if (bytes > 0)
            memmove(batch->values.at + kept * bytes, batch->values.at + row * bytes, bytes);
        kept++;
    }
    batch->values.size = kept * bytes;
    batch->row_count = kept;
}

static void move_segments(struct batch *batch, const bool *gone, const uint64_t *rows)
{
    size_t kept = 0;

    for (size_t i = 0; i < batch->segments.count; i++) {
        struct batch_segment segment = batch->segments.at[i];
        size_t left = 0;

        for (size_t row = segment.first; row < segment.first + segment.count; row++)
            left += !gone[row];
        segment.file->samples -= segment.count - left;
        segment.first = rows[segment.first];
        segment.count = left;
        if (left > 0)
            batch->segments.at[kept++] = segment;
    }
    batch->segments.count = kept;
}

static size_t move_entries(struct sorted_run_entry *entries, size_t count, const bool *gone,
                           const uint64_t *rows)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (!gone[entries[i].id])
            entries[kept++] =
                (struct sorted_run_entry){.hash = entries[i].hash, .id = rows[entries[i].id]};
    }
    return kept;
}

/* ---- their bytes ---- */

/* Rows of one file that follow each other, from `*row` on; it becomes the row after them. They are one range where
 * nothing but line ends and what is blank already lies between them. */
static struct format_range next_range(const struct batch *batch, const bool *gone, size_t end,
                                      size_t *row)
{
    bool is_one_by_one = batch->dataset->declaration->format->scrub != NULL;
    size_t first = *row, last = first;

    while (!is_one_by_one && last + 1 < end && gone[last + 1])
        last++;
    *row = last + 1;
    return (struct format_range){(uint64_t)batch->columns[BATCH_OFFSET][first],
                                 (uint64_t)(batch->columns[BATCH_OFFSET][last] +
                                            batch->columns[BATCH_LENGTH][last] -
                                            batch->columns[BATCH_OFFSET][first])};
}

static enum weir_status blank_rows(const struct batch *batch, const struct batch_segment *segment,
                                   const bool *gone, struct blanking *blanking,
                                   struct weir_error *err)
{
    size_t end = segment->first + segment->count;
    uint64_t from = 0;
    enum weir_status status = WEIR_OK;

    for (size_t row = segment->first; status == WEIR_OK && row < end;) {
        if (gone[row]) {
            struct format_range range = next_range(batch, gone, end, &row);

            status = storage_blank_sample(blanking, from, range, err);
            from = range.offset + range.length;
        } else {
            from =
                (uint64_t)(batch->columns[BATCH_OFFSET][row] + batch->columns[BATCH_LENGTH][row]);
            row++;
        }
    }
    return status;
}

static bool has_gone(const struct batch_segment *segment, const bool *gone)
{
    for (size_t row = segment->first; row < segment->first + segment->count; row++) {
        if (gone[row])
            return true;
    }
    return false;
}

static enum weir_status blank_segment(const struct batch *batch,
                                      const struct batch_segment *segment, const bool *gone,
                                      struct weir_error *err)
{
    struct blanking blanking;
    struct weir_error other;
    enum weir_status status;

    if (!has_gone(segment, gone))
        return WEIR_OK;
    if (batch->dataset->declaration->format->is_one_sample) {
        storage_copy_remove(batch->dataset, segment->file->path);
        return WEIR_OK;
    }
    status =
        storage_blanking_open(batch->dataset, segment->file, weir_bytes(NULL, 0), &blanking, err);
    if (status != WEIR_OK)
        return status == WEIR_STALE ? WEIR_OK : status; /* no file, no bytes */
    status = blank_rows(batch, segment, gone, &blanking, err);
    if (status == WEIR_OK)
        return storage_blanking_close(&blanking, err);
    weir_ignore(storage_blanking_close(&blanking, &other)); /* the first error is reported */
    return status;
}

/* In copies nothing is left of a duplicate once the batch commits. An object is written again as its mirror is: there
 * it stays, and is known by its names. */
static enum weir_status blank_gone(const struct batch *batch, const bool *gone,
                                   struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    if (!batch->dataset->declaration->is_copied)
        return WEIR_OK;
    for (size_t i = 0; status == WEIR_OK && i < batch->segments.count; i++)
        status = blank_segment(batch, &batch->segments.at[i], gone, err);
    return status == WEIR_OK ? storage_copy_sync(batch->dataset, err) : status;
}

/* ---- their names ---- */

static void note_names(struct batch *batch, const struct sorted_run_entry *entries, size_t count,
                       const bool *gone)
{
    for (size_t i = 0; i < count; i++) {
        if (gone[entries[i].id])
            storage_batch_refused_name(batch, storage_batch_segment(batch, entries[i].id)->file,
                                       entries[i].hash);
    }
}

static void take_out(struct batch *batch, const bool *gone, size_t count)
{
    WEIR_AUTO_FREE uint64_t *rows = weir_calloc(batch->row_count + 1, sizeof(*rows));

    note_names(batch, batch->subjects.at, batch->subjects.count, gone);
    note_names(batch, batch->keys.at, batch->keys.count, gone);
    move_rows(batch, gone, rows);
    move_segments(batch, gone, rows);
    batch->subjects.count = move_entries(batch->subjects.at, batch->subjects.count, gone, rows);
    batch->keys.count = move_entries(batch->keys.at, batch->keys.count, gone, rows);
    batch->dataset->accounts.duplicate += count;
}

enum weir_status storage_duplicates_refuse(struct batch *batch, struct weir_db *db,
                                           struct weir_error *err)
{
    WEIR_AUTO_FREE bool *gone = weir_calloc(batch->row_count + 1, sizeof(*gone));
    struct key_hits hits = {0};
    struct id_list known = {0};
    size_t count;
    enum weir_status status;

    sort_keys(batch, db);
    status = find_known(batch, db, &hits, err);
    for (size_t i = 0; i < hits.count; i++)
        storage_id_list_add(&known, hits.at[i].hash);
    storage_id_list_sort(&known);
    count = status == WEIR_OK ? mark(batch, &known, gone) : 0;
    if (count > 0)
        status = blank_gone(batch, gone, err);
    if (status == WEIR_OK && count > 0)
        take_out(batch, gone, count);
    free(hits.at);
    free(known.at);
    return status;
}

/* ---- keep: last ---- */

enum weir_status storage_duplicates_replaced(struct batch *batch, struct weir_db *db,
                                             uint64_t first_row, struct id_list *places,
                                             struct weir_error *err)
{
    struct key_hits hits = {0};
    enum weir_status status;

    sort_keys(batch, db);
    status = find_known(batch, db, &hits, err);
    for (size_t i = 0; i < hits.count; i++)
        storage_id_list_add(places, hits.at[i].id);
    for (size_t i = 1; i < batch->keys.count; i++) {
        if (batch->keys.at[i - 1].hash == batch->keys.at[i].hash)
            storage_id_list_add(places, first_row + batch->keys.at[i - 1].id);
    }
    storage_id_list_sort(places);
    free(hits.at);
    return status;
}
