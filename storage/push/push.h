/* Pushed samples: appended to segments that storage owns, and acknowledged once they are on disk.
 *
 * All batches that arrive while one group is being committed are the next group: one write, one sync, one
 * transaction. A client numbers its batches 1, 2, 3, …; they are taken in that order, and one that
 * comes again gets the answer it got before, also after a death. Good records are taken, bad ones refused
 * with their place. Killed at any instruction: what no transaction covers is cut off (segment.h), the
 * client asks again, and the ids are those of an undisturbed run. Owned by struct storage. */
#ifndef WEIR_STORAGE_PUSH_H
#define WEIR_STORAGE_PUSH_H

#include "core/rpc/rpc.h"
#include "storage/scanning/scan.h"

enum {
    PUSH_BYTES_MAX = 32 << 20,         /* of one batch */
    PUSH_WAITING_BYTES_MAX = 96 << 20, /* of all that wait: more are asked again later */
    PUSH_GROUP_BATCHES_MAX = 256,
    PUSH_GROUP_BYTES_MAX = 64 << 20,
    PUSH_CLIENT_MAX = 64,
    PUSH_MARK_MAX = 64,
    PUSH_REASONS_MAX = 10,               /* reported of one batch */
    PUSH_ANSWERS_KEPT = 1024,            /* of one client, */
    PUSH_ANSWERS_KEPT_S = 7 * 24 * 3600, /* of running, until so long after its newest batch */
};

struct pushes;

struct pushes *storage_pushes_new(const struct scan_tools *tools);
void storage_pushes_free(struct pushes *pushes);
/* Removes what a death or a failed commit left after the committed bytes; called once the catalog is loaded. */
void storage_pushes_recover(struct pushes *pushes);

/* Answers the request, now or when its samples are on disk. */
void storage_push(struct pushes *pushes, struct weir_request *request);
/* Forgets answers that no client waits for now. */
enum weir_status storage_push_forget(struct store *store, struct weir_error *err) WEIR_MUST_USE;

#endif
