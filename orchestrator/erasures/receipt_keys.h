/* The keys that this platform signs receipts with: the private half of the newest in DATA_DIR/receipt.key, the public
 * halves of all in Postgres and, for whoever verifies without a platform, in DATA_DIR/receipts/keys. */
#ifndef ORCHESTRATOR_ERASURES_RECEIPT_KEYS_H
#define ORCHESTRATOR_ERASURES_RECEIPT_KEYS_H

#include "orchestrator/context/context.h"
#include "orchestrator/erasures/signing.h"

#include <jansson.h>

/* The order to sign with another key from now on. One order draws one key, however often opening is tried with it. */
struct receipt_key_order {
    bool is_given;
    bool is_counted;
    size_t known; /* keys recorded when the order was first read */
};

/* Makes the first key of a platform, adopts that of an older one; on `order`, replaces the key that there is, or that
 * was lost. CORRUPT, with what to do, when the key is missing or is another one. */
enum weir_status orchestrator_receipt_keys_open(const struct context *context,
                                                struct receipt_key_order *order,
                                                struct weir_error *err) WEIR_MUST_USE;

/* The newest, to sign with; never makes one. Wipe it with orchestrator_receipt_key_fini(). */
enum weir_status orchestrator_receipt_key(const struct context *context,
                                          struct receipt_key *ret_key,
                                          struct weir_error *err) WEIR_MUST_USE;

/* Public halves, the newest first, as a JSON array. */
enum weir_status orchestrator_receipt_keys(const struct context *context, json_t **ret_keys,
                                           struct weir_error *err) WEIR_MUST_USE;
/* True when `key` is one of them. */
bool orchestrator_receipt_keys_have(const json_t *keys, const char *key);

#endif
