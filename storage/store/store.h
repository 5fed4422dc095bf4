/* The store that every room works on: one thread, one loop, one connection to Postgres, one catalog. Owned by struct
 * storage, which loads it and is asked to work through it; borrowed by the rooms for as long as they live.
 *
 * While a statement is waited for, readers look at the catalog (storage_meanwhile()). So it is whole before each
 * statement, a transaction marks dead samples before its commit and revives none, and what somebody holds over a
 * statement stays where it is: readers take nothing out of the catalog or its caches then. */
#ifndef WEIR_STORAGE_STORE_H
#define WEIR_STORAGE_STORE_H

#include "core/db/lived.h"
#include "core/loop/loop.h"
#include "storage/catalog/catalog.h"
#include "storage/keys/erased_names.h"
#include "storage/keys/secret.h"

enum { STORAGE_LOCK_RETRY_MS = 20 };

struct chunk_cache;
struct key_merge;
struct s3_transport;

struct store {
    struct weir_loop *loop;
    struct weir_db *db;
    struct s3_transport *transport; /* to the buckets of its datasets */
    char *data_dir;
    struct storage_secret secret;
    struct weir_lived lived; /* what is kept for days is kept by it */
    struct catalog *catalog;
    bool is_stale; /* a commit's outcome is unknown: the catalog is loaded before anything else */
    struct chunk_cache *cache;
    struct erased_names erased;
    struct key_merge *merge; /* of sorted runs; NULL: none is under way */

    uint64_t pump_timer;  /* 0: there is nothing to do between requests */
    uint64_t retry_timer; /* 0: nothing has failed lately */
    enum weir_status (*load)(void *owner, struct weir_error *err);
    void (*work)(void *owner); /* one piece of everything that is under way */
    void *owner;
};

/* Drops what the store holds, but for the loop. */
void storage_store_fini(struct store *store);
/* OK when the catalog can be relied on; loads it again if need be. UNAVAILABLE otherwise. */
enum weir_status storage_ready(struct store *store, struct weir_error *err) WEIR_MUST_USE;
/* The same for readers, who can rely on a catalog in doubt for as long as it cannot be loaded: what was not committed
 * is marked as dead too early, or has ids that nobody knows. */
enum weir_status storage_readable(struct store *store, struct weir_error *err) WEIR_MUST_USE;
/* A commit failed: its outcome is unknown. */
void storage_doubt(struct store *store);
/* The same, after work that has failed: the next try waits a second. */
void storage_retry_later(struct store *store);
/* There is work: scans to continue, or an erasure to advance. */
void storage_pump(struct store *store);
/* False while the store's tables are being rewritten (core/db/table_lock.h): to be tried again after
 * STORAGE_LOCK_RETRY_MS. Otherwise no rewrite begins until storage_tables_unshare(). Work that changes what the catalog
 * knows is done in between. */
bool storage_tables_share(struct store *store);
void storage_tables_unshare(struct store *store);

#endif
