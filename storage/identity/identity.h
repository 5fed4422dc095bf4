/* Keys of a chain or of a profile as they are now: found by a thread, kept, and found again before they end, while
 * those that are kept still serve. The loop never waits. */
#ifndef WEIR_STORAGE_IDENTITY_IDENTITY_H
#define WEIR_STORAGE_IDENTITY_IDENTITY_H

#include "core/base/error.h"
#include "core/loop/loop.h"
#include "storage/identity/keys.h"

#include <sys/queue.h>

struct identities;
struct identity;

struct identities *storage_identities_new(struct weir_loop *loop);
void storage_identities_free(struct identities *identities); /* nobody waits by then */
/* That of a profile, or with NULL of the chain; `identities` owns it. */
struct identity *storage_identities_find(struct identities *identities, const char *profile);

/* NULL: there are none that serve at this moment, see storage_identity_await(). Valid until the loop goes on. */
const struct s3_credentials *storage_identity_now(struct identity *identity, int64_t now_us);

/* One that waits: called once from the loop, with keys, or NULL and why there are none. */
struct identity_wait {
    void (*fn)(void *owner, const struct s3_credentials *keys, const struct weir_error *err);
    void *owner;
    bool is_waiting;
    LIST_ENTRY(identity_wait) link;
};
void storage_identity_await(struct identity *identity, struct identity_wait *wait);
void storage_identity_forget(struct identity_wait *wait); /* one that does not wait is fine */

/* The store says that these are over, whatever their end is said to be. */
void storage_identity_refuse(struct identity *identity, const char *key_id);

/* When keys that end then are found again: before the last third of what is left to them, and at most a quarter of an
 * hour before their end, each at another moment (`draw`). */
int64_t storage_identity_refresh_us(int64_t now_us, int64_t expires_us, uint64_t draw);

#endif
