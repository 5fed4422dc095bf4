/* Datasets in memory: see catalog.h. Loading is in catalog_load.c. */
#include "storage/catalog/catalog.h"

#include "core/base/bisect.h"
#include "core/base/memory.h"
#include "core/base/rng.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct catalog *storage_catalog_new(const char *data_dir)
{
    struct catalog *catalog = weir_calloc(1, sizeof(*catalog));

    catalog->data_dir = data_dir;
    catalog->filters = weir_calloc(1, sizeof(*catalog->filters));
    catalog->filters->bytes_max = KEY_FILTERS_BYTES_MAX;
    catalog->file_cache = weir_calloc(1, sizeof(*catalog->file_cache));
    catalog->file_cache->bytes_max = FILE_CACHE_BYTES;
    return catalog;
}

void storage_catalog_free(struct catalog *catalog)
{
    if (catalog == NULL)
        return;
    for (size_t i = 0; i < catalog->count; i++)
        storage_dataset_free(catalog->datasets[i]);
    free(catalog->datasets);
    free(catalog->filters);
    storage_file_cache_fini(catalog->file_cache);
    free(catalog->file_cache);
    free(catalog);
}

struct dataset *storage_catalog_find(const struct catalog *catalog, const char *name)
{
    for (size_t i = 0; i < catalog->count; i++) {
        if (strcmp(catalog->datasets[i]->name, name) == 0)
            return catalog->datasets[i];
    }
    return NULL;
}

struct dataset *storage_catalog_after(const struct catalog *catalog, uint64_t number)
{
    size_t low = 0, high = catalog->count;

    WEIR_BISECT(low, high, at, catalog->datasets[at]->number <= number);
    return low < catalog->count ? catalog->datasets[low] : NULL;
}

struct dataset *storage_catalog_at(const struct catalog *catalog, uint64_t number)
{
    struct dataset *found = number > 0 ? storage_catalog_after(catalog, number - 1) : NULL;

    return found != NULL && found->number == number ? found : NULL;
}

/* A dataset and the one that has its labels, whichever is there first. */
static void join_updates(const struct catalog *catalog, struct dataset *dataset)
{
    for (size_t i = 0; i < catalog->count; i++) {
        struct dataset *other = catalog->datasets[i];

        if (weir_str_equal(dataset->declaration->updates, other->name)) {
            dataset->updates = other;
            other->updated_by = dataset;
        } else if (weir_str_equal(other->declaration->updates, dataset->name)) {
            other->updates = dataset;
            dataset->updated_by = other;
        }
    }
}

void storage_catalog_add(struct catalog *catalog, struct dataset *dataset)
{
    catalog->datasets =
        weir_realloc(catalog->datasets, catalog->count + 1, sizeof(struct dataset *));
    catalog->datasets[catalog->count++] = dataset;
    weir_require(dataset->number >
                 catalog->last_number); /* given here, or checked when it was read */
    catalog->last_number = dataset->number;
    join_updates(catalog, dataset);
}

static const struct declaration *find_declaration(const struct declarations *all, const char *name)
{
    for (size_t i = 0; i < all->count; i++) {
        if (strcmp(all->at[i].name, name) == 0)
            return &all->at[i];
    }
    return NULL;
}

/* Follows links and needs no file to be there yet: a source may appear later. */
static char *resolve_root(const char *path)
{
    char resolved[PATH_MAX];
    WEIR_AUTO_FREE char *here = NULL;

    if (realpath(path, resolved) != NULL)
        return weir_strdup(resolved);
    if (path[0] == '/')
        return weir_strdup(path);
    here = realpath(".", NULL);
    return weir_format("%s/%s", here != NULL ? here : "", path);
}

/* Roots inside the data directory are not stored: they move with it. */
static char *root_of(const struct dataset *dataset, const struct dataset_origin *origin)
{
    if (dataset->declaration->is_pushed)
        return weir_strdup("");
    if (dataset->declaration->is_mirrored)
        return weir_strdup(dataset->copies);
    return origin->root != NULL ? weir_strdup(origin->root)
                                : resolve_root(dataset->declaration->source.path);
}

enum weir_status storage_dataset_new(const struct catalog *catalog,
                                     const struct dataset_origin *origin,
                                     struct dataset **ret_dataset, struct weir_error *err)
{
    WEIR_AUTO(dataset) dataset = weir_calloc(1, sizeof(*dataset));
    WEIR_AUTO_BUF text = {0};
    const struct declaration *d;
    enum weir_status status =
        weir_yaml_parse(origin->file, origin->config, &dataset->document, err);

    if (status == WEIR_OK)
        status = storage_declarations_load(weir_yaml_root(dataset->document),
                                           &dataset->declarations, err);
    if (status != WEIR_OK)
        return status;
    d = find_declaration(&dataset->declarations, origin->name);
    if (d == NULL)
        return weir_fail(err, WEIR_NOT_FOUND, "%s: no dataset '%s'", origin->file, origin->name);
    dataset->declaration = d;
    dataset->subjects = (struct key_index){.kind = KEY_SUBJECT, .budget = catalog->filters};
    dataset->keys = (struct key_index){.kind = KEY_SAMPLE, .budget = catalog->filters};
    dataset->file_cache = catalog->file_cache;
    dataset->name = weir_strdup(origin->name);
    dataset->is_scanned = d->is_pushed;
    dataset->edition = weir_random_u64() | 1;
    dataset->copies = weir_format("%s/storage/%s", catalog->data_dir, origin->name);
    dataset->root = root_of(dataset, origin);
    storage_declaration_print(d, dataset->root, &text);
    dataset->text = weir_strdup(weir_buf_text(&text));
    *ret_dataset = WEIR_TAKE(dataset);
    return WEIR_OK;
}

static void free_blocked(const struct dataset *dataset)
{
    for (size_t s = 0; dataset->blocked != NULL && s < 1 << BLOCKED_SHARD_BITS; s++)
        free(dataset->blocked[s].at);
    free(dataset->blocked);
}

void storage_dataset_free(struct dataset *dataset)
{
    if (dataset == NULL)
        return;
    storage_scope_fini(&dataset->dirty);
    storage_complaints_fini(&dataset->complaints);
    storage_fresh_fini(&dataset->fresh);
    storage_key_index_fini(&dataset->subjects);
    storage_key_index_fini(&dataset->keys);
    for (size_t i = 0; i < dataset->class_count; i++)
        free(dataset->classes[i]);
    for (size_t i = 0; i < dataset->group_count; i++)
        storage_file_group_free(dataset->groups[i]);
    for (size_t i = 0; i < dataset->dead_count; i++) {
        weir_bits_fini(&dataset->dead[i].erased);
        weir_bits_fini(&dataset->dead[i].removed);
        weir_bits_fini(&dataset->dead[i].replaced);
    }
    free(dataset->columns);
    free(dataset->tenants);
    free(dataset->classes);
    free(dataset->class_marks);
    free(dataset->groups);
    free(dataset->dead);
    free(dataset->chunks);
    free(dataset->runs);
    free_blocked(dataset);
    storage_declarations_fini(&dataset->declarations);
    weir_yaml_free(dataset->document);
    free(dataset->name);
    free(dataset->text);
    free(dataset->root);
    free(dataset->copies);
    free(dataset);
}

void storage_dataset_add_chunk(struct dataset *dataset, const struct chunk_ref *chunk)
{
    dataset->chunks =
        weir_grow(dataset->chunks, dataset->chunk_count, &dataset->chunk_capacity, sizeof(*chunk));
    dataset->chunks[dataset->chunk_count++] = *chunk;
}

void storage_dataset_add_run(struct dataset *dataset, struct added_run run)
{
    dataset->runs =
        weir_grow(dataset->runs, dataset->run_count, &dataset->run_capacity, sizeof(run));
    dataset->runs[dataset->run_count++] = run;
}

size_t storage_dataset_run_of(const struct dataset *dataset, uint64_t row)
{
    size_t low = 0, high = dataset->run_count;

    /* the first run that begins after the row */
    WEIR_BISECT(low, high, middle, dataset->runs[middle].first_row <= row);
    return low > 0 ? low - 1 : dataset->run_count;
}

size_t storage_dataset_run_after(const struct dataset *dataset, uint64_t position)
{
    size_t low = 0, high = dataset->run_count;

    /* the first run that was added later */
    WEIR_BISECT(low, high, middle, dataset->runs[middle].sequence <= position);
    return low;
}

uint64_t storage_dataset_row_at(const struct dataset *dataset, uint64_t position)
{
    size_t run = storage_dataset_run_after(dataset, position);

    return run < dataset->run_count ? dataset->runs[run].first_row : dataset->next_row;
}

void storage_dataset_add_group(struct dataset *dataset, struct file_group *group)
{
    struct file_group *last = storage_dataset_last_group(dataset);

    if (last != NULL)
        storage_file_unpin(last);
    storage_file_pin(group);
    dataset->groups = weir_grow(dataset->groups, dataset->group_count, &dataset->group_capacity,
                                sizeof(struct file_group *));
    group->first_file = last != NULL ? last->first_file + last->capacity : 0;
    dataset->groups[dataset->group_count++] = group;
    group->number = dataset->group_count;
}

uint64_t storage_dataset_id(const struct dataset *dataset, uint64_t place)
{
    return (uint64_t)dataset->number << (WEIR_BLOCK_BITS + WEIR_ROW_BITS) | place;
}

/* The group that holds the number, or NULL. */
static struct file_group *group_of(const struct dataset *dataset, uint64_t number)
{
    size_t low = 0, high = dataset->group_count;
    struct file_group *group;

    /* the first group that begins after the file */
    WEIR_BISECT(low, high, middle, dataset->groups[middle]->first_file <= number);
    if (low == 0)
        return NULL;
    group = dataset->groups[low - 1];
    return number - group->first_file < group->count ? group : NULL;
}

enum weir_status storage_dataset_file(const struct dataset *dataset, uint64_t number,
                                      struct stored_file **ret_file, struct weir_error *err)
{
    struct file_group *group = group_of(dataset, number);
    enum weir_status status =
        group != NULL ? storage_file_cache_get(dataset->file_cache, dataset->number, group, err)
                      : WEIR_OK;

    if (status != WEIR_OK)
        return status;
    *ret_file = group != NULL ? &group->files[number - group->first_file] : NULL;
    return WEIR_OK;
}

struct file_group *storage_dataset_last_group(const struct dataset *dataset)
{
    return dataset->group_count > 0 ? dataset->groups[dataset->group_count - 1] : NULL;
}

uint64_t storage_dataset_file_end(const struct dataset *dataset)
{
    const struct file_group *last = storage_dataset_last_group(dataset);

    return last != NULL ? last->first_file + last->count : 0;
}

struct file_group *storage_dataset_open_group(const struct dataset *dataset)
{
    struct file_group *last = storage_dataset_last_group(dataset);

    return last != NULL && last->count < FILE_GROUP_GROWING && !last->is_taking ? last : NULL;
}

/* Index of the first chunk that begins after the row. */
static size_t chunks_up_to(const struct dataset *dataset, uint32_t block, uint32_t row)
{
    const struct chunk_ref *chunks = dataset->chunks;
    size_t low = 0, high = dataset->chunk_count;

    WEIR_BISECT(low, high, middle,
                chunks[middle].block < block ||
                    (chunks[middle].block == block && chunks[middle].first_row <= row));
    return low;
}

const struct chunk_ref *storage_dataset_chunk(const struct dataset *dataset, uint32_t block,
                                              uint32_t row)
{
    size_t end = chunks_up_to(dataset, block, row);
    const struct chunk_ref *chunk = end > 0 ? &dataset->chunks[end - 1] : NULL;

    return chunk != NULL && chunk->block == block && row - chunk->first_row < chunk->count ? chunk
                                                                                           : NULL;
}

size_t storage_dataset_chunk_from(const struct dataset *dataset, uint64_t row)
{
    uint32_t block = (uint32_t)(row >> WEIR_ROW_BITS), in_block = row & (WEIR_BLOCK_ROWS - 1);
    size_t at = chunks_up_to(dataset, block, in_block);

    return at > 0 && storage_dataset_chunk(dataset, block, in_block) != NULL ? at - 1 : at;
}

struct chunk_span storage_dataset_chunks_of(const struct dataset *dataset,
                                            const struct stored_file *file)
{
    struct chunk_span span = {0};

    if (file->samples == 0)
        return span;
    if (file->last_id == 0) /* registered before spans were kept */
        return (struct chunk_span){.end = dataset->chunk_count};
    span.first =
        chunks_up_to(dataset, weir_sample_block(file->first_id), weir_sample_row(file->first_id));
    span.first -= span.first > 0;
    span.end =
        chunks_up_to(dataset, weir_sample_block(file->last_id), weir_sample_row(file->last_id));
    return span;
}

struct dead_rows *storage_dataset_dead(struct dataset *dataset, uint32_t block)
{
    if (block >= dataset->dead_count) {
        size_t count = (size_t)block + 1;

        dataset->dead = weir_realloc(dataset->dead, count, sizeof(*dataset->dead));
        memset(dataset->dead + dataset->dead_count, 0,
               (count - dataset->dead_count) * sizeof(*dataset->dead));
        dataset->dead_count = count;
    }
    return &dataset->dead[block];
}

bool storage_dataset_is_erased(const struct dataset *dataset, uint32_t block, uint32_t row)
{
    return block < dataset->dead_count && weir_bits_get(&dataset->dead[block].erased, row);
}

void storage_dataset_bump_edition(struct dataset *dataset)
{
    dataset->edition++;
}

bool storage_dataset_is_dead(const struct dataset *dataset, uint32_t block, uint32_t row)
{
    const struct dead_rows *dead;

    if (block >= dataset->dead_count)
        return false;
    dead = &dataset->dead[block];
    return weir_bits_get(&dead->erased, row) || weir_bits_get(&dead->removed, row) ||
           weir_bits_get(&dead->replaced, row);
}

/* ---- what must not come in again ---- */

/* Sorted shards by the upper bits, so that adding one moves few. */
static struct blocked_shard *shard_of(const struct dataset *dataset, uint64_t hash)
{
    return &dataset->blocked[hash >> (64 - BLOCKED_SHARD_BITS)];
}

/* Index of the first hash of the shard that is not below. */
static size_t blocked_from(const struct blocked_shard *shard, uint64_t hash)
{
    size_t low = 0, high = shard->count;

    WEIR_BISECT(low, high, middle, shard->at[middle].word >> 1 < hash >> 1);
    return low;
}

struct blocked_hash *storage_dataset_blocked(const struct dataset *dataset, uint64_t hash)
{
    struct blocked_shard *shard = dataset->blocked_count > 0 ? shard_of(dataset, hash) : NULL;
    size_t at = shard != NULL ? blocked_from(shard, hash) : 0;

    return shard != NULL && at < shard->count && shard->at[at].word >> 1 == hash >> 1
               ? &shard->at[at]
               : NULL;
}

void storage_dataset_block(struct dataset *dataset, uint64_t hash, bool is_met)
{
    struct blocked_shard *shard;
    size_t at;

    if (dataset->blocked == NULL)
        dataset->blocked = weir_calloc(1 << BLOCKED_SHARD_BITS, sizeof(*dataset->blocked));
    shard = shard_of(dataset, hash);
    at = blocked_from(shard, hash);
    if (at < shard->count && shard->at[at].word >> 1 == hash >> 1)
        return;
    shard->at = weir_grow(shard->at, shard->count, &shard->capacity, sizeof(*shard->at));
    memmove(shard->at + at + 1, shard->at + at, (shard->count - at) * sizeof(*shard->at));
    shard->at[at] = (struct blocked_hash){(hash | 1) - !is_met};
    shard->count++;
    dataset->blocked_count++;
}

uint64_t storage_dataset_met(const struct dataset *dataset)
{
    uint64_t met = 0;

    for (size_t s = 0; dataset->blocked != NULL && s < 1 << BLOCKED_SHARD_BITS; s++) {
        for (size_t i = 0; i < dataset->blocked[s].count; i++)
            met += storage_blocked_is_met(&dataset->blocked[s].at[i]);
    }
    return met;
}

bool storage_dataset_grows_classes(const struct dataset *dataset)
{
    return dataset->declaration->label_kind == WEIR_LABEL_CLASS &&
           dataset->declaration->classes == NULL;
}

char *storage_erased_class_name(size_t number)
{
    return weir_format("erased-%zu", number);
}

static int64_t add_class(struct dataset *dataset, const char *name, size_t size)
{
    dataset->classes =
        weir_grow(dataset->classes, dataset->class_count, &dataset->class_capacity, sizeof(char *));
    dataset->class_marks = weir_grow(dataset->class_marks, dataset->class_count,
                                     &dataset->class_mark_capacity, sizeof(*dataset->class_marks));
    dataset->classes[dataset->class_count] = weir_strndup(name, size);
    dataset->class_marks[dataset->class_count] = (struct class_mark){.is_erased = false};
    return (int64_t)dataset->class_count++;
}

void storage_dataset_name_classes(struct dataset *dataset)
{
    const struct weir_yaml_node *names = dataset->declaration->classes;

    for (size_t i = dataset->class_count; i < weir_yaml_length(names); i++) {
        const char *name = weir_yaml_text(weir_yaml_at(names, i));

        (void)add_class(dataset, name, strlen(name));
    }
}

int64_t storage_dataset_class(struct dataset *dataset, struct weir_bytes name)
{
    for (size_t i = 0; i < dataset->class_count; i++) {
        if (!dataset->class_marks[i].is_erased &&
            weir_bytes_equal(weir_bytes_of(dataset->classes[i]), name))
            return (int64_t)i;
    }
    if (dataset->declaration->classes != NULL || dataset->class_count == STORAGE_CLASSES_MAX)
        return -1;
    return add_class(dataset, (const char *)name.at, name.size);
}

char *storage_dataset_path(const struct dataset *dataset, const struct stored_file *file)
{
    return weir_format("%s/%s", dataset->declaration->is_copied ? dataset->copies : dataset->root,
                       file->path != NULL ? file->path : "");
}
