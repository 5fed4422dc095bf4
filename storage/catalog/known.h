/* The live files of a dataset in bytewise order of their paths, as far as they lie in a scope: a merge of its file
 * groups, each of which knows its own order and between which paths it lies. Holds in memory the groups that it is
 * inside of: one, where files were found in order. Files that are registered meanwhile may or may not be met. */
#ifndef WEIR_STORAGE_KNOWN_H
#define WEIR_STORAGE_KNOWN_H

#include "storage/catalog/catalog.h"
#include "storage/catalog/scope.h"

struct known;

/* `dataset` and the sealed `scope` are borrowed. */
struct known *storage_known_new(const struct dataset *dataset, const struct scope *scope);
void storage_known_free(struct known *known);
WEIR_DEFINE_AUTO(known, storage_known_free)
/* The next file, or NULL; it stays the same until storage_known_skip(), and in memory until the next call. */
enum weir_status storage_known_peek(struct known *known, struct stored_file **ret_file,
                                    struct weir_error *err) WEIR_MUST_USE;
/* Goes on to the file after it; only after a call that gave one. */
void storage_known_skip(struct known *known);

/* The live file of this path, or NULL. */
enum weir_status storage_known_find(const struct dataset *dataset, const char *path,
                                    struct stored_file **ret_file,
                                    struct weir_error *err) WEIR_MUST_USE;

#endif
