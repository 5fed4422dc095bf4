/* `source.push` of a dataset: samples are pushed, there is no folder. Part of declaration.c. */
#ifndef WEIR_STORAGE_DECLARATION_PUSH_H
#define WEIR_STORAGE_DECLARATION_PUSH_H

#include "storage/catalog/declaration.h"

/* Checks that either a source is named or samples are pushed, and that nothing is said of a folder then; `path`
 * and `node` are those of `source`. */
enum weir_status storage_push_declared(const struct declaration *d, const char *path,
                                       const struct weir_yaml_node *node,
                                       struct weir_error *err) WEIR_MUST_USE;
/* Appends the effective values of `source`. */
void storage_push_print(const struct declaration *d, const char *on_erase, struct weir_buf *out);

#endif
