/* Where samples are: the hot path, answered from memory. */
#include "storage/serve.h"

#include "core/base/memory.h"
#include "core/base/rng.h"

/* Files of one answer, each once, found again by a small open hash table. */
struct file_table {
    const struct stored_file **keys;
    uint32_t *numbers;
    size_t mask;
};

struct answer {
    struct weir_arena *arena;
    uint32_t *states, *files;
    uint64_t *offsets, *lengths;
    int64_t *labels, *times;
    size_t file_count;
    const char **paths;
    uint64_t *layouts, *devices, *inodes, *sizes;
    int64_t *mtimes;
    struct file_table table;
};

/* Turns to the chunk that holds the id; without one `count` is 0. */
static enum weir_status turn_to(struct finder *finder, uint64_t id, struct weir_error *err)
{
    struct storage *storage = finder->storage;
    uint32_t block = weir_sample_block(id), row = weir_sample_row(id);
    struct dataset *dataset = storage_catalog_at(storage->catalog, weir_sample_dataset(id));
    const struct chunk_ref *ref = dataset ? storage_dataset_chunk(dataset, block, row) : NULL;

    *finder = (struct finder){.storage = storage, .dataset = dataset};
    if (!ref)
        return WEIR_OK;
    finder->first = weir_sample_id(dataset->number, block, ref->first_row);
    finder->count = ref->count;
    finder->dead = block < dataset->dead_count ? &dataset->dead[block] : NULL;
    return storage_chunk_cache_get(storage->cache, storage->db, dataset, ref, &finder->chunk, err);
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

enum weir_status storage_find_next(struct finder *finder, uint64_t id, struct located *ret_located,
                                   struct weir_error *err)
{
    const struct chunk *chunk;
    uint64_t i;

    if (id - finder->first >= finder->count) {
        enum weir_status status = turn_to(finder, id, err);

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
    ret_located->file =
        storage_dataset_file(finder->dataset, (uint64_t)storage_column_at(&chunk->files, i));
    ret_located->offset = (uint64_t)storage_column_at(&chunk->offsets, i);
    ret_located->length = (uint64_t)storage_column_at(&chunk->lengths, i);
    ret_located->label = storage_column_at(&chunk->labels, i);
    ret_located->time = storage_column_at(&chunk->times, i);
    ret_located->state = state_of(finder, weir_sample_row(id), ret_located->file);
    return WEIR_OK;
}

enum weir_status storage_find(struct storage *storage, uint64_t id, struct located *ret_located,
                              struct weir_error *err)
{
    struct finder finder = {.storage = storage};

    return storage_find_next(&finder, id, ret_located, err);
}

static void open_answer(struct answer *answer, struct weir_arena *arena, size_t count)
{
    size_t buckets = 16;

    while (buckets < 2 * count)
        buckets *= 2;
    answer->arena = arena;
    answer->states = weir_arena_alloc(arena, count * sizeof *answer->states + 1);
    answer->files = weir_arena_alloc(arena, count * sizeof *answer->files + 1);
    answer->offsets = weir_arena_alloc(arena, count * sizeof *answer->offsets + 1);
    answer->lengths = weir_arena_alloc(arena, count * sizeof *answer->lengths + 1);
    answer->labels = weir_arena_alloc(arena, count * sizeof *answer->labels + 1);
    answer->times = weir_arena_alloc(arena, count * sizeof *answer->times + 1);
    answer->paths = weir_arena_alloc(arena, count * sizeof *answer->paths + 1);
    answer->layouts = weir_arena_alloc(arena, count * sizeof *answer->layouts + 1);
    answer->devices = weir_arena_alloc(arena, count * sizeof *answer->devices + 1);
    answer->inodes = weir_arena_alloc(arena, count * sizeof *answer->inodes + 1);
    answer->sizes = weir_arena_alloc(arena, count * sizeof *answer->sizes + 1);
    answer->mtimes = weir_arena_alloc(arena, count * sizeof *answer->mtimes + 1);
    answer->table = (struct file_table){
        .keys = weir_arena_alloc(arena, buckets * sizeof(struct stored_file *)),
        .numbers = weir_arena_alloc(arena, buckets * sizeof(uint32_t)),
        .mask = buckets - 1,
    };
}

static uint32_t add_file(struct answer *answer, const struct dataset *dataset,
                         const struct stored_file *file)
{
    size_t n = answer->file_count++;

    answer->paths[n] = weir_arena_format(
        answer->arena, "%s/%s", dataset->declaration->is_copied ? dataset->copies : dataset->root,
        file->path);
    answer->layouts[n] = file->layout;
    answer->devices[n] = file->device;
    answer->inodes[n] = file->inode;
    answer->sizes[n] = file->size;
    answer->mtimes[n] = file->mtime_ns;
    return (uint32_t)n;
}

static uint32_t number_of(struct answer *answer, const struct dataset *dataset,
                          const struct stored_file *file)
{
    struct file_table *table = &answer->table;
    size_t at = weir_mix64((uint64_t)(uintptr_t)file) & table->mask;

    while (table->keys[at] && table->keys[at] != file)
        at = (at + 1) & table->mask;
    if (!table->keys[at]) {
        table->keys[at] = file;
        table->numbers[at] = add_file(answer, dataset, file);
    }
    return table->numbers[at];
}

static enum weir_status locate_all(struct storage *storage, const struct weir_u64s *ids,
                                   struct answer *answer, const struct dataset **ret_dataset,
                                   struct weir_error *err)
{
    struct finder finder = {.storage = storage};

    for (size_t i = 0; i < ids->count; i++) {
        struct located found;
        enum weir_status status = storage_find_next(&finder, ids->at[i], &found, err);

        if (status != WEIR_OK)
            return status;
        answer->states[i] = found.state;
        if (!*ret_dataset)
            *ret_dataset = found.dataset;
        if (found.state != WEIR_SAMPLE_LIVE)
            continue;
        answer->files[i] = number_of(answer, found.dataset, found.file);
        answer->offsets[i] = found.offset;
        answer->lengths[i] = found.length;
        answer->labels[i] = found.label;
        answer->times[i] = found.time;
    }
    return WEIR_OK;
}

enum weir_status storage_locate(struct storage *storage, const struct msg_locate *asked,
                                struct weir_arena *arena, struct msg_located *ret,
                                struct weir_error *err)
{
    size_t count = asked->ids.count;
    const struct dataset *dataset = NULL;
    struct answer answer = {0};
    enum weir_status status = storage_ready(storage, err);

    if (status != WEIR_OK)
        return status;
    if (count > LOCATE_IDS_MAX)
        return weir_fail(err, WEIR_LIMIT, "locate.ids: found %zu, expected at most %d", count,
                         LOCATE_IDS_MAX);
    open_answer(&answer, arena, count);
    status = locate_all(storage, &asked->ids, &answer, &dataset, err);
    *ret = (struct msg_located){
        .epoch = storage_erasure_epoch(storage->erasure),
        .states = {answer.states, count},
        .files = {answer.files, count},
        .offsets = {answer.offsets, count},
        .lengths = {answer.lengths, count},
        .labels = {answer.labels, count},
        .times = {answer.times, count},
        .paths = {answer.paths, answer.file_count},
        .layouts = {answer.layouts, answer.file_count},
        .devices = {answer.devices, answer.file_count},
        .inodes = {answer.inodes, answer.file_count},
        .sizes = {answer.sizes, answer.file_count},
        .mtimes = {answer.mtimes, answer.file_count},
        .format = dataset ? dataset->declaration->format->name : "",
        .label_kind = dataset ? dataset->declaration->label_kind : 0,
    };
    return status;
}
