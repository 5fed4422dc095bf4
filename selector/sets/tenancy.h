/* Sets that a reader may read: a key for the pipelines of one tenant reads no set with a dataset of another. */
#ifndef SELECTOR_SETS_TENANCY_H
#define SELECTOR_SETS_TENANCY_H

#include "core/db/db.h"
#include "core/rpc/keyring.h"
#include "core/wire/sample_set.h"

/* DENIED when a sample of the set is of a dataset that no pipeline of the sender's tenant has; for a sender without a
 * tenant, never. */
enum weir_status selector_tenancy_check(struct weir_db *db, const struct weir_sender *sender,
                                        const struct weir_sample_set *set,
                                        struct weir_error *err) WEIR_MUST_USE;

#endif
