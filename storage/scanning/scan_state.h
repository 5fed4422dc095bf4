/* A scan under way: shared by scan.c, which drives it, scan_merge.c, which decides about each path, and
 * scan_manifest.c. */
#ifndef WEIR_STORAGE_SCAN_STATE_H
#define WEIR_STORAGE_SCAN_STATE_H

#include "storage/catalog/known.h"
#include "storage/files/listing.h"
#include "storage/files/source.h"
#include "storage/scanning/appended.h"
#include "storage/scanning/file_job.h"
#include "storage/scanning/scan.h"

enum { SCAN_TICK_US = 20000 }; /* twice what a kernel's clock for files may stand still */

enum scan_phase { SCAN_IDLE, SCAN_BEGIN, SCAN_COMPARE };

struct scan {
    enum scan_phase phase;
    struct scope scope;
    struct listing *listing;
    struct listed listed; /* the walk's next, if has_listed */
    bool has_listed;
    struct known *known;
    struct watch *watch;
    /* weir_now_ms() until which a first scan waits for files that are written */
    int64_t patience_ms;
    /* The same for bytes of an object that do not come, and when they are asked for again */
    int64_t objects_until_ms, asks_again_ms;

    struct manifest *manifest; /* as of manifest_stat; kept from scan to scan until it is wiped */
    struct stat manifest_stat;
    bool has_manifest;    /* one was read */
    bool manifest_is_new; /* not every file has been asked about since it was read */
    bool is_wiping;       /* the manifest goes as soon as it can be spared */

    struct appended appended;
    bool is_appended; /* the file at hand goes on being written: its whole lines count */

    struct batch *batch;
    struct file_job job;
    bool has_checked; /* the places of copies were checked; once per start */
    bool has_copied;  /* since the last commit */
    char **leavings;  /* paths whose copies are to be removed once the batch is committed */
    size_t leaving_count;
    bool is_undone;  /* a commit has failed: the catalog is ahead of Postgres */
    bool has_failed; /* once: copies may have been left */
};

/* scan_manifest.c: reads the manifest if it has changed; the scan then looks at all files. */
enum weir_status storage_scan_load_manifest(struct dataset *dataset,
                                            struct weir_error *err) WEIR_MUST_USE;
/* Reads a manifest again that was wiped, for a file that is taken in. STALE when it changes meanwhile. */
enum weir_status storage_scan_hold_manifest(struct dataset *dataset,
                                            struct weir_error *err) WEIR_MUST_USE;
/* Frees a manifest that is to be wiped, unless it is needed. */
void storage_scan_wipe_manifest(struct scan *scan);
/* The manifest's row of a file as 32 bits that are never 0; to be compared with file->prefix_hash of
 * one-sample files, which is 0 if nobody looked yet. */
uint64_t storage_scan_row_hash(const struct storage_secret *secret,
                               const struct manifest_row *row) WEIR_MUST_USE;

/* scan_merge.c: what becomes of the next path of the walk, of what is known, or both. */
enum met {
    MET_PATH,     /* a path was dealt with, or there is none yet */
    MET_JOB,      /* scan->job has work */
    MET_TOO_SOON, /* a file of a first scan was written just now */
    MET_END,
};
enum weir_status storage_scan_merge(struct dataset *dataset, const struct scan_tools *tools,
                                    enum met *ret_met, struct weir_error *err) WEIR_MUST_USE;
/* Time until a file that was changed at `found` counts as written; 0: it does. */
int64_t storage_scan_youth_us(const struct dataset *dataset, const struct stat *found);
/* The longer of the times of a file and of the sidecar beside it. */
int64_t storage_scan_pair_youth_us(const struct dataset *dataset, const struct listed *listed);
/* The same of a file that was changed at `changed_us`, by a clock that shows `now_us`. */
int64_t storage_youth_us(int64_t settle_us, int64_t changed_us, int64_t now_us);
/* Once the batch is committed, no copy of the path is wanted. */
void storage_scan_leave_copy(struct dataset *dataset, const char *path);
/* A file that must be looked at in the next scan. */
void storage_scan_again(struct dataset *dataset, const char *path);

#endif
