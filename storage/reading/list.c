/* Answering `list`: see list.h. */
#include "storage/reading/list.h"

#include "core/base/memory.h"
#include "core/wire/column.h"
#include "storage/catalog/deaths.h"
#include "storage/chunks/chunk_cache.h"
#include "storage/chunks/label_values.h"
#include "storage/reading/serve.h"

#include <string.h>

struct list {
    struct store *store;
    const struct dataset *dataset;
    const struct msg_list *asked;
    uint64_t end_row; /* block << 16 | row: what was added up to the position lies below */
    size_t limit;
    struct deaths later; /* after the position */

    struct weir_buf columns[LIST_COLUMNS];
    struct {
        uint32_t rows;
        uint32_t bytes[LIST_COLUMNS];
    } pieces[LIST_CHUNKS_MAX];
    size_t piece_count, rows;
    struct weir_buf vectors; /* of labels that are such */
    size_t value_bytes;      /* of a row; 0: they are none, or not asked for */
    uint64_t cursor;         /* the last id that was looked at */
    int64_t values[LIST_COLUMNS][WEIR_BLOCK_ROWS];
};

static uint64_t first_id(const struct list *list, const struct chunk_ref *ref)
{
    return weir_sample_id(list->dataset->number, ref->block, ref->first_row);
}

static uint64_t row_of(uint64_t id)
{
    return id & ((UINT64_C(1) << (WEIR_BLOCK_BITS + WEIR_ROW_BITS)) - 1);
}

/* Marks where the piece that was appended last ends. */
static void end_piece(struct list *list, size_t rows, const size_t *before)
{
    if (rows == 0)
        return;
    list->pieces[list->piece_count].rows = (uint32_t)rows;
    for (int i = 0; i < LIST_COLUMNS; i++)
        list->pieces[list->piece_count].bytes[i] = (uint32_t)(list->columns[i].size - before[i]);
    list->piece_count++;
    list->rows += rows;
}

/* ---- a whole chunk ---- */

static bool has_dead(const struct dataset *dataset, uint32_t block)
{
    const struct dead_rows *dead = block < dataset->dead_count ? &dataset->dead[block] : NULL;

    return dead != NULL &&
           (dead->erased.count > 0 || dead->removed.count > 0 || dead->replaced.count > 0);
}

static bool is_whole(const struct list *list, const struct chunk_ref *ref)
{
    return ref->time_min >= list->asked->from_time && ref->time_max < list->asked->to_time &&
           first_id(list, ref) > list->asked->after_id &&
           row_of(first_id(list, ref)) + ref->count <= list->end_row &&
           list->rows + ref->count <= list->limit && !has_dead(list->dataset, ref->block);
}

static void add_whole(struct list *list, const struct chunk_ref *ref, const struct chunk *chunk)
{
    size_t before[LIST_COLUMNS];

    for (int i = 0; i < LIST_COLUMNS; i++)
        before[i] = list->columns[i].size;
    weir_column_pack_steps((int64_t)first_id(list, ref), 1, &list->columns[LIST_IDS]);
    weir_buf_append(&list->columns[LIST_TIMES], chunk->times.packed.at, chunk->times.packed.size);
    weir_buf_append(&list->columns[LIST_LABELS], chunk->labels.packed.at,
                    chunk->labels.packed.size);
    if (list->value_bytes > 0)
        weir_buf_append(&list->vectors, chunk->values.at, chunk->values.size);
    end_piece(list, ref->count, before);
    list->cursor = first_id(list, ref) + ref->count - 1;
}

/* ---- some rows of a chunk ---- */

static bool is_wanted(const struct list *list, const struct chunk_ref *ref, uint64_t id,
                      int64_t time)
{
    uint32_t row = weir_sample_row(id);

    if (time < list->asked->from_time || time >= list->asked->to_time ||
        storage_dataset_is_erased(list->dataset, ref->block, row))
        return false;
    return !storage_dataset_is_dead(list->dataset, ref->block, row) ||
           storage_deaths_hold(&list->later, id);
}

static void add_value(struct list *list, const struct chunk *chunk, uint32_t i)
{
    if (list->value_bytes > 0)
        weir_buf_append(&list->vectors, storage_values_at(chunk->values, list->value_bytes, i).at,
                        list->value_bytes);
}

static void add_some(struct list *list, const struct chunk_ref *ref, const struct chunk *chunk)
{
    uint64_t first = first_id(list, ref), after = list->asked->after_id;
    size_t before[LIST_COLUMNS];
    size_t rows = 0;

    for (uint32_t i = after >= first ? (uint32_t)(after - first + 1) : 0;
         i < ref->count && row_of(first + i) < list->end_row && list->rows + rows < list->limit;
         i++) {
        int64_t time = weir_column_at(&chunk->times, i);

        list->cursor = first + i;
        if (!is_wanted(list, ref, first + i, time))
            continue;
        list->values[LIST_IDS][rows] = (int64_t)(first + i);
        list->values[LIST_TIMES][rows] = time;
        list->values[LIST_LABELS][rows++] = weir_column_at(&chunk->labels, i);
        add_value(list, chunk, i);
    }
    for (int i = 0; i < LIST_COLUMNS; i++) {
        before[i] = list->columns[i].size;
        if (rows > 0)
            weir_column_pack(list->values[i], rows, &list->columns[i]);
    }
    end_piece(list, rows, before);
}

/* ---- a page ---- */

static bool is_outside(const struct list *list, const struct chunk_ref *ref)
{
    return ref->time_min >= list->asked->to_time || ref->time_max < list->asked->from_time;
}

static enum weir_status add_chunk(struct list *list, const struct chunk_ref *ref,
                                  struct weir_error *err)
{
    const struct chunk *chunk;
    enum weir_status status = storage_chunk_cache_get(list->store->cache, list->store->db,
                                                      list->dataset, ref, &chunk, err);

    if (status != WEIR_OK)
        return status;
    if (is_whole(list, ref))
        add_whole(list, ref, chunk);
    else
        add_some(list, ref, chunk);
    return WEIR_OK;
}

static enum weir_status walk(struct list *list, bool *ret_end, struct weir_error *err)
{
    const struct dataset *dataset = list->dataset;
    size_t at = list->asked->after_id == 0
                    ? 0
                    : storage_dataset_chunk_from(dataset, row_of(list->asked->after_id) + 1);
    enum weir_status status = WEIR_OK;

    *ret_end = false;
    list->cursor = list->asked->after_id;
    for (int looked_into = 0; status == WEIR_OK && at < dataset->chunk_count; at++) {
        const struct chunk_ref *ref = &dataset->chunks[at];

        if (row_of(first_id(list, ref)) >= list->end_row)
            break;
        if (is_outside(list, ref)) {
            list->cursor = first_id(list, ref) + ref->count - 1;
            continue;
        }
        if (list->rows == list->limit || looked_into++ == LIST_CHUNKS_MAX)
            return WEIR_OK;
        status = add_chunk(list, ref, err);
        if (list->cursor < first_id(list, ref) + ref->count - 1 && list->rows == list->limit)
            return status;
    }
    *ret_end = status == WEIR_OK;
    return status;
}

static void fill(struct list *list, struct weir_arena *arena, struct msg_list_is *answer,
                 struct weir_frames *frames)
{
    size_t count = list->piece_count;
    uint32_t *rows = weir_arena_alloc(arena, count * sizeof(*rows) + 1);
    uint32_t *bytes[LIST_COLUMNS];

    for (int c = 0; c < LIST_COLUMNS; c++) {
        bytes[c] = weir_arena_alloc(arena, count * sizeof(*bytes[c]) + 1);
        for (size_t i = 0; i < count; i++)
            bytes[c][i] = list->pieces[i].bytes[c];
        weir_buf_reserve(&list->columns[c], 1); /* a frame that is empty has memory, too */
        weir_frames_give(frames, list->columns[c].at, list->columns[c].size);
        list->columns[c] = (struct weir_buf){0};
    }
    if (list->value_bytes > 0) {
        weir_buf_reserve(&list->vectors, 1);
        weir_frames_give(frames, list->vectors.at, list->vectors.size);
        list->vectors = (struct weir_buf){0};
    }
    for (size_t i = 0; i < count; i++)
        rows[i] = list->pieces[i].rows;
    answer->rows = (struct weir_u32s){rows, count};
    answer->id_bytes = (struct weir_u32s){bytes[LIST_IDS], count};
    answer->time_bytes = (struct weir_u32s){bytes[LIST_TIMES], count};
    answer->label_bytes = (struct weir_u32s){bytes[LIST_LABELS], count};
    answer->cursor = list->cursor;
    answer->label_kind = list->dataset->declaration->label_kind;
    answer->label_width = list->dataset->declaration->label_width;
    answer->value_type = list->dataset->declaration->value_type;
}

/* The position that is listed; what was live then must still be known. */
static enum weir_status fix_position(struct list *list, struct weir_error *err)
{
    const struct dataset *dataset = list->dataset;
    uint64_t position = list->asked->position;

    if (position == 0) {
        list->end_row = dataset->next_row;
        return WEIR_OK;
    }
    if (position > dataset->sequence)
        return weir_fail(err, WEIR_INVALID, "list.position: %llu is beyond the newest change %llu",
                         (unsigned long long)position, (unsigned long long)dataset->sequence);
    if (position < dataset->feed_floor)
        return weir_fail(err, WEIR_STALE,
                         "list.position: changes up to %llu are forgotten: what was live at %llu "
                         "is no longer known",
                         (unsigned long long)dataset->feed_floor, (unsigned long long)position);
    list->end_row = storage_dataset_row_at(dataset, position);
    return storage_deaths_load(list->store->db, dataset, position, &list->later, err);
}

/* A page with vectors has as many rows as make a message. */
static void limit_values(struct list *list)
{
    size_t rows_max = storage_values_rows(list->dataset->declaration, ANSWER_VALUES_BYTES);

    if (!list->asked->values)
        return;
    list->value_bytes = storage_declaration_value_bytes(list->dataset->declaration);
    list->limit = list->limit < rows_max ? list->limit : rows_max;
}

enum weir_status storage_list(struct store *store, const struct msg_list *asked,
                              struct weir_arena *arena, struct msg_list_is *answer,
                              struct weir_frames *frames, struct weir_error *err)
{
    WEIR_AUTO_FREE struct list *list = NULL;
    enum weir_status status = storage_ready(store, err);

    if (status != WEIR_OK)
        return status;
    list = weir_calloc(1, sizeof(*list));
    list->store = store;
    list->asked = asked;
    list->dataset = storage_catalog_at(store->catalog, asked->dataset);
    list->limit = asked->limit == 0 || asked->limit > LIST_ROWS_MAX ? LIST_ROWS_MAX : asked->limit;
    if (list->dataset == NULL)
        return weir_fail(err, WEIR_NOT_FOUND, "no dataset %llu",
                         (unsigned long long)asked->dataset);
    limit_values(list);
    status = fix_position(list, err);
    if (status == WEIR_OK)
        status = walk(list, &answer->end, err);
    if (status == WEIR_OK)
        fill(list, arena, answer, frames);
    for (int c = 0; c < LIST_COLUMNS; c++)
        weir_buf_fini(&list->columns[c]);
    weir_buf_fini(&list->vectors);
    storage_deaths_fini(&list->later);
    return status;
}
