/* What of a source could not be looked at, and why: told with the dataset as long as it is so. One note a
 * path, bounded. Zeroed is none. */
#ifndef WEIR_STORAGE_NOTES_H
#define WEIR_STORAGE_NOTES_H

#include "storage/catalog/scope.h"

enum { NOTES_MAX = 64 };

struct note {
    char *path; /* relative to the source; of a folder with a slash at its end */
    char *text; /* for people: the place and the reason */
};

struct notes {
    struct note at[NOTES_MAX];
    size_t count;
};

void storage_notes_fini(struct notes *notes);
/* `path` is "" for the source as a whole. A note of this path is replaced. */
void storage_notes_put(struct notes *notes, const char *path, const char *reason);
/* Forgets those in a sealed scope, which is going to be looked at again. */
void storage_notes_forget(struct notes *notes, const struct scope *scope);

#endif
