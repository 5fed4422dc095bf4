/* One pass over a dataset's source, or over the paths in it that events have named: what the walk finds
 * (listing.h) is compared with what is known (known.h), both in bytewise path order and one file at a time,
 * and what is new, grown, replaced or gone is staged. Works in pieces so that requests are answered between
 * them; commits a batch whenever one is full. Killed at any point, the next scan goes on where the last
 * commit left off and gives the same ids. Owned by its dataset.
 *
 * What cannot be read hides nothing but itself: a folder or file that may not be opened is noted, what is
 * known of it stays, and the rest of the source goes on. */
#ifndef WEIR_STORAGE_SCAN_H
#define WEIR_STORAGE_SCAN_H

#include "storage/intake/intake.h"
#include "storage/keys/id_list.h"
#include "storage/records/gather.h"
#include "storage/scanning/watch.h"
#include "storage/store/store.h"

/* Tools of a scan; borrowed. */
struct scan_tools {
    struct store *store;
    const struct gather_from *from;
    struct watch *watch;
    bool is_erasing; /* bytes may stand where they are about to be overwritten */
};

struct scan;

/* Adds the numbers of the datasets in whose folders copies may lie that no commit tells of: a scan is under way, or has
 * ended in an error. A commit of unknown outcome, too, may have been the last of a file whose copy stands. */
void storage_scans_unfinished(const struct catalog *catalog, struct id_list *numbers);
/* Lets go of what scans remember of people. A scan that is under way needs a manifest until it has looked at all of
 * the source. */
void storage_scans_wipe(struct catalog *catalog);
/* Frees the scans of all datasets, wherever they are. */
void storage_scans_free(struct catalog *catalog);

/* Begins a scan of what is dirty, which is nothing then, unless one is under way. */
void storage_scan_start(struct dataset *dataset);
bool storage_scan_is_running(const struct dataset *dataset);
/* True once a scan of everything has ended since the start, and nothing waits to be looked at again. */
bool storage_scan_has_seen_all(const struct dataset *dataset);

struct scan_outcome {
    bool is_done;
    bool is_whole;   /* all of the source was looked at */
    bool is_waiting; /* for bytes of an object: the storage is pumped when they are there */
    int64_t wait_ms; /* a first scan: for a file being written, or an object that did not come */
    bool is_undone;  /* after an error: the catalog must be loaded again */
};

/* One piece of work of at most about 10 ms and one window or commit. What was too young, or changed while it
 * was read, is dirty afterwards. After an error the scan is over: NOT_FOUND, INVALID and DENIED tell what is wrong with
 * the source, IO with what Weir writes for it, and both may mend. */
enum weir_status storage_scan_step(struct dataset *dataset, const struct scan_tools *tools,
                                   struct scan_outcome *ret_outcome,
                                   struct weir_error *err) WEIR_MUST_USE;

/* Commits what is staged now, for whoever needs the store to be complete up to here. */
enum weir_status storage_scan_flush(struct dataset *dataset, const struct scan_tools *tools,
                                    struct weir_error *err) WEIR_MUST_USE;

#endif
