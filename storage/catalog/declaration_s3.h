/* `source.s3` of a dataset: a bucket instead of a folder. Part of declaration.c. */
#ifndef WEIR_STORAGE_DECLARATION_S3_H
#define WEIR_STORAGE_DECLARATION_S3_H

#include "storage/catalog/declaration.h"

/* Reads and checks d->source.s3, if it is there; `path` and `node` are those of `source`. */
enum weir_status storage_s3_declared(struct declaration *d, const char *path,
                                     const struct weir_yaml_node *node,
                                     struct weir_error *err) WEIR_MUST_USE;
/* Checks that its credentials are declared and may be sent to its endpoint: INVALID with file:line:column.
 * `dataset` as in "datasets[0]". */
enum weir_status storage_s3_check_credentials(const struct declaration *d, const char *dataset,
                                              struct weir_error *err) WEIR_MUST_USE;
/* Appends its effective values below `source`. */
void storage_s3_print(const struct declaration *d, struct weir_buf *out);
extern const struct cfg_key STORAGE_S3_KEYS[];

#endif
