/* `source` of a dataset: where its files are and what they look like. Part of declaration.c. */
#ifndef WEIR_STORAGE_DECLARATION_SOURCE_H
#define WEIR_STORAGE_DECLARATION_SOURCE_H

#include "storage/catalog/declaration.h"

extern const struct cfg_key STORAGE_SOURCE_KEYS[]; /* the format's own keys come beside them */
extern const char *const STORAGE_IMPORTS[];
extern const char *const STORAGE_ON_ERASES[]; /* enum on_erase */

/* Finds the format, too, and reads its options. */
enum weir_status storage_source_declared(struct declaration *d, const char *dataset,
                                         const struct weir_yaml_node *node,
                                         struct weir_error *err) WEIR_MUST_USE;
/* INVALID when the folder lies in none of the system file's roots. */
enum weir_status storage_source_check_place(const struct declaration *d, const char *dataset,
                                            const struct weir_yaml_node *source,
                                            struct weir_error *err) WEIR_MUST_USE;
/* Reads how an erasure treats the bytes. The subject was read. */
enum weir_status storage_erase_declared(struct declaration *d, const char *dataset,
                                        const struct weir_yaml_node *source,
                                        struct weir_error *err) WEIR_MUST_USE;

#endif
