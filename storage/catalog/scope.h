/* Which part of a source a scan looks at: all of it, or the paths that were named by events. A path means
 * the file of that name and whatever lies below it, so that a file that becomes a folder, and the reverse,
 * need no thought. Bounded: too many paths are the whole source. Zeroed is nothing. */
#ifndef WEIR_STORAGE_SCOPE_H
#define WEIR_STORAGE_SCOPE_H

#include <stdbool.h>
#include <stddef.h>

enum { SCOPE_PATHS_MAX = 4096 };

/* A range is one file, or with a slash at its end all below a folder; "" is the whole source. */
struct scope {
    char **ranges; /* sealed: bytewise, none inside another */
    size_t count;
    size_t sealed; /* of them in order */
    bool is_whole;
};

void storage_scope_fini(struct scope *scope);
void storage_scope_add(struct scope *scope, const char *path);
void storage_scope_add_all(struct scope *scope);
static inline bool storage_scope_is_empty(const struct scope *scope)
{
    return !scope->is_whole && scope->count == 0;
}
/* Sorts, and drops what lies in another range; the whole source becomes the one range "". */
void storage_scope_seal(struct scope *scope);

/* Finds the range of a sealed scope that `path` lies in; false when none does: *ret_range is the first one after it. */
bool storage_scope_find(const struct scope *scope, const char *path, size_t *ret_range);

#endif
