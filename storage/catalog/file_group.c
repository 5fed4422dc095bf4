/* File groups: see file_group.h; entries are in file_entry.c. Before there were entries, a file was 11 words,
 * state, flags, length of the path, path, and with FLAG_SPAN the last id: stores of then are still read. */
#include "storage/catalog/file_group.h"

#include "core/base/memory.h"
#include "storage/catalog/file_entry.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS = 11, FLAG_COMPLETE = 1, FLAG_UNLISTED = 2, FLAG_SPAN = 4 };
enum { HEAP_BYTES = 24 /* beyond a short text, of what holds it */ };
enum { STATE_AT = WORDS * 8, FLAGS_AT, PATH_SIZE_AT, FIXED_BYTES = PATH_SIZE_AT + 2 };

struct file_group *storage_file_group_new(size_t capacity)
{
    struct file_group *group = weir_calloc(1, sizeof(*group));

    group->capacity = group->room = capacity;
    group->files = weir_calloc(capacity, sizeof(*group->files));
    return group;
}

uint64_t storage_file_number(const struct stored_file *file)
{
    return file->group->first_file + (uint64_t)(file - file->group->files);
}

void storage_file_group_free(struct file_group *group)
{
    if (group == NULL)
        return;
    storage_file_group_empty(group);
    free(group->first_path);
    free(group->last_path);
    free(group);
}

void storage_file_group_empty(struct file_group *group)
{
    for (size_t i = 0; group->files != NULL && i < group->count; i++)
        free(group->files[i].path);
    free(group->files);
    group->files = NULL;
    storage_file_group_reorder(group);
}

void storage_file_group_fill(struct file_group *group, struct file_group *from)
{
    group->files = WEIR_TAKE(from->files);
    group->count = from->count;
    group->room = from->room;
    for (size_t i = 0; i < group->count; i++)
        group->files[i].group = group;
}

size_t storage_file_group_bytes(const struct file_group *group)
{
    size_t bytes = group->room * sizeof(*group->files);

    for (size_t i = 0; i < group->count; i++)
        bytes += group->files[i].path != NULL ? strlen(group->files[i].path) + HEAP_BYTES : 0;
    return bytes;
}

void storage_file_group_bound(struct file_group *group)
{
    const char *first = NULL, *last = NULL;

    for (size_t i = 0; i < group->count; i++) {
        const char *path = group->files[i].state == FILE_LIVE ? group->files[i].path : NULL;

        first = path != NULL && (first == NULL || strcmp(path, first) < 0) ? path : first;
        last = path != NULL && (last == NULL || strcmp(path, last) > 0) ? path : last;
    }
    free(group->first_path);
    free(group->last_path);
    group->first_path = first != NULL ? weir_strdup(first) : NULL;
    group->last_path = last != NULL ? weir_strdup(last) : NULL;
}

/* ---- order ---- */

static int compare(const struct file_group *group, uint16_t a, uint16_t b)
{
    const char *x = group->files[a].path, *y = group->files[b].path;
    int order = x != NULL && y ? strcmp(x, y) : (x != NULL) - (y != NULL);

    return order ? order : (a > b) - (a < b);
}

static int by_path(const void *a, const void *b, void *group)
{
    return compare(group, *(const uint16_t *)a, *(const uint16_t *)b);
}

static bool is_in_order(const struct file_group *group)
{
    for (size_t i = 1; i < group->count; i++) {
        if (compare(group, (uint16_t)(i - 1), (uint16_t)i) > 0)
            return false;
    }
    return true;
}

void storage_file_group_reorder(struct file_group *group)
{
    free(group->order);
    group->order = NULL;
    group->ordered = 0;
}

/* Files of one scan come in order; those of several may not. */
static void put_in_order(struct file_group *group)
{
    storage_file_group_reorder(group);
    group->ordered = group->count;
    if (is_in_order(group))
        return;
    group->order = weir_calloc(group->count, sizeof(*group->order));
    for (size_t i = 0; i < group->count; i++)
        group->order[i] = (uint16_t)i;
    qsort_r(group->order, group->count, sizeof(*group->order), by_path, group);
}

const uint16_t *storage_file_group_order(struct file_group *group)
{
    if (group->ordered != group->count)
        put_in_order(group);
    return group->order;
}

/* ---- packing ---- */

void storage_file_group_pack(const struct file_group *group, struct weir_buf *out)
{
    for (size_t i = 0; i < group->count; i++)
        storage_file_pack(i > 0 ? &group->files[i - 1] : NULL, &group->files[i], out);
}

/* FILE_GROUP_WORDS. Bytes of the entry, or 0 when it is cut. */
static size_t unpack_words(const struct stored_file *before, struct weir_bytes packed,
                           struct stored_file *file)
{
    const uint8_t *at = packed.at;
    size_t size, span;

    (void)before;
    if (packed.size < FIXED_BYTES)
        return 0;
    size = weir_get_u16(at + PATH_SIZE_AT);
    span = at[FLAGS_AT] & FLAG_SPAN ? sizeof(file->last_id) : 0;
    if (packed.size - FIXED_BYTES < size + span || at[STATE_AT] > FILE_ERASED)
        return 0;
    *file = (struct stored_file){
        .path = size > 0 ? weir_strndup((const char *)at + FIXED_BYTES, size) : NULL,
        .size = weir_get_u64(at),
        .mtime_ns = (int64_t)weir_get_u64(at + 8),
        .device = weir_get_u64(at + 16),
        .inode = weir_get_u64(at + 24),
        .source_inode = weir_get_u64(at + 32),
        .layout = weir_get_u64(at + 40),
        .first_id = weir_get_u64(at + 48),
        .samples = weir_get_u64(at + 56),
        .indexed = weir_get_u64(at + 64),
        .records = weir_get_u64(at + 72),
        .prefix_hash = weir_get_u64(at + 80),
        .state = (enum file_state)at[STATE_AT],
        .is_complete = at[FLAGS_AT] & FLAG_COMPLETE,
        .is_unlisted = at[FLAGS_AT] & FLAG_UNLISTED,
    };
    file->last_id = span > 0 ? weir_get_u64(at + FIXED_BYTES + size) : file->first_id;
    return FIXED_BYTES + size + span;
}

typedef size_t unpack_fn(const struct stored_file *before, struct weir_bytes packed,
                         struct stored_file *ret_file);
static unpack_fn *const ENCODINGS[] = {
    [FILE_GROUP_WORDS] = unpack_words, [FILE_GROUP_DIFFERENCES] = storage_file_unpack};

enum weir_status storage_file_group_unpack(struct weir_bytes packed, uint64_t encoding,
                                           size_t count, struct file_group **ret_group,
                                           struct weir_error *err)
{
    WEIR_AUTO(file_group) group = NULL;
    size_t at = 0;

    if (encoding >= WEIR_COUNT(ENCODINGS))
        return weir_fail(err, WEIR_CORRUPT, "file group of an unknown encoding %llu",
                         (unsigned long long)encoding);
    if (count > FILE_GROUP_MAX)
        return weir_fail(err, WEIR_CORRUPT, "file group of %zu files, expected at most %d", count,
                         FILE_GROUP_MAX);
    group = storage_file_group_new(count < FILE_GROUP_GROWING ? FILE_GROUP_GROWING : count);
    while (group->count < count) {
        struct stored_file *file = &group->files[group->count];
        size_t size = ENCODINGS[encoding](group->count > 0 ? file - 1 : NULL,
                                          weir_bytes(packed.at + at, packed.size - at), file);

        if (size == 0)
            return weir_fail(err, WEIR_CORRUPT, "file group ends inside file %zu of %zu",
                             group->count, count);
        file->group = group;
        group->count++;
        at += size;
    }
    if (at != packed.size)
        return weir_fail(err, WEIR_CORRUPT, "file group has %zu bytes too many", packed.size - at);
    *ret_group = WEIR_TAKE(group);
    return WEIR_OK;
}
