/* `label.values` of a declaration: labels that are vectors of numbers. */
#ifndef WEIR_STORAGE_DECLARATION_VALUES_H
#define WEIR_STORAGE_DECLARATION_VALUES_H

#include "storage/catalog/declaration.h"

/* Reads [f32, 3]. INVALID, at its place, when it is something else. */
enum weir_status storage_values_declared(struct declaration *declaration,
                                         const struct cfg_texts *values, const char *path,
                                         struct weir_error *err) WEIR_MUST_USE;
/* Refuses what cannot be declared together with a vector, or without one. */
enum weir_status storage_values_check(const struct declaration *declaration,
                                      const struct place_section *place,
                                      const struct weir_yaml_node *node, const char *path,
                                      struct weir_error *err) WEIR_MUST_USE;

#endif
