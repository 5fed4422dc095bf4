/* Known files in order: see known.h. */
#include "storage/catalog/known.h"

#include "core/base/heap.h"
#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Stands in a group as it was when it came to it: files that are added after are not met. */
struct cursor {
    struct file_group *group;
    uint16_t *order; /* NULL: the files lie in order */
    size_t at, count;
    bool is_inside; /* the group is pinned */
};

struct known {
    const struct dataset *dataset;
    const struct scope *scope;
    uint64_t paths_dropped; /* of the dataset when the cursors were made */
    struct weir_buf passed; /* the newest path that was skipped; empty: none */
    /* by the first path of their groups; entered, heaped and left in this order */
    struct cursor *cursors;
    size_t count;
    size_t entered; /* the others' files lie after all of the heap */
    size_t *heap;   /* of entered cursors */
    size_t heap_count;
};

static void enter(struct cursor *cursor)
{
    const uint16_t *order = storage_file_group_order(cursor->group);

    storage_file_pin(cursor->group);
    cursor->is_inside = true;
    cursor->count = cursor->group->count;
    if (order != NULL) {
        cursor->order = weir_calloc(cursor->count, sizeof(*order));
        memcpy(cursor->order, order, cursor->count * sizeof(*order));
    }
}

static void leave(struct cursor *cursor)
{
    if (cursor->is_inside)
        storage_file_unpin(cursor->group);
    free(cursor->order);
    *cursor = (struct cursor){.group = cursor->group};
}

static struct stored_file *file_at(const struct cursor *cursor, size_t place)
{
    return &cursor->group->files[cursor->order != NULL ? cursor->order[place] : place];
}

static struct stored_file *file_of(const struct cursor *cursor)
{
    return file_at(cursor, cursor->at);
}

static bool is_live(const struct stored_file *file)
{
    return file->state == FILE_LIVE && file->path != NULL;
}

/* To the first file from here on with a path that is not before `path`. */
static void seek(struct cursor *cursor, const char *path)
{
    size_t high = cursor->count;

    while (cursor->at < high) {
        size_t middle = cursor->at + (high - cursor->at) / 2;
        const char *name = file_at(cursor, middle)->path;

        if (name == NULL || strcmp(name, path) < 0) /* files without a path come first */
            cursor->at = middle + 1;
        else
            high = middle;
    }
}

/* To the next live file in the scope; false when the group has no more. */
static bool settle(const struct known *known, struct cursor *cursor)
{
    while (cursor->at < cursor->count) {
        const struct stored_file *file = file_of(cursor);
        size_t range;

        if (!is_live(file))
            cursor->at++;
        else if (storage_scope_find(known->scope, file->path, &range))
            return true;
        else if (range == known->scope->count)
            return false;
        else
            seek(cursor, known->scope->ranges[range]);
    }
    return false;
}

static int by_first_path(const void *a, const void *b)
{
    const struct cursor *x = a, *y = b;

    return strcmp(x->group->first_path, y->group->first_path);
}

/* Returns true when a file of the group may lie in the scope. */
static bool may_hold(struct known *known, const struct file_group *group)
{
    const struct scope *scope = known->scope;
    size_t range;

    if (group->first_path == NULL ||
        (known->passed.size > 0 && strcmp(group->last_path, weir_buf_text(&known->passed)) <= 0))
        return false;
    return storage_scope_find(scope, group->first_path, &range) ||
           (range < scope->count && strcmp(scope->ranges[range], group->last_path) <= 0);
}

static void open_cursors(struct known *known)
{
    const struct dataset *dataset = known->dataset;

    known->paths_dropped = dataset->paths_dropped;
    known->cursors = weir_calloc(dataset->group_count + 1, sizeof(*known->cursors));
    for (size_t g = 0; g < dataset->group_count; g++) {
        if (may_hold(known, dataset->groups[g]))
            known->cursors[known->count++].group = dataset->groups[g];
    }
    if (known->count > 1)
        qsort(known->cursors, known->count, sizeof(*known->cursors), by_first_path);
    known->heap = weir_calloc(known->count + 1, sizeof(*known->heap));
}

static void close_cursors(struct known *known)
{
    for (size_t i = 0; i < known->count; i++)
        leave(&known->cursors[i]);
    free(known->cursors);
    free(known->heap);
    known->count = known->entered = known->heap_count = 0;
}

struct known *storage_known_new(const struct dataset *dataset, const struct scope *scope)
{
    struct known *known = weir_calloc(1, sizeof(*known));

    known->dataset = dataset;
    known->scope = scope;
    open_cursors(known);
    return known;
}

void storage_known_free(struct known *known)
{
    if (known == NULL)
        return;
    close_cursors(known);
    weir_buf_fini(&known->passed);
    free(known);
}

/* ---- the heap ---- */

static bool is_before(const void *a, const void *b, const void *owner)
{
    const struct cursor *cursors = ((const struct known *)owner)->cursors;

    return strcmp(file_of(&cursors[*(const size_t *)a])->path,
                  file_of(&cursors[*(const size_t *)b])->path) < 0;
}

static const struct weir_heap_order BY_PATH = {.element_bytes = sizeof(size_t),
                                               .is_before = is_before};

/* A group whose turn has come joins the heap, if it has a file for it. */
static enum weir_status enter_next(struct known *known, struct weir_error *err)
{
    struct cursor *cursor = &known->cursors[known->entered];
    const struct dataset *dataset = known->dataset;
    enum weir_status status;

    storage_file_cache_trim(dataset->file_cache);
    status = storage_file_cache_get(dataset->file_cache, dataset->number, cursor->group, err);
    if (status != WEIR_OK)
        return status;
    enter(cursor);
    if (known->passed.size > 0)
        seek(cursor, weir_buf_text(&known->passed));
    if (settle(known, cursor)) {
        known->heap[known->heap_count] = known->entered;
        weir_heap_rise(&BY_PATH, known->heap, known->heap_count++, known);
    } else {
        leave(cursor);
    }
    known->entered++;
    return WEIR_OK;
}

static bool is_next(const struct known *known)
{
    const char *first =
        known->entered < known->count ? known->cursors[known->entered].group->first_path : NULL;

    return known->entered < known->count &&
           (first == NULL || known->heap_count == 0 ||
            strcmp(first, file_of(&known->cursors[known->heap[0]])->path) <= 0);
}

/* ---- walking ---- */

/* An erasure takes paths out of groups: the cursors may stand at nothing then. */
static void follow_erasures(struct known *known)
{
    if (known->paths_dropped == known->dataset->paths_dropped)
        return;
    close_cursors(known);
    open_cursors(known);
}

static void advance(struct known *known)
{
    struct cursor *cursor = &known->cursors[known->heap[0]];

    cursor->at++;
    if (!settle(known, cursor)) {
        leave(cursor);
        known->heap[0] = known->heap[--known->heap_count];
    }
    weir_heap_sink(&BY_PATH, known->heap, known->heap_count, 0, known);
}

/* Returns the next file, past those that stopped being live since their cursor came to them or were skipped. */
static struct stored_file *settled(struct known *known)
{
    while (known->heap_count > 0 && !is_next(known)) {
        struct stored_file *file = file_of(&known->cursors[known->heap[0]]);

        if (is_live(file) &&
            (known->passed.size == 0 || strcmp(file->path, weir_buf_text(&known->passed)) > 0))
            return file;
        advance(known);
    }
    return NULL;
}

enum weir_status storage_known_peek(struct known *known, struct stored_file **ret_file,
                                    struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    follow_erasures(known);
    *ret_file = settled(known);
    while (status == WEIR_OK && *ret_file == NULL && known->entered < known->count) {
        status = enter_next(known, err);
        *ret_file = status == WEIR_OK ? settled(known) : NULL;
    }
    return status;
}

void storage_known_skip(struct known *known)
{
    const struct stored_file *file = file_of(&known->cursors[known->heap[0]]);

    weir_buf_clear(&known->passed);
    weir_buf_append_text(&known->passed, file->path);
    advance(known);
}

static struct stored_file *find_in(struct file_group *group, const char *path)
{
    struct cursor cursor = {.group = group};
    struct stored_file *found = NULL;

    enter(&cursor);
    seek(&cursor, path);
    for (; found == NULL && cursor.at < cursor.count && strcmp(file_of(&cursor)->path, path) == 0;
         cursor.at++)
        found = is_live(file_of(&cursor)) ? file_of(&cursor) : NULL;
    leave(&cursor);
    return found;
}

enum weir_status storage_known_find(const struct dataset *dataset, const char *path,
                                    struct stored_file **ret_file, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    *ret_file = NULL;
    storage_file_cache_trim(dataset->file_cache);
    for (size_t g = 0; status == WEIR_OK && *ret_file == NULL && g < dataset->group_count; g++) {
        struct file_group *group = dataset->groups[g];

        if (group->first_path == NULL || strcmp(path, group->first_path) < 0 ||
            strcmp(path, group->last_path) > 0)
            continue;
        status = storage_file_cache_get(dataset->file_cache, dataset->number, group, err);
        if (status == WEIR_OK)
            *ret_file = find_in(group, path);
    }
    return status;
}
