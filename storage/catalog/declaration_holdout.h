/* `holdout` of a dataset: samples that no training set ever holds. Part of declaration.c. By sample it is the
 * selector's affair; by subject it is drawn when samples are registered, and part of what the dataset is. */
#ifndef WEIR_STORAGE_DECLARATION_HOLDOUT_H
#define WEIR_STORAGE_DECLARATION_HOLDOUT_H

#include "storage/catalog/declaration.h"

/* `node` may be NULL: nothing is held out. The subject was read. */
enum weir_status storage_holdout_declared(struct declaration *d, const char *path,
                                          const struct weir_yaml_node *node,
                                          struct weir_error *err) WEIR_MUST_USE;
void storage_holdout_print(const struct declaration *d, struct weir_buf *out);

#endif
