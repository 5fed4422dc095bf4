/* The sets there are, with their sizes and the reasons for keeping them: one answer for a person, of
 * bounded length. Reads only. */
#ifndef SELECTOR_INVENTORY_H
#define SELECTOR_INVENTORY_H

#include "core/base/memory.h"
#include "core/wire/wire.h"
#include "selector/selector.h"

enum { SELECTOR_LISTED_MAX = 1000 };

/* Columns and texts lie in `arena`. */
enum weir_status selector_inventory(const struct selector *selector, const char *pipeline,
                                    struct weir_arena *arena, struct msg_sets_are *ret_sets,
                                    struct weir_error *err) WEIR_MUST_USE;

#endif
