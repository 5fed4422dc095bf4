/* The names of a request that match nothing, so that a misspelt one is answered instead of accepted in silence. A
 * subject or key matches when a sample has it, or when an erasure was asked for it before; an id, when it was given
 * to a sample, whatever became of that. */
#ifndef WEIR_STORAGE_UNMATCHED_H
#define WEIR_STORAGE_UNMATCHED_H

#include "storage/erasure/erasure_record.h"

/* Zeroed is none. */
struct unmatched {
    struct id_list subjects, keys; /* their hashes, ascending */
    struct id_list ids;            /* ascending */
    bool is_all;                   /* no name of the request matches */
};

void storage_unmatched_fini(struct unmatched *unmatched);
/* `matched`: the samples that storage_resolve() has found. */
enum weir_status storage_unmatched_find(struct store *store, const struct erase_request *request,
                                        uint64_t matched, struct unmatched *ret_unmatched,
                                        struct weir_error *err) WEIR_MUST_USE;
/* Fills the answer's lists, in the arena: the places of unmatched names in the request. */
void storage_unmatched_tell(const struct storage_secret *secret, const struct unmatched *unmatched,
                            const struct msg_erase_accept *asked, struct weir_arena *arena,
                            struct msg_erase_accepted *answer);

#endif
