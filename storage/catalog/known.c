/* Known files in order: see known.h. */
#include "storage/catalog/known.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Stands in a group as it was when the cursor was opened: files that are added behind are not met. */
struct cursor {
    struct file_group *group;
    uint16_t *order; /* NULL: the files lie in order */
    size_t at, count;
};

struct known {
    const struct dataset *dataset;
    const struct scope *scope;
    uint64_t paths_dropped; /* of the dataset when the cursors were made */
    struct weir_buf passed; /* the newest path that was skipped; empty: none */
    struct cursor *cursors; /* by the path they stand at; entered, heaped and left in this order */
    size_t count;
    size_t entered; /* the others stand at their first file, behind all of the heap */
    size_t *heap;   /* of entered cursors */
    size_t heap_count;
};

static struct cursor open_cursor(struct file_group *group)
{
    struct cursor cursor = {.group = group, .count = group->count};
    const uint16_t *order = storage_file_group_order(group);

    if (order) {
        cursor.order = weir_calloc(group->count, sizeof *order);
        memcpy(cursor.order, order, group->count * sizeof *order);
    }
    return cursor;
}

static struct stored_file *file_at(const struct cursor *cursor, size_t place)
{
    return &cursor->group->files[cursor->order ? cursor->order[place] : place];
}

static struct stored_file *file_of(const struct cursor *cursor)
{
    return file_at(cursor, cursor->at);
}

static bool is_live(const struct stored_file *file)
{
    return file->state == FILE_LIVE && file->path;
}

/* To the first file from here on with a path that is not before `path`. */
static void seek(struct cursor *cursor, const char *path)
{
    size_t high = cursor->count;

    while (cursor->at < high) {
        size_t middle = cursor->at + (high - cursor->at) / 2;
        const char *name = file_at(cursor, middle)->path;

        if (!name || strcmp(name, path) < 0) /* files without a path come first */
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

static int by_path(const void *a, const void *b)
{
    const struct cursor *x = a, *y = b;

    return strcmp(file_of(x)->path, file_of(y)->path);
}

static void open_cursors(struct known *known)
{
    const struct dataset *dataset = known->dataset;

    known->paths_dropped = dataset->paths_dropped;
    known->cursors = weir_calloc(dataset->group_count + 1, sizeof *known->cursors);
    for (size_t g = 0; g < dataset->group_count; g++) {
        struct cursor *cursor = &known->cursors[known->count];

        *cursor = open_cursor(dataset->groups[g]);
        if (known->passed.size > 0)
            seek(cursor, weir_buf_text(&known->passed));
        if (settle(known, cursor))
            known->count++;
        else
            free(cursor->order);
    }
    if (known->count > 1)
        qsort(known->cursors, known->count, sizeof *known->cursors, by_path);
    known->heap = weir_calloc(known->count + 1, sizeof *known->heap);
}

static void close_cursors(struct known *known)
{
    for (size_t i = 0; i < known->count; i++)
        free(known->cursors[i].order);
    free(known->cursors);
    free(known->heap);
    known->count = known->entered = known->heap_count = 0;
}

struct known *storage_known_new(const struct dataset *dataset, const struct scope *scope)
{
    struct known *known = weir_calloc(1, sizeof *known);

    known->dataset = dataset;
    known->scope = scope;
    open_cursors(known);
    return known;
}

void storage_known_free(struct known *known)
{
    if (!known)
        return;
    close_cursors(known);
    weir_buf_fini(&known->passed);
    free(known);
}

/* ---- the heap ---- */

static bool is_before(const struct known *known, size_t a, size_t b)
{
    return by_path(&known->cursors[known->heap[a]], &known->cursors[known->heap[b]]) < 0;
}

static void swap(struct known *known, size_t a, size_t b)
{
    size_t held = known->heap[a];

    known->heap[a] = known->heap[b];
    known->heap[b] = held;
}

static void sift_down(struct known *known, size_t at)
{
    for (;;) {
        size_t least = at;

        for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++) {
            if (child < known->heap_count && is_before(known, child, least))
                least = child;
        }
        if (least == at)
            return;
        swap(known, at, least);
        at = least;
    }
}

static void push(struct known *known, size_t cursor)
{
    size_t at = known->heap_count++;

    known->heap[at] = cursor;
    while (at > 0 && is_before(known, at, (at - 1) / 2)) {
        swap(known, at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
}

/* Groups whose turn has come join the heap. */
static void enter_groups(struct known *known)
{
    while (known->entered < known->count &&
           (known->heap_count == 0 ||
            by_path(&known->cursors[known->entered], &known->cursors[known->heap[0]]) < 0))
        push(known, known->entered++);
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
    if (!settle(known, cursor))
        known->heap[0] = known->heap[--known->heap_count];
    sift_down(known, 0);
}

/* What stopped being live since its cursor came to it is passed over, and so is what was skipped. */
struct stored_file *storage_known_peek(struct known *known)
{
    follow_erasures(known);
    for (;;) {
        struct stored_file *file;

        enter_groups(known);
        if (known->heap_count == 0)
            return NULL;
        file = file_of(&known->cursors[known->heap[0]]);
        if (is_live(file) &&
            (known->passed.size == 0 || strcmp(file->path, weir_buf_text(&known->passed)) > 0))
            return file;
        advance(known);
    }
}

void storage_known_skip(struct known *known)
{
    const struct stored_file *file = storage_known_peek(known);

    if (!file)
        return;
    weir_buf_clear(&known->passed);
    weir_buf_append_text(&known->passed, file->path);
    advance(known);
}

static struct stored_file *find_in(struct file_group *group, const char *path)
{
    struct cursor cursor = open_cursor(group);
    struct stored_file *found = NULL;

    seek(&cursor, path);
    for (; !found && cursor.at < cursor.count && strcmp(file_of(&cursor)->path, path) == 0;
         cursor.at++)
        found = is_live(file_of(&cursor)) ? file_of(&cursor) : NULL;
    free(cursor.order);
    return found;
}

struct stored_file *storage_known_find(const struct dataset *dataset, const char *path)
{
    struct stored_file *found = NULL;

    for (size_t g = 0; !found && g < dataset->group_count; g++)
        found = find_in(dataset->groups[g], path);
    return found;
}
