/* Sealed sets of a worker that does not see the platform's files: each is fetched from the selector once, page by page,
 * into a folder of the worker's own, and believed when its digest is right. */
#ifndef WEIR_PREPROCESS_WORKER_SETS_H
#define WEIR_PREPROCESS_WORKER_SETS_H

#include "core/rpc/rpc.h"

enum {
    SETS_MAX = 64,       /* kept, or on their way; the one used longest ago makes room */
    SETS_PAGE = 1 << 17, /* samples of one request */
    SETS_REQUEST_MS = 10000,
};
#define SETS_SAMPLES_MAX ((uint64_t)1 << 30) /* of a set, and of all its epochs */

struct sets;

/* Makes the folder, or empties it of what an earlier process has left there. The peer is borrowed. `on_news` is called
 * when a set has come, or cannot come. */
enum weir_status preprocess_sets_open(const char *folder, struct weir_rpc_peer *selector,
                                      void (*on_news)(void *owner), void *owner,
                                      struct sets **ret_sets, struct weir_error *err) WEIR_MUST_USE;
void preprocess_sets_close(struct sets *sets); /* NULL is fine */
/* Finds the file of the set with this digest; the path is borrowed until the next call. UNAVAILABLE while it is on its
 * way, which begins now; any other error says why it did not come, and the next call begins again. */
enum weir_status preprocess_sets_find(struct sets *sets, const char *digest, const char **ret_path,
                                      struct weir_error *err) WEIR_MUST_USE;

#endif
