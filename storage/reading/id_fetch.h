/* Bytes of samples that somebody is about to look at, some at a time: those of objects in buckets are asked for before,
 * together, and not waited for longer than they are worth. Owned by whoever looks. */
#ifndef WEIR_STORAGE_ID_FETCH_H
#define WEIR_STORAGE_ID_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct s3_range_request;
struct s3_ranges;
struct store;

enum { ID_FETCH_MAX = 256 /* ids at a time */ };

/* Zeroed is none. */
struct id_fetch {
    struct s3_range_request *request; /* NULL: nothing is waited for */
    size_t upto;                      /* ids that were asked for */
    int64_t until_ms;                 /* when waiting for them ends */
    char *why;                        /* failure of the last fetch; NULL: all came */
};

/* Zeroes it; nothing is waited for now. */
void storage_id_fetch_fini(struct id_fetch *fetch);

struct id_fetching {
    const uint64_t *ids;
    size_t count, at;    /* of all, and which is next */
    bool wants_head;     /* of their files, too */
    bool wants_mirrored; /* from the bucket even if there is a mirror, and again */
    int64_t patience_ms;
};
/* True when the ids from `at` to fetch->upto may be looked at: what can be there is. Else storage
 * is pumped when that may have changed, or at fetch->until_ms it has. */
bool storage_id_fetch(struct store *store, struct s3_ranges *ranges, struct id_fetch *fetch,
                      const struct id_fetching *asked);
/* While it waits: how long that may last, 1 at least; else 0. */
int64_t storage_id_fetch_wait_ms(const struct id_fetch *fetch);

#endif
