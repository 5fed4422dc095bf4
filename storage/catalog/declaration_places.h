/* The fields that each sample's time, label, subject and key come from. Part of declaration.c: the source was read,
 * and with it the format, which says where it can find a field. Nodes may be NULL, but that of `time`: nothing is
 * declared. */
#ifndef WEIR_STORAGE_DECLARATION_PLACES_H
#define WEIR_STORAGE_DECLARATION_PLACES_H

#include "storage/catalog/declaration.h"

extern const struct cfg_key STORAGE_TIME_KEYS[];
extern const struct cfg_key STORAGE_LABEL_KEYS[];
extern const struct cfg_key STORAGE_IDENTITY_KEYS[]; /* of subject and key */
extern const char *const STORAGE_TIME_FROMS[];       /* enum time_from */

enum weir_status storage_time_declared(struct declaration *d, const char *dataset,
                                       const struct weir_yaml_node *node,
                                       struct weir_error *err) WEIR_MUST_USE;
enum weir_status storage_label_declared(struct declaration *d, const char *dataset,
                                        const struct weir_yaml_node *node,
                                        struct weir_error *err) WEIR_MUST_USE;
/* `path` is that of the node: datasets[0].subject, or key. */
enum weir_status storage_identity_declared(const struct declaration *d, const char *path,
                                           const struct weir_yaml_node *node,
                                           struct format_field *field,
                                           struct weir_error *err) WEIR_MUST_USE;

#endif
