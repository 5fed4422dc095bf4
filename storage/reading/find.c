/* Finding a sample, from memory: see serve.h. */
#include "storage/chunks/chunk_cache.h"
#include "storage/chunks/label_values.h"
#include "storage/reading/id_order.h"
#include "storage/reading/serve.h"
#include "storage/sums/sums.h"

#include "core/base/memory.h"
#include "core/wire/column.h"

#include <string.h>

/* Samples of a chunk that are found together: their places in memory are waited for at once. */
enum { RUN = 256 };

/* Finds one sample after another; what the newest one was found in is at hand for the next. Nothing
 * may change the catalog or the chunk cache meanwhile. */
struct finder {
    struct store *store;
    uint64_t first, count; /* ids of `chunk`; 0 at the start */
    struct dataset *dataset;
    const struct chunk *chunk;
    size_t row_bytes;             /* of a label that is a vector */
    const struct dead_rows *dead; /* of its block; NULL: none */
    struct stored_file *file;     /* of the newest sample */
    uint64_t file_number;
    struct weir_arena *arena;       /* takes copies of files; NULL: `file` is the catalog's */
    const struct file_group *group; /* group of the newest copy */
};

/* Turns to the chunk that holds the id; without one `count` is 0. */
static enum weir_status move_to(struct finder *finder, uint64_t id, struct weir_error *err)
{
    struct store *store = finder->store;
    uint32_t block = weir_sample_block(id), row = weir_sample_row(id);
    struct dataset *dataset = storage_catalog_at(store->catalog, weir_sample_dataset(id));
    const struct chunk_ref *ref =
        dataset != NULL ? storage_dataset_chunk(dataset, block, row) : NULL;

    *finder = (struct finder){
        .store = store, .dataset = dataset, .arena = finder->arena, .group = finder->group};
    if (ref == NULL)
        return WEIR_OK;
    finder->first = weir_sample_id(dataset->number, block, ref->first_row);
    finder->count = ref->count;
    finder->row_bytes = storage_declaration_value_bytes(dataset->declaration);
    finder->dead = block < dataset->dead_count ? &dataset->dead[block] : NULL;
    return storage_chunk_cache_get(store->cache, store->db, dataset, ref, &finder->chunk, err);
}

/* A request may go over more groups than there is room for: the one it is in stays, others may leave. */
static void move_to_group(struct finder *finder, struct file_group *group)
{
    if (finder->group == group)
        return;
    finder->group = group;
    storage_file_pin(group);
    storage_file_cache_trim(finder->store->catalog->file_cache);
    storage_file_unpin(group);
}

/* Copies a file for a request, which keeps its own. */
static struct stored_file *copy_file(struct finder *finder, const struct stored_file *file)
{
    struct stored_file *copy = weir_arena_copy(finder->arena, file, sizeof(*file));

    move_to_group(finder, file->group);
    copy->group = NULL;
    if (file->path != NULL)
        copy->path = weir_arena_strndup(finder->arena, file->path, strlen(file->path));
    return copy;
}

static enum weir_status move_to_file(struct finder *finder, uint64_t number, struct weir_error *err)
{
    enum weir_status status = storage_dataset_file(finder->dataset, number, &finder->file, err);

    finder->file_number = number;
    if (status != WEIR_OK)
        finder->file = NULL;
    else if (finder->file != NULL && finder->arena)
        finder->file = copy_file(finder, finder->file);
    return status;
}

enum weir_sample_state storage_state_of(const struct dead_rows *dead, uint32_t row,
                                        const struct stored_file *file)
{
    if (dead != NULL && weir_bits_get(&dead->erased, row))
        return WEIR_SAMPLE_ERASED;
    if (file == NULL || file->state != FILE_LIVE)
        return WEIR_SAMPLE_GONE;
    if (dead != NULL && (weir_bits_get(&dead->removed, row) || weir_bits_get(&dead->replaced, row)))
        return WEIR_SAMPLE_GONE;
    return WEIR_SAMPLE_LIVE;
}

enum weir_sample_state storage_serve_state(struct sums *sums, const struct located *found)
{
    if (found->state != WEIR_SAMPLE_LIVE)
        return found->state;
    if (storage_sums_is_damaged(sums, found->dataset, found->number, found->offset, found->length))
        return WEIR_SAMPLE_GONE;
    storage_sums_want(sums, found->dataset, found->number, found->offset, found->length);
    return WEIR_SAMPLE_LIVE;
}

struct run_columns {
    int64_t files[RUN], offsets[RUN], lengths[RUN], labels[RUN], times[RUN];
};

/* Rows of a chunk, and what its columns say of them. */
struct run {
    size_t count;
    uint32_t rows[RUN]; /* of the chunk, less its first */
    struct run_columns *columns;
};

static void take_columns(const struct chunk *chunk, const struct run *run)
{
    struct run_columns *columns = run->columns;

    weir_column_take(&chunk->files, run->rows, run->count, columns->files);
    weir_column_take(&chunk->offsets, run->rows, run->count, columns->offsets);
    weir_column_take(&chunk->lengths, run->rows, run->count, columns->lengths);
    weir_column_take(&chunk->labels, run->rows, run->count, columns->labels);
    weir_column_take(&chunk->times, run->rows, run->count, columns->times);
}

static enum weir_status describe(struct finder *finder, const struct run *run, size_t i,
                                 uint64_t id, struct located *ret_located, struct weir_error *err)
{
    const struct run_columns *columns = run->columns;
    uint64_t file = (uint64_t)columns->files[i];
    enum weir_status status = WEIR_OK;

    if (finder->file == NULL || file != finder->file_number)
        status = move_to_file(finder, file, err);
    if (status != WEIR_OK)
        return status;
    *ret_located = (struct located){
        .state = storage_state_of(finder->dead, weir_sample_row(id), finder->file),
        .dataset = finder->dataset,
        .file = finder->file,
        .number = file,
        .offset = (uint64_t)columns->offsets[i],
        .length = (uint64_t)columns->lengths[i],
        .label = columns->labels[i],
        .values = storage_values_at(finder->chunk->values, finder->row_bytes, run->rows[i]),
        .time = columns->times[i],
    };
    return WEIR_OK;
}

/* Ids from `from` on, in that order, that lie in the chunk; none: it is turned to the first one's, and then
 * there is one at least. */
static enum weir_status begin_run(struct finder *finder, const struct weir_u64s *ids,
                                  const uint32_t *order, size_t from, struct run *run,
                                  struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    run->count = 0;
    if (ids->at[order[from]] - finder->first >= finder->count)
        status = move_to(finder, ids->at[order[from]], err);
    if (status != WEIR_OK)
        return status;
    for (size_t i = from; run->count < RUN && i < ids->count; i++) {
        uint64_t row = ids->at[order[i]] - finder->first;

        if (row >= finder->count)
            break;
        run->rows[run->count++] = (uint32_t)row;
    }
    return WEIR_OK;
}

/* A search, and whom it is for. */
struct answer {
    storage_found_fn *on_found;
    void *owner;
};

static enum weir_status tell_run(struct finder *finder, const struct run *run, const uint64_t *ids,
                                 const uint32_t *order, const struct answer *answer,
                                 struct weir_error *err)
{
    struct located found = {.state = WEIR_SAMPLE_GONE, .dataset = finder->dataset};
    enum weir_status status = WEIR_OK;

    if (run->count == 0) /* nobody knows it */
        answer->on_found(answer->owner, order[0], &found);
    for (size_t i = 0; status == WEIR_OK && i < run->count; i++) {
        status = describe(finder, run, i, ids[order[i]], &found, err);
        if (status == WEIR_OK)
            answer->on_found(answer->owner, order[i], &found);
    }
    return status;
}

/* All of `ids`, in the order of their places. */
static enum weir_status find_in_order(struct finder *finder, const struct weir_u64s *ids,
                                      const uint32_t *order, const struct answer *answer,
                                      struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    struct run_columns columns;
    struct run run;

    run.columns = &columns;
    for (size_t i = 0; status == WEIR_OK && i < ids->count;) {
        status = begin_run(finder, ids, order, i, &run, err);
        if (status == WEIR_OK && run.count > 0)
            take_columns(finder->chunk, &run);
        if (status == WEIR_OK)
            status = tell_run(finder, &run, ids->at, order + i, answer, err);
        i += run.count == 0 ? 1 : run.count;
    }
    return status;
}

static void keep(void *owner, uint32_t number, const struct located *found)
{
    (void)number;
    *(struct located *)owner = *found;
}

enum weir_status storage_find(struct store *store, uint64_t id, struct located *ret_located,
                              struct weir_error *err)
{
    const struct weir_u64s ids = {.at = &id, .count = 1};
    const struct answer answer = {keep, ret_located};
    struct finder finder = {.store = store};

    storage_file_cache_trim(store->catalog->file_cache);
    return find_in_order(&finder, &ids, &(uint32_t){0}, &answer, err);
}

enum weir_status storage_find_all(struct store *store, const struct weir_u64s *ids,
                                  struct weir_arena *arena, storage_found_fn *on_found, void *owner,
                                  struct weir_error *err)
{
    const uint32_t *order = storage_id_order(ids->at, (uint32_t)ids->count, arena);
    const struct answer answer = {on_found, owner};
    struct finder finder = {.store = store, .arena = arena};

    return find_in_order(&finder, ids, order, &answer, err);
}
