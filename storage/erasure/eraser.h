/* Erasures, and what they reach: the rooms of a store that hold something of a sample. Owned by struct storage. */
#ifndef WEIR_STORAGE_ERASER_H
#define WEIR_STORAGE_ERASER_H

#include "core/rpc/rpc.h"
#include "storage/erasure/refused_holders.h"
#include "storage/feed/replay.h"
#include "storage/objects/s3_mirror.h"
#include "storage/reading/id_fetch.h"
#include "storage/reading/use_leases.h"
#include "storage/scanning/scanner.h"
#include "storage/store/store.h"
#include "storage/sums/sums.h"

enum { ERASE_STEP_MS = 20 }; /* after which a piece of work ends, if it is not done before */

struct accepts;
struct erasures;
struct pending_writes;

struct eraser {
    /* Borrowed; outlive it. */
    struct store *store;
    struct scanner *scanner;
    const struct gather_from *from;
    struct mirrors *mirrors;
    struct sums *sums;
    struct replays *replays;
    struct use_leases *leases;

    struct weir_rpc_server *server; /* of the newest holder */
    struct weir_route *routes;      /* of holders, by slot: where they are hinted */
    size_t route_count;
    uint64_t hint_timer; /* 0: nobody is to be hinted */
    struct refused_holders refused;
    size_t epoch_ids;          /* ids that one epoch erases at most; fewer in tests */
    struct erasures *erasures; /* erasures that are not verified yet; NULL: not loaded */
    char *cluster; /* folder of Postgres, searched for them; NULL: it is not Weir's own */
    char *places;  /* searched apart, one a line; NULL: not announced */
    struct accepts *accepts;
    struct pending_writes *pending; /* what erasures still have to do in buckets */
    struct erase_check {
        uint64_t look;
        struct id_fetch fetch;
    } check; /* of a verified erasure, which waits for bytes of buckets */
};

/* Once the rooms are set. */
void storage_eraser_begin(struct eraser *eraser);
/* Drops its own, zeroed included. */
void storage_eraser_fini(struct eraser *eraser);

#endif
