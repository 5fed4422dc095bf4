/* Kept keys, a thread at a time, and who waits for it: see identity.h. */
#include "storage/identity/identity.h"

#include "core/base/bytes.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "storage/identity/chain.h"

#include <stdlib.h>
#include <string.h>

enum { LEAD_PARTS = 3, AGAIN_MS_MAX = 60000 };

#define LEAD_US_MAX (15 * 60 * INT64_C(1000000))

LIST_HEAD(waits, identity_wait);

struct identity {
    struct identities *all;
    char *profile; /* NULL: the chain */
    struct s3_credentials keys;
    int64_t refresh_us; /* not before */
    struct weir_work *work;
    struct surroundings surroundings; /* the rest is of the thread while there is one */
    struct s3_credentials found;
    enum weir_status status;
    struct weir_error problem;
    uint64_t timer;
    struct waits waiting;
    LIST_ENTRY(identity) link;
};

struct identities {
    struct weir_loop *loop;
    LIST_HEAD(, identity) list;
};

int64_t storage_identity_refresh_us(int64_t now_us, int64_t expires_us, uint64_t draw)
{
    int64_t lead_us = (expires_us - now_us) / LEAD_PARTS;

    if (expires_us == INT64_MAX)
        return INT64_MAX;
    if (lead_us > LEAD_US_MAX)
        lead_us = LEAD_US_MAX;
    return lead_us <= 1 ? now_us
                        : expires_us - lead_us + (int64_t)(draw % (uint64_t)(lead_us / 2 + 1));
}

/* ---- the thread ---- */

static void find_keys(struct weir_work *work, void *owner)
{
    struct identity *identity = owner;

    identity->status = storage_identity_resolve(&identity->surroundings, identity->profile, work,
                                                &identity->found, &identity->problem);
}

/* The list is taken first: those who are told may wait again at once, for the next ones. */
static void tell(struct identity *identity, const struct weir_error *err)
{
    struct waits told = identity->waiting;
    struct identity_wait *wait;

    LIST_INIT(&identity->waiting);
    if (!LIST_EMPTY(&told))
        LIST_FIRST(&told)->link.le_prev = &told.lh_first;
    while ((wait = LIST_FIRST(&told)) != NULL) {
        storage_identity_forget(wait);
        wait->fn(wait->owner, err == NULL ? &identity->keys : NULL, err);
    }
}

static void keep_found(struct identity *identity, int64_t now_us)
{
    storage_s3_credentials_fini(&identity->keys);
    identity->keys = identity->found;
    identity->found = (struct s3_credentials){0};
    identity->refresh_us =
        storage_identity_refresh_us(now_us, identity->keys.expires_us, weir_random_u64());
}

static void on_found(void *owner)
{
    struct identity *identity = owner;
    int64_t now_us = weir_now_wall_us();

    identity->work = NULL;
    storage_surroundings_fini(&identity->surroundings);
    if (identity->status == WEIR_OK && identity->found.expires_us <= now_us) {
        storage_s3_credentials_fini(&identity->found);
        identity->status =
            weir_fail(&identity->problem, WEIR_UNAVAILABLE, "the keys that are found have ended");
    }
    if (identity->status == WEIR_OK) {
        keep_found(identity, now_us);
        tell(identity, NULL);
        return;
    }
    if (LIST_EMPTY(&identity->waiting))
        weir_log(WEIR_LOG_WARN, "keys of an object store are not renewed", "because=\"%s\"",
                 identity->problem.text);
    identity->refresh_us = now_us + 1000 * (int64_t)(weir_random_u64() % (uint64_t)AGAIN_MS_MAX);
    tell(identity, &identity->problem);
}

static void on_no_thread(void *owner)
{
    struct identity *identity = owner;

    identity->timer = 0;
    tell(identity, &identity->problem);
}

static void begin(struct identity *identity)
{
    if (identity->work != NULL || identity->timer != 0)
        return;
    storage_surroundings_take(&identity->surroundings);
    if (weir_work_start(identity->all->loop, find_keys, on_found, identity, &identity->work,
                        &identity->problem) == WEIR_OK)
        return;
    storage_surroundings_fini(&identity->surroundings);
    identity->timer = weir_loop_timer(identity->all->loop, 0, 0, on_no_thread, identity);
}

/* ---- who asks ---- */

const struct s3_credentials *storage_identity_now(struct identity *identity, int64_t now_us)
{
    bool serves = identity->keys.key_id != NULL && now_us < identity->keys.expires_us;

    if (serves && now_us >= identity->refresh_us)
        begin(identity);
    return serves ? &identity->keys : NULL;
}

void storage_identity_await(struct identity *identity, struct identity_wait *wait)
{
    weir_require(!wait->is_waiting);
    wait->is_waiting = true;
    LIST_INSERT_HEAD(&identity->waiting, wait, link);
    begin(identity);
}

void storage_identity_forget(struct identity_wait *wait)
{
    if (wait->is_waiting)
        LIST_REMOVE(wait, link);
    wait->is_waiting = false;
}

void storage_identity_refuse(struct identity *identity, const char *key_id)
{
    if (weir_str_equal(identity->keys.key_id, key_id))
        storage_s3_credentials_fini(&identity->keys);
}

/* ---- life ---- */

struct identities *storage_identities_new(struct weir_loop *loop)
{
    struct identities *identities = weir_calloc(1, sizeof(*identities));

    identities->loop = loop;
    LIST_INIT(&identities->list);
    return identities;
}

static void let_go(struct identity *identity)
{
    weir_require(LIST_EMPTY(&identity->waiting));
    weir_work_stop(identity->work);
    weir_loop_cancel(identity->all->loop, identity->timer);
    storage_surroundings_fini(&identity->surroundings);
    storage_s3_credentials_fini(&identity->keys);
    storage_s3_credentials_fini(&identity->found);
    LIST_REMOVE(identity, link);
    free(identity->profile);
    free(identity);
}

void storage_identities_free(struct identities *identities)
{
    if (identities == NULL)
        return;
    while (!LIST_EMPTY(&identities->list))
        let_go(LIST_FIRST(&identities->list));
    free(identities);
}

struct identity *storage_identities_find(struct identities *identities, const char *profile)
{
    struct identity *identity;

    LIST_FOREACH (identity, &identities->list, link)
        if (weir_str_equal(identity->profile, profile))
            return identity;
    identity = weir_calloc(1, sizeof(*identity));
    identity->all = identities;
    identity->profile = profile != NULL ? weir_strdup(profile) : NULL;
    LIST_INIT(&identity->waiting);
    LIST_INSERT_HEAD(&identities->list, identity, link);
    return identity;
}
