/* Holders, their use leases, and epochs: see use_leases.h for the rules. */
#include "storage/reading/use_leases.h"

#include "core/base/error.h"
#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

struct holder {
    bool is_known; /* the slot is in use */
    bool has_ended;
    uint64_t session;
    uint64_t named;      /* newest epoch it named, never beyond ours at that time */
    uint64_t born_epoch; /* our epoch when it first asked */
    int64_t lease_end_ms;
};

struct use_leases {
    uint64_t epoch;
    uint64_t epoch_in_force;
    int64_t blind_until_ms; /* leases granted by an earlier incarnation may run until then */

    uint64_t *ids; /* of all epochs, oldest first */
    size_t id_count;
    size_t id_capacity;
    size_t *ends; /* ends[e]: index into ids after epoch e; ends[0] = 0 */
    size_t end_capacity;

    struct holder holders[STORAGE_HOLDERS_MAX];
    size_t holders_used; /* slots after are all unknown */
};

struct use_leases *storage_leases_new(int64_t now_ms)
{
    struct use_leases *leases = weir_calloc(1, sizeof(*leases));

    leases->blind_until_ms = now_ms + STORAGE_LEASE_KEPT_MS;
    leases->end_capacity = 16;
    leases->ends = weir_calloc(leases->end_capacity, sizeof(*leases->ends));
    return leases;
}

void storage_leases_none_before(struct use_leases *leases)
{
    leases->blind_until_ms = INT64_MIN;
}

void storage_leases_free(struct use_leases *leases)
{
    if (leases == NULL)
        return;
    free(leases->ids);
    free(leases->ends);
    free(leases);
}

uint64_t storage_leases_epoch(const struct use_leases *leases)
{
    return leases->epoch;
}

uint64_t storage_leases_add(struct use_leases *leases, const uint64_t *ids, size_t count)
{
    weir_require(count <= STORAGE_ERASED_MAX); /* a page, or check_epoch() */
    if (leases->id_count + count > leases->id_capacity) {
        leases->id_capacity = 2 * leases->id_capacity + count;
        leases->ids = weir_realloc(leases->ids, leases->id_capacity, sizeof(*leases->ids));
    }
    if (leases->epoch + 1 >= leases->end_capacity) {
        leases->end_capacity *= 2;
        leases->ends = weir_realloc(leases->ends, leases->end_capacity, sizeof(*leases->ends));
    }
    if (count > 0)
        memcpy(leases->ids + leases->id_count, ids, count * sizeof(*ids));
    leases->id_count += count;
    leases->epoch++;
    leases->ends[leases->epoch] = leases->id_count;
    return leases->epoch;
}

static bool is_running(const struct holder *holder, int64_t now_ms)
{
    return holder->is_known && !holder->has_ended && holder->lease_end_ms > now_ms;
}

/* A holder whose lease is over still counts in the report of the epochs that are not in force yet. */
static bool is_forgettable(const struct use_leases *leases, const struct holder *holder,
                           int64_t now_ms)
{
    return !is_running(holder, now_ms) && leases->epoch_in_force == leases->epoch;
}

static struct holder *find(struct use_leases *leases, uint64_t session)
{
    for (size_t i = 0; i < leases->holders_used; i++) {
        if (leases->holders[i].is_known && leases->holders[i].session == session)
            return &leases->holders[i];
    }
    return NULL;
}

/* A free slot, else one that nobody needs, else one that only a report would have counted. */
static struct holder *find_room(struct use_leases *leases, int64_t now_ms)
{
    struct holder *over = NULL;

    for (size_t i = 0; i < leases->holders_used; i++) {
        struct holder *holder = &leases->holders[i];

        if (!holder->is_known || is_forgettable(leases, holder, now_ms))
            return holder;
        if (over == NULL && !is_running(holder, now_ms))
            over = holder;
    }
    if (leases->holders_used < STORAGE_HOLDERS_MAX)
        return &leases->holders[leases->holders_used++];
    return over;
}

/* Ids that the holder does not know yet, cut at the end of an epoch so that it fits one answer. */
static void tell(const struct use_leases *leases, uint64_t named, struct use_grant *grant)
{
    size_t first = leases->ends[named];
    uint64_t epoch = named;

    while (epoch < leases->epoch && leases->ends[epoch + 1] - first <= STORAGE_ERASED_MAX)
        epoch++;
    grant->epoch = epoch;
    grant->erased = leases->ids != NULL ? leases->ids + first : NULL;
    grant->erased_count = leases->ends[epoch] - first;
}

bool storage_leases_hold(struct use_leases *leases, uint64_t session, uint64_t epoch,
                         int64_t now_ms, struct use_grant *ret_grant)
{
    /* Nobody can have dropped what is not erased yet. */
    uint64_t named = epoch < leases->epoch ? epoch : leases->epoch;
    struct holder *holder = find(leases, session);

    if (holder == NULL) {
        holder = find_room(leases, now_ms);
        if (holder == NULL)
            return false;
        *holder =
            (struct holder){.is_known = true, .session = session, .born_epoch = leases->epoch};
    }
    if (holder
            ->has_ended) { /* its last words were overtaken: believe only what this request says */
        holder->has_ended = false;
        holder->named = 0;
    }
    if (holder->named < named)
        holder->named = named;
    holder->lease_end_ms = now_ms + STORAGE_LEASE_KEPT_MS;

    tell(leases, named, ret_grant);
    ret_grant->lease_ms = STORAGE_LEASE_MS;
    ret_grant->slot = (size_t)(holder - leases->holders);
    return true;
}

void storage_leases_hold_end(struct use_leases *leases, uint64_t session, int64_t now_ms)
{
    struct holder *holder = find(leases, session);

    if (holder == NULL)
        return;
    holder->has_ended = true;
    if (is_forgettable(leases, holder, now_ms))
        holder->is_known = false;
}

static void count_holder(const struct holder *holder, uint64_t epoch, int64_t now_ms,
                         struct epoch_force *force)
{
    bool has_answered = holder->has_ended || holder->named >= epoch;
    bool was_there = holder->born_epoch < epoch;

    if (has_answered) {
        force->answered += was_there;
        return;
    }
    if (holder->lease_end_ms <= now_ms) {
        force->expired += was_there;
        return;
    }
    force->in_force = false;
    if (force->expected_ms < holder->lease_end_ms)
        force->expected_ms = holder->lease_end_ms;
}

struct epoch_force storage_leases_force(struct use_leases *leases, uint64_t epoch, int64_t now_ms)
{
    struct epoch_force force = {.in_force = true, .expected_ms = now_ms};

    if (leases->blind_until_ms > now_ms) {
        force.in_force = false;
        force.expected_ms = leases->blind_until_ms;
    }
    for (size_t i = 0; i < leases->holders_used; i++) {
        if (leases->holders[i].is_known)
            count_holder(&leases->holders[i], epoch, now_ms, &force);
    }
    if (epoch > leases->epoch) { /* not erased yet */
        force.in_force = false;
    } else if (epoch <= leases->epoch_in_force) {
        force.in_force = true;
        force.expected_ms = now_ms;
    } else if (force.in_force) {
        leases->epoch_in_force = epoch;
    }
    return force;
}

size_t storage_leases_silent(const struct use_leases *leases, int64_t now_ms, size_t *slots)
{
    size_t count = 0;

    for (size_t i = 0; i < leases->holders_used; i++) {
        const struct holder *holder = &leases->holders[i];

        if (is_running(holder, now_ms) && holder->named < leases->epoch)
            slots[count++] = i;
    }
    return count;
}
