/* One scalar of a configuration: from text to a member, and what to say when it does not fit. For
 * core/config alone. */
#ifndef WEIR_CONFIG_VALUE_H
#define WEIR_CONFIG_VALUE_H

#include "core/config/schema.h"

/* Reads `text` as the key's kind and stores it, within its bounds, at `member`. False when it does
 * not fit. Not for TEXTS and NODE. */
bool cfg_value_store(const struct cfg_key *key, const char *text, void *member);
/* "an integer >= 1", "one of: full, windowed, none". */
void cfg_value_expected(const struct cfg_key *key, struct weir_buf *out);
/* ">= 1", "0.5 .. 2", or nothing when there are no bounds; in the units people write. */
void cfg_value_bounds(const struct cfg_key *key, struct weir_buf *out);
/* "90s", "64MiB": the largest unit that loses nothing. */
void cfg_value_print_duration(int64_t us, struct weir_buf *out);
void cfg_value_print_size(uint64_t bytes, struct weir_buf *out);

#endif
