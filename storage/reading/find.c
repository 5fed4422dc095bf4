/* Where a sample is, from memory: see serve.h. */
#include "storage/intake/label_values.h"
#include "storage/reading/id_order.h"
#include "storage/reading/serve.h"

#include "core/base/memory.h"

#include <string.h>

/* Finds one sample after another; what the newest one was found in is at hand for the next. Nothing
 * may change the catalog or the chunk cache meanwhile. */
struct finder {
    struct storage *storage;
    uint64_t first, count; /* ids of `chunk`; 0 at the start */
    struct dataset *dataset;
    const struct chunk *chunk;
    const struct dead_rows *dead; /* of its block; NULL: none */
    struct stored_file *file;     /* of the newest sample */
    uint64_t file_number;
    struct weir_arena *arena; /* takes copies of files; NULL: `file` is the catalog's */
};

/* Turns to the chunk that holds the id; without one `count` is 0. */
static enum weir_status turn_to(struct finder *finder, uint64_t id, struct weir_error *err)
{
    struct storage *storage = finder->storage;
    uint32_t block = weir_sample_block(id), row = weir_sample_row(id);
    struct dataset *dataset = storage_catalog_at(storage->catalog, weir_sample_dataset(id));
    const struct chunk_ref *ref = dataset ? storage_dataset_chunk(dataset, block, row) : NULL;

    *finder = (struct finder){.storage = storage, .dataset = dataset, .arena = finder->arena};
    if (!ref)
        return WEIR_OK;
    finder->first = weir_sample_id(dataset->number, block, ref->first_row);
    finder->count = ref->count;
    finder->dead = block < dataset->dead_count ? &dataset->dead[block] : NULL;
    return storage_chunk_cache_get(storage->cache, storage->db, dataset, ref, &finder->chunk, err);
}

/* A request may go over more files than there is room for: what it keeps of them is its own. */
static struct stored_file *copy_file(const struct finder *finder, const struct stored_file *file)
{
    struct stored_file *copy = weir_arena_copy(finder->arena, file, sizeof *file);

    copy->group = NULL;
    if (file->path)
        copy->path = weir_arena_strndup(finder->arena, file->path, strlen(file->path));
    storage_file_shelf_trim(finder->storage->catalog->shelf);
    return copy;
}

static enum weir_status turn_to_file(struct finder *finder, uint64_t number, struct weir_error *err)
{
    enum weir_status status = storage_dataset_file(finder->dataset, number, &finder->file, err);

    finder->file_number = number;
    if (status != WEIR_OK)
        finder->file = NULL;
    else if (finder->file && finder->arena)
        finder->file = copy_file(finder, finder->file);
    return status;
}

static enum weir_sample_state state_of(const struct finder *finder, uint32_t row,
                                       const struct stored_file *file)
{
    const struct dead_rows *dead = finder->dead;

    if (dead && weir_bits_get(&dead->erased, row))
        return WEIR_SAMPLE_ERASED;
    if (!file || file->state != FILE_LIVE)
        return WEIR_SAMPLE_GONE;
    if (dead && (weir_bits_get(&dead->removed, row) || weir_bits_get(&dead->replaced, row)))
        return WEIR_SAMPLE_GONE;
    return WEIR_SAMPLE_LIVE;
}

static enum weir_status find_next(struct finder *finder, uint64_t id, struct located *ret_located,
                                  struct weir_error *err)
{
    const struct chunk *chunk;
    uint64_t i, file;
    enum weir_status status = WEIR_OK;

    if (id - finder->first >= finder->count) {
        status = turn_to(finder, id, err);
        if (status != WEIR_OK) {
            finder->count = 0;
            return status;
        }
    }
    *ret_located = (struct located){.state = WEIR_SAMPLE_GONE, .dataset = finder->dataset};
    if (finder->count == 0)
        return WEIR_OK;
    chunk = finder->chunk;
    i = id - finder->first;
    file = (uint64_t)storage_column_at(&chunk->files, i);
    if (!finder->file || file != finder->file_number)
        status = turn_to_file(finder, file, err);
    if (status != WEIR_OK)
        return status;
    ret_located->file = finder->file;
    ret_located->offset = (uint64_t)storage_column_at(&chunk->offsets, i);
    ret_located->length = (uint64_t)storage_column_at(&chunk->lengths, i);
    ret_located->label = storage_column_at(&chunk->labels, i);
    ret_located->values = storage_values_at(
        chunk->values, storage_declaration_value_bytes(finder->dataset->declaration), i);
    ret_located->time = storage_column_at(&chunk->times, i);
    ret_located->state = state_of(finder, weir_sample_row(id), ret_located->file);
    return WEIR_OK;
}

enum weir_status storage_find(struct storage *storage, uint64_t id, struct located *ret_located,
                              struct weir_error *err)
{
    struct finder finder = {.storage = storage};

    storage_file_shelf_trim(storage->catalog->shelf);
    return find_next(&finder, id, ret_located, err);
}

enum weir_status storage_find_all(struct storage *storage, const struct weir_u64s *ids,
                                  struct weir_arena *arena, storage_found_fn *on_found, void *owner,
                                  struct weir_error *err)
{
    const uint32_t *order = storage_id_order(ids->at, (uint32_t)ids->count, arena);
    struct finder finder = {.storage = storage, .arena = arena};

    for (size_t i = 0; i < ids->count; i++) {
        struct located found;
        enum weir_status status = find_next(&finder, ids->at[order[i]], &found, err);

        if (status != WEIR_OK)
            return status;
        on_found(owner, order[i], &found);
    }
    return WEIR_OK;
}
