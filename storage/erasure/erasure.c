/* Holders, use leases, epochs and in force: see erasure.h for the rules. Pure; owned by struct
 * storage. */
#include "storage/erasure/erasure.h"

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

struct storage_erasure {
    uint64_t epoch;
    uint64_t epoch_in_force;
    int64_t blind_until_ms; /* leases granted by an earlier incarnation may run until then */

    uint64_t *ids; /* of all epochs, oldest first */
    size_t id_count;
    size_t id_capacity;
    size_t *ends; /* ends[e]: index into ids behind epoch e; ends[0] = 0 */
    size_t end_capacity;

    struct holder holders[STORAGE_HOLDERS_MAX];
    size_t holders_used; /* slots behind are all unknown */
};

struct storage_erasure *storage_erasure_new(int64_t now_ms)
{
    struct storage_erasure *erasure = weir_calloc(1, sizeof *erasure);

    erasure->blind_until_ms = now_ms + STORAGE_LEASE_KEPT_MS;
    erasure->end_capacity = 16;
    erasure->ends = weir_calloc(erasure->end_capacity, sizeof *erasure->ends);
    return erasure;
}

void storage_erasure_free(struct storage_erasure *erasure)
{
    if (!erasure)
        return;
    free(erasure->ids);
    free(erasure->ends);
    free(erasure);
}

uint64_t storage_erasure_epoch(const struct storage_erasure *erasure)
{
    return erasure->epoch;
}

uint64_t storage_erasure_add(struct storage_erasure *erasure, const uint64_t *ids, size_t count)
{
    weir_require(count <= STORAGE_ERASED_MAX); /* a page, or check_epoch() */
    if (erasure->id_count + count > erasure->id_capacity) {
        erasure->id_capacity = 2 * erasure->id_capacity + count;
        erasure->ids = weir_realloc(erasure->ids, erasure->id_capacity, sizeof *erasure->ids);
    }
    if (erasure->epoch + 1 >= erasure->end_capacity) {
        erasure->end_capacity *= 2;
        erasure->ends = weir_realloc(erasure->ends, erasure->end_capacity, sizeof *erasure->ends);
    }
    if (count > 0)
        memcpy(erasure->ids + erasure->id_count, ids, count * sizeof *ids);
    erasure->id_count += count;
    erasure->epoch++;
    erasure->ends[erasure->epoch] = erasure->id_count;
    return erasure->epoch;
}

static bool is_running(const struct holder *holder, int64_t now_ms)
{
    return holder->is_known && !holder->has_ended && holder->lease_end_ms > now_ms;
}

/* A holder whose lease is over still counts in the report of the epochs that are not in force yet. */
static bool is_forgettable(const struct storage_erasure *erasure, const struct holder *holder,
                           int64_t now_ms)
{
    return !is_running(holder, now_ms) && erasure->epoch_in_force == erasure->epoch;
}

static struct holder *find(struct storage_erasure *erasure, uint64_t session)
{
    for (size_t i = 0; i < erasure->holders_used; i++) {
        if (erasure->holders[i].is_known && erasure->holders[i].session == session)
            return &erasure->holders[i];
    }
    return NULL;
}

/* A free slot, else one that nobody needs, else one that only a report would have counted. */
static struct holder *find_room(struct storage_erasure *erasure, int64_t now_ms)
{
    struct holder *over = NULL;

    for (size_t i = 0; i < erasure->holders_used; i++) {
        struct holder *holder = &erasure->holders[i];

        if (!holder->is_known || is_forgettable(erasure, holder, now_ms))
            return holder;
        if (!over && !is_running(holder, now_ms))
            over = holder;
    }
    if (erasure->holders_used < STORAGE_HOLDERS_MAX)
        return &erasure->holders[erasure->holders_used++];
    return over;
}

/* Ids that the holder does not know yet, cut at the end of an epoch so that it fits one answer. */
static void tell(const struct storage_erasure *erasure, uint64_t named, struct storage_grant *grant)
{
    size_t first = erasure->ends[named];
    uint64_t epoch = named;

    while (epoch < erasure->epoch && erasure->ends[epoch + 1] - first <= STORAGE_ERASED_MAX)
        epoch++;
    grant->epoch = epoch;
    grant->erased = erasure->ids ? erasure->ids + first : NULL;
    grant->erased_count = erasure->ends[epoch] - first;
}

bool storage_erasure_hold(struct storage_erasure *erasure, uint64_t session, uint64_t epoch,
                          int64_t now_ms, struct storage_grant *ret_grant)
{
    /* Nobody can have dropped what is not erased yet. */
    uint64_t named = epoch < erasure->epoch ? epoch : erasure->epoch;
    struct holder *holder = find(erasure, session);

    if (!holder) {
        holder = find_room(erasure, now_ms);
        if (!holder)
            return false;
        *holder =
            (struct holder){.is_known = true, .session = session, .born_epoch = erasure->epoch};
    }
    if (holder
            ->has_ended) { /* its last words were overtaken: believe only what this question says */
        holder->has_ended = false;
        holder->named = 0;
    }
    if (holder->named < named)
        holder->named = named;
    holder->lease_end_ms = now_ms + STORAGE_LEASE_KEPT_MS;

    tell(erasure, named, ret_grant);
    ret_grant->lease_ms = STORAGE_LEASE_MS;
    ret_grant->slot = (size_t)(holder - erasure->holders);
    return true;
}

void storage_erasure_hold_end(struct storage_erasure *erasure, uint64_t session, int64_t now_ms)
{
    struct holder *holder = find(erasure, session);

    if (!holder)
        return;
    holder->has_ended = true;
    if (is_forgettable(erasure, holder, now_ms))
        holder->is_known = false;
}

static void count_holder(const struct holder *holder, uint64_t epoch, int64_t now_ms,
                         struct storage_force *force)
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

struct storage_force storage_erasure_force(struct storage_erasure *erasure, uint64_t epoch,
                                           int64_t now_ms)
{
    struct storage_force force = {.in_force = true, .expected_ms = now_ms};

    if (erasure->blind_until_ms > now_ms) {
        force.in_force = false;
        force.expected_ms = erasure->blind_until_ms;
    }
    for (size_t i = 0; i < erasure->holders_used; i++) {
        if (erasure->holders[i].is_known)
            count_holder(&erasure->holders[i], epoch, now_ms, &force);
    }
    if (epoch > erasure->epoch) { /* not erased yet */
        force.in_force = false;
    } else if (epoch <= erasure->epoch_in_force) {
        force.in_force = true;
        force.expected_ms = now_ms;
    } else if (force.in_force) {
        erasure->epoch_in_force = epoch;
    }
    return force;
}

size_t storage_erasure_silent(const struct storage_erasure *erasure, int64_t now_ms, size_t *slots)
{
    size_t count = 0;

    for (size_t i = 0; i < erasure->holders_used; i++) {
        const struct holder *holder = &erasure->holders[i];

        if (is_running(holder, now_ms) && holder->named < erasure->epoch)
            slots[count++] = i;
    }
    return count;
}
