/* The places of all samples of a chunk, as its columns lie in Postgres: for those who ask for many of them, again
 * and again. What is dead is blank. */
#include "storage/chunks/chunk_cache.h"
#include "storage/reading/serve.h"
#include "storage/reading/use_leases.h"
#include "storage/sums/sums.h"

#include "core/base/memory.h"
#include "core/wire/column.h"

#include <stdlib.h>

enum {
    REQUEST_CHUNKS_MAX = 64,
    REQUEST_DATASETS_MAX = 64,
    CHUNK_FILES_MAX = 256,        /* a chunk of more is not to be had as a whole */
    ANSWER_CHUNK_BYTES = 4 << 20, /* an answer ends when its columns are more, … */
    ANSWER_CHUNK_FILES = 4096,    /* … or its files, */
    ANSWER_CHUNKS_BLANKED = 8,    /* or so many chunks had to be packed again */
    PLACES = 6,                   /* columns: states, files, offsets, lengths, labels, times */
};

struct answer {
    const struct serving *serving;
    size_t count, files, blanked;
    uint64_t firsts[REQUEST_CHUNKS_MAX], first_files[REQUEST_CHUNKS_MAX];
    uint32_t counts[REQUEST_CHUNKS_MAX], file_counts[REQUEST_CHUNKS_MAX];
    uint32_t label_kinds[REQUEST_CHUNKS_MAX], bytes[REQUEST_CHUNKS_MAX * PLACES];
    struct answer_file found[ANSWER_CHUNK_FILES + CHUNK_FILES_MAX];
    struct weir_buf columns;
};

/* A chunk on its way into the answer. */
struct whole {
    const struct sums *sums;
    const struct dataset *dataset;
    const struct chunk *chunk;
    const struct dead_rows *dead; /* of its block; NULL: none */
    uint64_t first_file;
    size_t file_count;
    struct answer_file *found;
};

/* ---- its files ---- */

/* Finds the lowest and the highest file number of the column. */
static void span_files(const struct chunk *chunk, uint64_t *ret_first, uint64_t *ret_last)
{
    uint64_t first = UINT64_MAX, last = 0;

    for (uint32_t i = 0; i < chunk->count; i++) {
        uint64_t number = (uint64_t)weir_column_at(&chunk->files, i);

        first = number < first ? number : first;
        last = number > last ? number : last;
    }
    *ret_first = first;
    *ret_last = last;
}

/* False when they are too many, or one of them is unknown. */
static bool find_files(struct whole *whole, enum weir_status *ret_status, struct weir_error *err)
{
    uint64_t last;

    span_files(whole->chunk, &whole->first_file, &last);
    if (last - whole->first_file >= CHUNK_FILES_MAX)
        return false;
    whole->file_count = last - whole->first_file + 1;
    for (size_t i = 0; i < whole->file_count; i++) {
        struct stored_file *file = NULL;

        *ret_status = storage_dataset_file(whole->dataset, whole->first_file + i, &file, err);
        if (*ret_status != WEIR_OK || file == NULL)
            return false;
        whole->found[i] = (struct answer_file){whole->dataset, file};
    }
    return true;
}

/* ---- its columns ---- */

/* Or some that lie in damaged blocks. */
static bool has_dead(const struct whole *whole)
{
    const struct dead_rows *dead = whole->dead;

    if (storage_sums_has_damage(whole->sums, whole->dataset, whole->first_file, whole->file_count))
        return true;
    for (size_t i = 0; i < whole->file_count; i++) {
        if (whole->found[i].file->state != FILE_LIVE)
            return true;
    }
    return dead != NULL &&
           (dead->erased.count > 0 || dead->removed.count > 0 || dead->replaced.count > 0);
}

static void end_column(struct answer *answer, size_t column, size_t before)
{
    answer->bytes[answer->count * PLACES + column] = (uint32_t)(answer->columns.size - before);
}

static void add_column(struct answer *answer, size_t column, struct weir_bytes packed)
{
    size_t before = answer->columns.size;

    weir_buf_append(&answer->columns, packed.at, packed.size);
    end_column(answer, column, before);
}

static void pack_column(struct answer *answer, size_t column, const int64_t *values, size_t count)
{
    size_t before = answer->columns.size;

    weir_column_pack(values, count, &answer->columns);
    end_column(answer, column, before);
}

static enum weir_sample_state state_of(const struct whole *whole, uint32_t i)
{
    const struct chunk *chunk = whole->chunk;
    uint64_t file = (uint64_t)weir_column_at(&chunk->files, i);
    enum weir_sample_state state = storage_state_of(whole->dead, chunk->first_row + i,
                                                    whole->found[file - whole->first_file].file);

    return state == WEIR_SAMPLE_LIVE &&
                   storage_sums_is_damaged(whole->sums, whole->dataset, file,
                                           (uint64_t)weir_column_at(&chunk->offsets, i),
                                           (uint64_t)weir_column_at(&chunk->lengths, i))
               ? WEIR_SAMPLE_GONE
               : state;
}

static void pack_states(struct answer *answer, const struct whole *whole, int64_t *states)
{
    const struct chunk *chunk = whole->chunk;

    for (uint32_t i = 0; i < chunk->count; i++)
        states[i] = state_of(whole, i);
    pack_column(answer, 0, states, chunk->count);
}

static void pack_live(struct answer *answer, size_t column, const struct weir_column_view *view,
                      const int64_t *states, size_t count)
{
    WEIR_AUTO_FREE int64_t *values = weir_calloc(count, sizeof(*values));

    weir_column_range(view, 0, count, values);
    for (size_t i = 0; i < count; i++)
        values[i] = states[i] == WEIR_SAMPLE_LIVE ? values[i] : 0;
    pack_column(answer, column, values, count);
}

static void add_blanked(struct answer *answer, const struct whole *whole)
{
    const struct chunk *chunk = whole->chunk;
    WEIR_AUTO_FREE int64_t *states = weir_calloc(chunk->count, sizeof(*states));

    pack_states(answer, whole, states);
    add_column(answer, 1, chunk->files.packed);
    pack_live(answer, 2, &chunk->offsets, states, chunk->count);
    pack_live(answer, 3, &chunk->lengths, states, chunk->count);
    pack_live(answer, 4, &chunk->labels, states, chunk->count);
    pack_live(answer, 5, &chunk->times, states, chunk->count);
    answer->blanked++;
}

static void add_as_it_lies(struct answer *answer, const struct chunk *chunk)
{
    size_t before = answer->columns.size;

    weir_column_pack_steps(WEIR_SAMPLE_LIVE, 0, &answer->columns);
    end_column(answer, 0, before);
    add_column(answer, 1, chunk->files.packed);
    add_column(answer, 2, chunk->offsets.packed);
    add_column(answer, 3, chunk->lengths.packed);
    add_column(answer, 4, chunk->labels.packed);
    add_column(answer, 5, chunk->times.packed);
}

/* ---- chunks ---- */

static void add_whole(struct answer *answer, const struct whole *whole)
{
    const struct chunk *chunk = whole->chunk;
    size_t i = answer->count;

    if (has_dead(whole))
        add_blanked(answer, whole);
    else
        add_as_it_lies(answer, chunk);
    answer->firsts[i] = weir_sample_id(chunk->dataset, chunk->block, chunk->first_row);
    answer->counts[i] = chunk->count;
    answer->label_kinds[i] = whole->dataset->declaration->label_kind;
    answer->first_files[i] = whole->first_file;
    answer->file_counts[i] = (uint32_t)whole->file_count;
    answer->files += whole->file_count;
}

/* Adds the chunk that holds the id; when there is none, that is left to `locate`. */
static enum weir_status add(struct answer *answer, uint64_t id, struct weir_error *err)
{
    struct store *store = answer->serving->store;
    uint32_t block = weir_sample_block(id);
    struct dataset *dataset = storage_catalog_at(store->catalog, weir_sample_dataset(id));
    const struct chunk_ref *ref =
        dataset != NULL ? storage_dataset_chunk(dataset, block, weir_sample_row(id)) : NULL;
    struct whole whole = {
        .sums = answer->serving->sums, .dataset = dataset, .found = answer->found + answer->files};
    enum weir_status status = WEIR_OK;

    if (ref == NULL || storage_declaration_value_bytes(dataset->declaration) > 0)
        return WEIR_OK;
    whole.dead = block < dataset->dead_count ? &dataset->dead[block] : NULL;
    status = storage_chunk_cache_get(store->cache, store->db, dataset, ref, &whole.chunk, err);
    if (status != WEIR_OK || !find_files(&whole, &status, err))
        return status;
    add_whole(answer, &whole);
    storage_sums_want_chunk(answer->serving->sums, id);
    return status;
}

static bool has_room(const struct answer *answer)
{
    return answer->columns.size < ANSWER_CHUNK_BYTES && answer->files < ANSWER_CHUNK_FILES &&
           answer->blanked < ANSWER_CHUNKS_BLANKED;
}

static struct weir_u64s editions(const struct store *store, const struct weir_u64s *datasets,
                                 struct weir_arena *arena)
{
    uint64_t *at = weir_arena_alloc(arena, datasets->count * sizeof(*at) + 1);

    for (size_t i = 0; i < datasets->count; i++) {
        const struct dataset *dataset = storage_catalog_at(store->catalog, datasets->at[i]);

        at[i] = dataset != NULL ? dataset->edition : 0;
    }
    return (struct weir_u64s){at, datasets->count};
}

static void tell(struct answer *answer, struct weir_arena *arena, struct msg_located_chunks *ret,
                 struct weir_frames *frames)
{
    struct answer_files files = storage_answer_files(answer->found, answer->files, arena);
    size_t count = answer->count;

    ret->epoch = storage_leases_epoch(answer->serving->leases);
    ret->firsts = (struct weir_u64s){answer->firsts, count};
    ret->counts = (struct weir_u32s){answer->counts, count};
    ret->bytes = (struct weir_u32s){answer->bytes, count * PLACES};
    ret->label_kinds = (struct weir_u32s){answer->label_kinds, count};
    ret->first_files = (struct weir_u64s){answer->first_files, count};
    ret->file_counts = (struct weir_u32s){answer->file_counts, count};
    ret->paths = files.paths;
    ret->layouts = files.layouts;
    ret->devices = files.devices;
    ret->inodes = files.inodes;
    ret->sizes = files.sizes;
    ret->mtimes = files.mtimes;
    ret->host = answer->serving->host;
    weir_buf_reserve(&answer->columns, 1); /* a frame that is empty has memory, too */
    weir_frames_give(frames, answer->columns.at, answer->columns.size);
}

enum weir_status storage_locate_chunks(const struct serving *serving,
                                       const struct msg_locate_chunks *asked,
                                       struct weir_arena *arena, struct msg_located_chunks *ret,
                                       struct weir_frames *frames, struct weir_error *err)
{
    struct answer *answer = weir_arena_alloc(arena, sizeof(*answer));
    enum weir_status status = storage_readable(serving->store, err);

    if (status != WEIR_OK)
        return status;
    if (asked->ids.count > REQUEST_CHUNKS_MAX || asked->datasets.count > REQUEST_DATASETS_MAX)
        return weir_fail(err, WEIR_LIMIT,
                         "locate_chunks: found %zu datasets and %zu ids, expected at most %d, %d",
                         asked->datasets.count, asked->ids.count, REQUEST_DATASETS_MAX,
                         REQUEST_CHUNKS_MAX);
    storage_file_cache_trim(serving->store->catalog->file_cache);
    answer->serving = serving;
    for (; status == WEIR_OK && answer->count < asked->ids.count && has_room(answer);
         answer->count++)
        status = add(answer, asked->ids.at[answer->count], err);
    if (status != WEIR_OK) {
        weir_buf_fini(&answer->columns);
        return status;
    }
    ret->datasets = asked->datasets;
    ret->editions = editions(serving->store, &asked->datasets, arena);
    ret->ids = (struct weir_u64s){asked->ids.at, answer->count};
    tell(answer, arena, ret, frames);
    return WEIR_OK;
}
