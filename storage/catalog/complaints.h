/* Parts of a source that could not be looked at, and why: reported with the dataset as long as it is so. One complaint
 * a path, bounded. Zeroed is none. */
#ifndef WEIR_STORAGE_COMPLAINTS_H
#define WEIR_STORAGE_COMPLAINTS_H

#include "storage/catalog/scope.h"

enum { COMPLAINTS_KEPT_MAX = 64 };

struct complaint {
    char *path; /* relative to the source; of a folder with a slash at its end */
    char *text; /* for people: the place and the reason */
};

struct complaints {
    struct complaint at[COMPLAINTS_KEPT_MAX];
    size_t count;
};

void storage_complaints_fini(struct complaints *complaints);
/* `path` is "" for the source as a whole. A complaint of this path is replaced. */
void storage_complaints_put(struct complaints *complaints, const char *path, const char *reason);
/* Forgets those in a sealed scope, which is going to be looked at again. */
void storage_complaints_forget(struct complaints *complaints, const struct scope *scope);

#endif
