/* Holders, their use leases, and epochs: see use_leases.h for the rules.
 *
 * A holder is in one list. Those with a lease are listed by the newest epoch that they have named, in the order in
 * which their leases end: whoever renews is the last, and kept no shorter than the one before. The others are listed
 * while a report will count them. */
#include "storage/reading/use_leases.h"

#include "core/base/hash.h"
#include "core/base/index.h"
#include "core/base/memory.h"
#include "core/base/quota.h"
#include "core/base/rng.h"

#include <stdlib.h>
#include <string.h>

#define NOBODY UINT32_MAX
enum {
    BOOKED_AGAIN_US = (STORAGE_HOLD_MAX_MS - STORAGE_HOLD_MS) * 1000 / 8,
    INDEX_MIN = 64, /* entries of sessions that are forgotten, before the index is made again */
};

enum holder_state {
    HOLDER_FREE,    /* the slot is not in use */
    HOLDER_RUNNING, /* it is listed with an epoch; its lease may have run out since */
    HOLDER_OVER,    /* its lease ran out */
    HOLDER_ENDED,   /* it said so */
};

struct holder {
    uint64_t session;
    uint64_t named;      /* newest epoch it named, never beyond ours at that time */
    uint64_t born_epoch; /* our epoch when it first asked */
    int64_t lease_end_ms;
    uint32_t before, after; /* in its list; NOBODY: it is the first, the last */
    enum holder_state state;
    enum use_kind kind;
    uint64_t key; /* hash of its name; 0: it has none */
};

/* Of slots. */
struct holder_list {
    uint32_t first, last; /* NOBODY: it is empty */
};

struct use_leases {
    uint64_t epoch;
    uint64_t epoch_in_force;
    int64_t blind_until_ms; /* leases granted by an earlier incarnation may run until then */
    int64_t newest_ms;      /* time never goes back here */
    int64_t booked_us;      /* newest booking */

    uint64_t *ids; /* of all epochs, oldest first */
    size_t id_count;
    size_t id_capacity;
    size_t *ends; /* ends[e]: index into ids after epoch e; ends[0] = 0 */
    size_t end_capacity;

    struct holder *holders; /* by slot */
    size_t holder_count, holder_capacity;
    struct weir_index sessions; /* of holders; entries of the forgotten ones stay for a while */
    size_t known;               /* slots in use */
    struct weir_quota running[USE_KINDS]; /* leases, by the kind of their holders and their key */

    /* named[i]: running, and their newest epoch is epoch_in_force + i, or older for i = 0. One for each epoch up to the
     * newest. */
    struct holder_list *named;
    size_t named_capacity;
    size_t lowest;           /* named[] before are empty */
    struct holder_list over; /* neither running nor forgotten */
    struct holder_list vacant;

    size_t hint_at, hints_left; /* next slot to be looked at, and slots until all were */
};

struct use_leases *storage_leases_new(int64_t now_ms)
{
    struct use_leases *leases = weir_calloc(1, sizeof(*leases));

    leases->blind_until_ms = now_ms + STORAGE_LEASE_KEPT_MAX_MS;
    leases->newest_ms = now_ms;
    leases->end_capacity = 16;
    leases->ends = weir_calloc(leases->end_capacity, sizeof(*leases->ends));
    leases->named_capacity = 16;
    leases->named = weir_calloc(leases->named_capacity, sizeof(*leases->named));
    leases->named[0] = leases->over = leases->vacant = (struct holder_list){NOBODY, NOBODY};
    weir_index_draw_seed(&leases->sessions);
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
    for (size_t kind = 0; kind < USE_KINDS; kind++)
        weir_quota_fini(&leases->running[kind]);
    weir_index_fini(&leases->sessions);
    free(leases->holders);
    free(leases->named);
    free(leases->ids);
    free(leases->ends);
    free(leases);
}

uint64_t storage_leases_epoch(const struct use_leases *leases)
{
    return leases->epoch;
}

/* ---- lists ---- */

static void append(struct use_leases *leases, struct holder_list *list, uint32_t slot)
{
    struct holder *holder = &leases->holders[slot];

    holder->before = list->last;
    holder->after = NOBODY;
    if (list->last != NOBODY)
        leases->holders[list->last].after = slot;
    else
        list->first = slot;
    list->last = slot;
}

static void remove_from(struct use_leases *leases, struct holder_list *list, uint32_t slot)
{
    const struct holder *holder = &leases->holders[slot];

    if (holder->before != NOBODY)
        leases->holders[holder->before].after = holder->after;
    else
        list->first = holder->after;
    if (holder->after != NOBODY)
        leases->holders[holder->after].before = holder->before;
    else
        list->last = holder->before;
}

/* Returns the place in `named` of who has named `epoch`. */
static size_t place_of(const struct use_leases *leases, uint64_t epoch)
{
    return epoch > leases->epoch_in_force ? (size_t)(epoch - leases->epoch_in_force) : 0;
}

static struct holder_list *list_of(struct use_leases *leases, const struct holder *holder)
{
    return holder->state == HOLDER_RUNNING ? &leases->named[place_of(leases, holder->named)]
                                           : &leases->over;
}

static size_t newest_place(const struct use_leases *leases)
{
    return place_of(leases, leases->epoch);
}

/* Returns the lowest place where somebody is listed, or the newest. */
static size_t lowest_place(struct use_leases *leases)
{
    while (leases->lowest < newest_place(leases) && leases->named[leases->lowest].first == NOBODY)
        leases->lowest++;
    return leases->lowest;
}

/* ---- sessions ---- */

static uint64_t hash_of(const struct use_leases *leases, uint64_t session)
{
    return weir_mix64(session ^ leases->sessions.seed);
}

/* Returns the slot of the session, or NOBODY. */
static uint32_t slot_of(const struct use_leases *leases, uint64_t session)
{
    struct weir_index_search search =
        weir_index_search(&leases->sessions, hash_of(leases, session));
    uint32_t slot;

    while (weir_index_next(&search, &slot)) {
        if (leases->holders[slot].state != HOLDER_FREE && leases->holders[slot].session == session)
            return slot;
    }
    return NOBODY;
}

static void index_sessions(struct use_leases *leases)
{
    weir_index_clear(&leases->sessions);
    for (uint32_t slot = 0; slot < leases->holder_count; slot++) {
        if (leases->holders[slot].state != HOLDER_FREE)
            weir_index_add(&leases->sessions, hash_of(leases, leases->holders[slot].session), slot);
    }
}

/* Forgets a holder that is in no list. */
static void forget(struct use_leases *leases, uint32_t slot)
{
    leases->holders[slot].state = HOLDER_FREE;
    leases->known--;
    append(leases, &leases->vacant, slot);
}

/* ---- how many run ---- */

static const struct {
    size_t most;
    size_t share; /* what one key may have, in what is left for everybody; 0: of all */
    const char *name;
} KINDS[USE_KINDS] = {
    [USE_OF_PLATFORM] = {STORAGE_HOLDERS_MAX, 0, ""},
    [USE_OF_TRAINER] = {STORAGE_TRAINERS_MAX, 1, " of trainers"},
    [USE_OF_WORKER_ELSEWHERE] = {STORAGE_ELSEWHERE_MAX, 2, " of workers elsewhere"},
};

static size_t left(const struct use_leases *leases, enum use_kind kind)
{
    return KINDS[kind].most - leases->running[kind].keys.size;
}

/* Two keys of one hash share what one may have. */
static uint64_t key_of(const struct use_leases *leases, const struct use_request *asked)
{
    if (asked->key == NULL || asked->key[0] == '\0')
        return 0;
    return weir_hash64(weir_bytes_of(asked->key), leases->sessions.seed);
}

/* ---- the end of leases ---- */

/* Ends the lease of a running holder. It still counts in the report of the epochs that are not in force yet. */
static void end_lease(struct use_leases *leases, uint32_t slot, enum holder_state state)
{
    struct holder *holder = &leases->holders[slot];

    remove_from(leases, list_of(leases, holder), slot);
    weir_quota_give(&leases->running[holder->kind], holder->key, 1);
    holder->state = state;
    if (leases->epoch_in_force == leases->epoch)
        forget(leases, slot);
    else
        append(leases, &leases->over, slot);
}

/* Ends the leases at a place in `named` that have run out. */
static void expire(struct use_leases *leases, size_t place, int64_t now_ms)
{
    for (uint32_t slot; (slot = leases->named[place].first) != NOBODY;) {
        if (leases->holders[slot].lease_end_ms > now_ms)
            break;
        end_lease(leases, slot, HOLDER_OVER);
    }
}

static void expire_all(struct use_leases *leases, int64_t now_ms)
{
    for (size_t place = lowest_place(leases); place <= newest_place(leases); place++)
        expire(leases, place, now_ms);
}

static void forget_first_over(struct use_leases *leases)
{
    uint32_t slot = leases->over.first;

    remove_from(leases, &leases->over, slot);
    forget(leases, slot);
}

/* ---- epochs ---- */

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
    leases->named = weir_grow(leases->named, newest_place(leases), &leases->named_capacity,
                              sizeof(*leases->named));
    leases->named[newest_place(leases)] = (struct holder_list){NOBODY, NOBODY};
    leases->hints_left = leases->holder_count;
    return leases->epoch;
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

/* ---- holders ---- */

/* Returns a slot that is in no list, or NOBODY: a vacant one, else a new one, else one that only a report counts. */
static uint32_t take_slot(struct use_leases *leases, int64_t now_ms)
{
    uint32_t slot;

    if (leases->vacant.first == NOBODY && leases->holder_count < STORAGE_HOLDERS_MAX) {
        leases->holders = weir_grow(leases->holders, leases->holder_count, &leases->holder_capacity,
                                    sizeof(*leases->holders));
        return (uint32_t)leases->holder_count++;
    }
    if (leases->vacant.first == NOBODY)
        expire_all(leases, now_ms);
    if (leases->vacant.first == NOBODY && leases->over.first != NOBODY)
        forget_first_over(leases);
    slot = leases->vacant.first;
    if (slot != NOBODY)
        remove_from(leases, &leases->vacant, slot);
    return slot;
}

/* Returns the slot of a holder that is not known yet, in no list; NOBODY: there is no room. */
static uint32_t admit(struct use_leases *leases, const struct use_request *asked, int64_t now_ms)
{
    uint32_t slot = take_slot(leases, now_ms);

    if (slot == NOBODY)
        return NOBODY;
    leases->holders[slot] = (struct holder){.session = asked->session,
                                            .born_epoch = leases->epoch,
                                            .state = HOLDER_OVER,
                                            .kind = asked->kind,
                                            .key = key_of(leases, asked)};
    leases->known++;
    if (leases->sessions.count > 2 * leases->known + INDEX_MIN)
        index_sessions(leases); /* this one among them */
    else
        weir_index_add(&leases->sessions, hash_of(leases, asked->session), slot);
    return slot;
}

static enum weir_status refuse(struct weir_error *err, size_t count, const char *of_whom)
{
    return weir_fail(err, WEIR_LIMIT,
                     "%zu use leases%s are running, as many as there can be: expected that one "
                     "ends before another begins",
                     count, of_whom);
}

static enum weir_status refuse_key(const struct use_leases *leases, const struct use_request *asked,
                                   struct weir_error *err)
{
    uint64_t key = key_of(leases, asked);

    return weir_fail(err, WEIR_LIMIT,
                     "%zu use leases%s are running %s%s%s, as many as there can be while %zu are "
                     "left for everybody: expected that one ends before another begins",
                     weir_quota_has(&leases->running[asked->kind], key), KINDS[asked->kind].name,
                     key != 0 ? "under key '" : "on this host", key != 0 ? asked->key : "",
                     key != 0 ? "'" : "", left(leases, asked->kind));
}

/* True while its key leaves enough of the kind to others. */
static bool may_have_more(const struct use_leases *leases, const struct use_request *asked)
{
    size_t share = KINDS[asked->kind].share;
    size_t has = weir_quota_has(&leases->running[asked->kind], key_of(leases, asked));

    return share == 0 || has == 0 || has < share * left(leases, asked->kind);
}

static bool is_room(const struct use_leases *leases, const struct use_request *asked)
{
    return left(leases, asked->kind) > 0 && may_have_more(leases, asked);
}

static enum weir_status check_room(struct use_leases *leases, const struct use_request *asked,
                                   int64_t now_ms, struct weir_error *err)
{
    if (!is_room(leases, asked))
        expire_all(leases, now_ms);
    if (left(leases, asked->kind) == 0)
        return refuse(err, KINDS[asked->kind].most, KINDS[asked->kind].name);
    return may_have_more(leases, asked) ? WEIR_OK : refuse_key(leases, asked, err);
}

/* Finds the holder of the session, NOBODY where there is none. */
static enum weir_status find_own(const struct use_leases *leases, const struct use_request *asked,
                                 uint32_t *ret_slot, struct weir_error *err)
{
    uint32_t slot = slot_of(leases, asked->session);
    const struct holder *holder = slot != NOBODY ? &leases->holders[slot] : NULL;

    *ret_slot = slot;
    if (holder == NULL || (holder->kind == asked->kind && holder->key == key_of(leases, asked)))
        return WEIR_OK;
    return weir_fail(err, WEIR_DENIED,
                     "session %lu holds samples under another key: expected a session of its own",
                     asked->session);
}

/* Finds or admits the holder that asks, and takes it out of its list. */
static enum weir_status take_holder(struct use_leases *leases, const struct use_request *asked,
                                    int64_t now_ms, uint32_t *ret_slot, struct weir_error *err)
{
    uint32_t slot;
    enum weir_status status = find_own(leases, asked, &slot, err);

    if (status == WEIR_OK && (slot == NOBODY || leases->holders[slot].state != HOLDER_RUNNING)) {
        status = check_room(leases, asked, now_ms, err);
        slot = slot_of(leases, asked->session); /* it may be forgotten by now */
    }
    if (status != WEIR_OK)
        return status;
    if (slot != NOBODY)
        remove_from(leases, list_of(leases, &leases->holders[slot]), slot);
    else
        slot = admit(leases, asked, now_ms);
    if (slot == NOBODY)
        return refuse(err, STORAGE_HOLDERS_MAX, "");
    *ret_slot = slot;
    return WEIR_OK;
}

/* Returns the pause until the next request, which it books. Where there are no bookings left, those of a while before
 * are booked again: requests that came together do not come together forever. */
static uint32_t book(struct use_leases *leases, int64_t now_ms)
{
    int64_t earliest_us = (now_ms + STORAGE_HOLD_MS) * 1000;
    int64_t latest_us = (now_ms + STORAGE_HOLD_MAX_MS) * 1000;

    leases->booked_us += 1000000 / STORAGE_HOLDS_A_SECOND;
    if (leases->booked_us < earliest_us)
        leases->booked_us = earliest_us;
    if (leases->booked_us > latest_us)
        leases->booked_us = latest_us - BOOKED_AGAIN_US;
    return (uint32_t)(leases->booked_us / 1000 - now_ms);
}

/* Returns the life of a lease that is renewed after such a pause. */
static uint32_t lease_of(uint32_t pause_ms)
{
    uint32_t lease_ms = pause_ms + STORAGE_ANSWER_MS;

    return lease_ms > STORAGE_LEASE_MS ? lease_ms : STORAGE_LEASE_MS;
}

/* Starts the lease of a holder that is in no list. */
static void begin_lease(struct use_leases *leases, uint32_t slot, uint64_t named, int64_t end_ms)
{
    struct holder *holder = &leases->holders[slot];
    struct holder_list *list;
    size_t place;

    if (holder->state == HOLDER_ENDED) /* its last words were overtaken: */
        holder->named = 0;             /* believe only what this request says */
    if (holder->named < named)
        holder->named = named;
    if (holder->state != HOLDER_RUNNING)
        weir_quota_take(&leases->running[holder->kind], holder->key, 1);
    holder->state = HOLDER_RUNNING;
    place = place_of(leases, holder->named);
    list = &leases->named[place];
    if (list->last != NOBODY && end_ms < leases->holders[list->last].lease_end_ms)
        end_ms = leases->holders[list->last].lease_end_ms;
    holder->lease_end_ms = end_ms;
    append(leases, list, slot);
    if (leases->lowest > place)
        leases->lowest = place;
}

enum weir_status storage_leases_hold(struct use_leases *leases, const struct use_request *asked,
                                     int64_t now_ms, struct use_grant *ret_grant,
                                     struct weir_error *err)
{
    /* Nobody can have dropped what is not erased yet. */
    uint64_t named = asked->epoch < leases->epoch ? asked->epoch : leases->epoch;
    size_t lowest = lowest_place(leases);
    uint32_t slot = NOBODY;
    enum weir_status status;

    if (leases->newest_ms < now_ms)
        leases->newest_ms = now_ms;
    now_ms = leases->newest_ms;
    status = take_holder(leases, asked, now_ms, &slot, err);
    if (status != WEIR_OK)
        return status;
    tell(leases, named, ret_grant);
    ret_grant->pause_ms =
        ret_grant->epoch > named ? STORAGE_HOLD_MS : book(leases, now_ms); /* it asks at once */
    ret_grant->lease_ms = lease_of(ret_grant->pause_ms);
    ret_grant->slot = slot;
    begin_lease(leases, slot, named, now_ms + ret_grant->lease_ms + ret_grant->lease_ms / 10);
    expire(leases, place_of(leases, leases->holders[slot].named), now_ms);
    ret_grant->is_awaited = lowest_place(leases) > lowest;
    return WEIR_OK;
}

enum weir_status storage_leases_hold_end(struct use_leases *leases, const struct use_request *asked,
                                         struct weir_error *err)
{
    uint32_t slot;
    enum weir_status status = find_own(leases, asked, &slot, err);

    if (status != WEIR_OK || slot == NOBODY)
        return status;
    if (leases->holders[slot].state == HOLDER_RUNNING)
        end_lease(leases, slot, HOLDER_ENDED);
    else
        leases->holders[slot].state = HOLDER_ENDED;
    return WEIR_OK;
}

/* ---- in force ---- */

static void move_force(struct use_leases *leases, uint64_t epoch)
{
    size_t gone = place_of(leases, epoch);
    size_t kept = newest_place(leases) + 1 - gone;

    memmove(leases->named, leases->named + gone, kept * sizeof(*leases->named));
    leases->epoch_in_force = epoch;
    leases->lowest = 0;
    while (epoch == leases->epoch && leases->over.first != NOBODY)
        forget_first_over(leases);
}

static void count_holder(const struct holder *holder, uint64_t epoch, struct epoch_force *force)
{
    if (holder->state == HOLDER_FREE || holder->born_epoch >= epoch)
        return;
    if (holder->state == HOLDER_ENDED || holder->named >= epoch)
        force->answered++;
    else
        force->expired++; /* it is in force: no lease of one that has not named it is running */
}

struct epoch_force storage_leases_force(struct use_leases *leases, uint64_t epoch, int64_t now_ms)
{
    struct epoch_force force = {.in_force = true, .expected_ms = now_ms};
    size_t places = place_of(leases, epoch <= leases->epoch ? epoch : leases->epoch + 1);

    if (leases->blind_until_ms > now_ms && places > 0) {
        force.in_force = false;
        force.expected_ms = leases->blind_until_ms;
    }
    for (size_t place = lowest_place(leases); place < places; place++) {
        uint32_t last;

        expire(leases, place, now_ms);
        last = leases->named[place].last;
        if (last == NOBODY)
            continue;
        force.in_force = false;
        if (force.expected_ms < leases->holders[last].lease_end_ms)
            force.expected_ms = leases->holders[last].lease_end_ms;
    }
    force.in_force = force.in_force && epoch <= leases->epoch; /* else it is not erased yet */
    for (size_t slot = 0; force.in_force && slot < leases->holder_count; slot++)
        count_holder(&leases->holders[slot], epoch, &force);
    if (force.in_force && epoch > leases->epoch_in_force)
        move_force(leases, epoch);
    return force;
}

size_t storage_leases_hint(struct use_leases *leases, int64_t now_ms, size_t *slots, size_t most)
{
    size_t count = 0;

    for (; leases->hints_left > 0 && count < most; leases->hints_left--) {
        const struct holder *holder;

        leases->hint_at = (leases->hint_at + 1) % leases->holder_count;
        holder = &leases->holders[leases->hint_at];
        if (holder->state == HOLDER_RUNNING && holder->lease_end_ms > now_ms &&
            holder->named < leases->epoch)
            slots[count++] = leases->hint_at;
    }
    return count;
}
