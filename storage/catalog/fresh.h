/* Bytes of a dataset's files that have been written, and have no sums yet: noted with each commit, worked off beside
 * it. Forgotten with the catalog; whoever works them off looks at all files then. Zeroed is none. */
#ifndef WEIR_STORAGE_FRESH_H
#define WEIR_STORAGE_FRESH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FRESH_MAX = 1 << 16 };

struct fresh_bytes {
    uint64_t file;     /* its number */
    uint64_t from, to; /* both 0: it may be gone */
};

struct fresh {
    struct fresh_bytes *at;
    size_t count, capacity;
    bool is_lost; /* more than can be listed */
};

void storage_fresh_fini(struct fresh *fresh);
void storage_fresh_add(struct fresh *fresh, struct fresh_bytes bytes);

#endif
