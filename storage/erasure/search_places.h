/* How much of each place a search has looked at. A place is a folder or file of the data directory, whatever is below
 * it; the orchestrator, which knows what they are for, names them. */
#ifndef WEIR_STORAGE_SEARCH_PLACES_H
#define WEIR_STORAGE_SEARCH_PLACES_H

#include "core/base/bytes.h"

enum { SEARCH_PLACES_MAX = 32 };

/* In the order of their names; the last counts what is in no place. */
struct search_places {
    struct searched {
        uint64_t files, bytes;
    } at[SEARCH_PLACES_MAX];
};

/* The place that a file is in. `names` has one a line; absolute paths are in the last one. */
struct searched *storage_search_place(struct search_places *places, const char *names,
                                      const char *path);
/* Appends "FILES BYTES NAME" for each, one a line; the name of what is in none of them is empty. */
void storage_search_places_print(const struct search_places *places, const char *names,
                                 struct weir_buf *out);

#endif
