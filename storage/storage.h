/* The state of the storage service, and what it does between requests: scans in pieces, erasures step by
 * step, forgetting what every reader of the feed has passed. One thread, one loop. */
#ifndef WEIR_STORAGE_STORAGE_H
#define WEIR_STORAGE_STORAGE_H

#include "core/db/lived.h"
#include "core/rpc/segment.h"
#include "core/service/service.h"
#include "storage/chunks/chunk_cache.h"
#include "storage/erasure/erasure.h"
#include "storage/keys/secret.h"
#include "storage/reading/id_fetch.h"
#include "storage/records/gather.h"
#include "storage/scanning/scan.h"

struct erasing;
struct key_merge;
struct mirrors;
struct owed;
struct pushes;
struct replays;
struct late_reads;
struct s3_ranges;
struct sums;

struct storage {
    struct weir_loop *loop;
    struct weir_db *db;
    char *data_dir;
    struct storage_secret secret;
    struct weir_lived lived; /* what is kept for days is kept by it */

    struct catalog *catalog;
    bool is_stale; /* a commit's outcome is unknown: load the catalog before anything else */
    struct chunk_cache *cache;
    struct open_files *files;
    struct weir_borrowed *borrowed; /* memory of readers */
    struct replays *replays;
    struct doctor *doctor; /* the newest examination; NULL: none yet */
    struct watch *watch;

    struct storage_erasure *erasure; /* who may still use an erased sample */
    size_t epoch_ids;                /* ids that one epoch erases at most; fewer in tests */
    struct weir_rpc_server *server;  /* of the newest holder */
    struct weir_route routes[STORAGE_HOLDERS_MAX];
    struct erased_names erased;
    struct erasing *erasing; /* erasures that are not verified yet */
    char *cluster;           /* folder of Postgres, searched for them; NULL: it is not Weir's own */
    struct pushes *pushes;
    struct accepts *accepts; /* of erasures */
    struct mirrors *mirrors;
    struct s3_ranges *ranges;      /* bytes of objects that stay in buckets, */
    struct late_reads *late_reads; /* and who waits for them */
    struct erase_check {
        uint64_t look;
        struct id_fetch fetch;
    } check;                 /* of an erasure, which waits for them too */
    struct owed *owed;       /* what erasures still have to do in buckets */
    struct sums *sums;       /* of the blocks of its own files */
    struct key_merge *merge; /* of sorted runs; NULL: none is under way */

    uint32_t turn; /* whose scan has the next piece */
    uint64_t rescan_timer, again_timer, forget_timer, wake_timer;
    uint64_t pump_timer;    /* 0: there is nothing to do between requests */
    int64_t first_scans_ms; /* until when erasures wait for them */
    char **troubles;        /* by dataset: why its newest scan could not run, or NULL */
    size_t trouble_count;
};

/* The messages storage answers; their owner is a struct storage. */
/* Lets go of what it keeps for readers. */
void storage_wipe(void *state, const struct weir_request *request, struct msg_wiped *answer);
extern const struct weir_rpc_handler STORAGE_HANDLERS[];

enum weir_status storage_open(const struct weir_service_options *options, struct weir_loop *loop,
                              struct weir_rpc_server *server, void **ret_state,
                              struct weir_error *err);
void storage_close(void *state);

/* OK when the catalog can be relied on; loads it again if need be. UNAVAILABLE otherwise. */
enum weir_status storage_ready(struct storage *storage, struct weir_error *err) WEIR_MUST_USE;
/* A commit failed: its outcome is unknown. */
void storage_doubt(struct storage *storage);
/* There is work: scans to continue, or an erasure to advance. */
void storage_pump(struct storage *storage);
/* What a merge of sorted runs has read is not true any more: it begins again. */
enum weir_status storage_stop_merge(struct storage *storage, struct weir_error *err) WEIR_MUST_USE;
/* Starts scans of the datasets that are marked dirty, now or as soon as they may. */
void storage_scan_dirty(struct storage *storage);
/* True soon after the start, while sources are looked at that can be: what is known of their files may be old. */
bool storage_awaits_scans(const struct storage *storage);
struct scan_tools storage_tools(struct storage *storage);
struct gather_from storage_gather_from(const struct storage *storage);

#endif
