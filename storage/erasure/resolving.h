/* Looking up which samples an open erasure may mean, in pieces: all that have a hash of it. Nobody may merge sorted
 * runs meanwhile. */
#ifndef WEIR_STORAGE_RESOLVING_H
#define WEIR_STORAGE_RESOLVING_H

#include "storage/erasure/candidates.h"
#include "storage/erasure/erasure_record.h"

/* Hashes of one kind, and whose they are. */
struct requested_hashes {
    struct requested_hash {
        uint64_t hash;
        uint32_t request; /* index into the erasure's */
    } * at;               /* by hash, then by request */
    size_t count;
    struct id_list hashes; /* distinct */
};

struct lookup {
    struct requested_hashes subjects, keys;
    size_t request, wanted; /* the next id that was asked for */
    size_t dataset;         /* index into the catalog's */
    int kind;               /* 0: subjects, 1: keys */
    struct key_walk walk;
    struct candidates found;
};

void storage_lookup_init(struct lookup *lookup, const struct erasure_record *erasure);
void storage_lookup_fini(struct lookup *lookup);
/* A bounded piece of work: fills lookup->found. */
enum weir_status storage_lookup_step(struct store *store, const struct erasure_record *erasure,
                                     struct lookup *lookup, bool *ret_done,
                                     struct weir_error *err) WEIR_MUST_USE;

#endif
