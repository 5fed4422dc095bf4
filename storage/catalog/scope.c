/* Parts of a source: see scope.h. */
#include "storage/catalog/scope.h"

#include "core/base/bisect.h"
#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

static void clear(struct scope *scope)
{
    for (size_t i = 0; i < scope->count; i++)
        free(scope->ranges[i]);
    scope->count = scope->sealed = 0;
}

void storage_scope_fini(struct scope *scope)
{
    clear(scope);
    free(scope->ranges);
    *scope = (struct scope){0};
}

void storage_scope_add_all(struct scope *scope)
{
    clear(scope);
    scope->is_whole = true;
}

static bool is_inside(const char *path, const char *range)
{
    size_t size = strlen(range);

    if (size == 0 || range[size - 1] == '/')
        return strncmp(path, range, size) == 0;
    return strcmp(path, range) == 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void make_room(struct scope *scope)
{
    if (scope->ranges == NULL)
        scope->ranges = weir_calloc((size_t)2 * SCOPE_PATHS_MAX, sizeof(*scope->ranges));
}

void storage_scope_seal(struct scope *scope)
{
    size_t kept = 0;

    if (scope->is_whole) {
        clear(scope);
        make_room(scope);
        scope->ranges[scope->count++] = weir_strdup("");
    }
    if (scope->count > 1)
        qsort(scope->ranges, scope->count, sizeof(*scope->ranges), by_text);
    for (size_t i = 0; i < scope->count; i++) {
        if (kept > 0 && is_inside(scope->ranges[i], scope->ranges[kept - 1]))
            free(scope->ranges[i]);
        else
            scope->ranges[kept++] = scope->ranges[i];
    }
    scope->count = scope->sealed = kept;
}

/* A file that is written again and again is named again and again, mostly without others between. */
static bool is_newest(const struct scope *scope, const char *path)
{
    return scope->count >= 2 && scope->count > scope->sealed &&
           strcmp(scope->ranges[scope->count - 2], path) == 0;
}

void storage_scope_add(struct scope *scope, const char *path)
{
    if (scope->is_whole || is_newest(scope, path))
        return;
    if (scope->count + 2 > (size_t)2 * SCOPE_PATHS_MAX) {
        storage_scope_seal(scope);
        if (scope->count > SCOPE_PATHS_MAX) {
            storage_scope_add_all(scope);
            return;
        }
    }
    make_room(scope);
    scope->ranges[scope->count++] = weir_strdup(path);
    scope->ranges[scope->count++] = weir_format("%s/", path);
}

bool storage_scope_find(const struct scope *scope, const char *path, size_t *ret_range)
{
    size_t low = 0, high = scope->count;

    /* the first range after the path */
    WEIR_BISECT(low, high, middle, strcmp(scope->ranges[middle], path) <= 0);
    if (low > 0 && is_inside(path, scope->ranges[low - 1])) {
        *ret_range = low - 1;
        return true;
    }
    *ret_range = low;
    return false;
}
