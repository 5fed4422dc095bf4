/* The live files of a dataset in bytewise order of their paths, as far as they lie in a scope. Every file
 * group knows its own order, so that this is a merge which holds one file of each group it is inside of. Files that are registered meanwhile may or may not be met. */
#ifndef WEIR_STORAGE_KNOWN_H
#define WEIR_STORAGE_KNOWN_H

#include "storage/catalog/catalog.h"
#include "storage/scanning/scope.h"

struct known;

/* `dataset` and the sealed `scope` are borrowed. */
struct known *storage_known_new(const struct dataset *dataset, const struct scope *scope);
void storage_known_free(struct known *known);
WEIR_DEFINE_AUTO(known, storage_known_free)
/* The next file, or NULL; it stays the same until skip(). */
struct stored_file *storage_known_peek(struct known *known);
void storage_known_skip(struct known *known);

/* The live file of this path, or NULL. */
struct stored_file *storage_known_find(const struct dataset *dataset, const char *path);

#endif
