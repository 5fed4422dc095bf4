/* The groups that one rank of a job still lacks, and the workers that make them. */
#include "preprocess/dispatcher/rank_state.h"

#include "core/base/memory.h"
#include "core/base/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 256 /* as many as a job has workers */ };

/* ---- the window ---- */

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t preprocess_rank_end(const struct dispatcher_rank_state *rank)
{
    return rank->fitting ? rank->geometry.groups_per_epoch : preprocess_groups(&rank->geometry);
}

/* One past the last group of the window. */
static uint64_t window_end(const struct dispatcher_rank_state *rank)
{
    uint64_t end = rank->first_group + rank->capacity;
    return end < preprocess_rank_end(rank) ? end : preprocess_rank_end(rank);
}

struct dispatcher_group *preprocess_rank_group(const struct dispatcher_rank_state *rank,
                                               uint64_t group)
{
    return &rank->groups[group % rank->capacity];
}

bool preprocess_rank_has(const struct dispatcher_rank_state *rank, uint64_t group)
{
    return group >= rank->first_group && group < window_end(rank);
}

/* ---- who makes what ---- */

static bool is_out(const struct dispatcher_group *group)
{
    return group->state == DISPATCHER_GROUP_LEASED || group->state == DISPATCHER_GROUP_SENT;
}

static struct dispatcher_bucket *bucket_of(const struct dispatcher_rank_state *rank,
                                           uint32_t worker)
{
    return &rank->buckets[worker % BUCKETS];
}

/* Ends the lease of a group, or forgets that it was sent. */
static void take_back(struct dispatcher_rank_state *rank, uint64_t number,
                      enum dispatcher_group_state state)
{
    struct dispatcher_group *group = preprocess_rank_group(rank, number);
    if (is_out(group))
        LIST_REMOVE(group, in_bucket);
    group->state = state;
    if (state == DISPATCHER_GROUP_OPEN && number < rank->open_from)
        rank->open_from = number;
}

static void forget_groups(struct dispatcher_rank_state *rank, uint64_t first_group)
{
    memset(rank->groups, 0, rank->capacity * sizeof(*rank->groups));
    memset(rank->buckets, 0, BUCKETS * sizeof(*rank->buckets));
    rank->first_group = rank->open_from = rank->lack_from = rank->touched_end = first_group;
    rank->expire_ms = INT64_MAX;
    rank->fit_bytes = 0;
}

void preprocess_rank_slide(struct dispatcher_rank_state *rank, uint64_t first_group)
{
    if (first_group - rank->first_group >= rank->capacity) {
        forget_groups(rank, first_group);
        return;
    }
    for (; rank->first_group < first_group; rank->first_group++) {
        struct dispatcher_group *group = preprocess_rank_group(rank, rank->first_group);
        if (is_out(group))
            LIST_REMOVE(group, in_bucket);
        rank->fit_bytes -= group->fit_bytes;
        *group = (struct dispatcher_group){0};
    }
    rank->open_from = most(rank->open_from, first_group);
    rank->lack_from = most(rank->lack_from, first_group);
    rank->touched_end = most(rank->touched_end, first_group);
}

static uint64_t first_unfinished_group(const struct dispatcher_rank_state *rank)
{
    const struct preprocess_geometry *geometry = &rank->geometry;
    if (rank->oldest >= preprocess_batches(geometry))
        return preprocess_groups(geometry);
    return preprocess_group_of(geometry, rank->oldest);
}

/* ---- life ---- */

void preprocess_rank_init(struct dispatcher_rank_state *rank,
                          const struct preprocess_geometry *geometry, bool fitting)
{
    /* Twice what full groups need: the last group of each epoch may be small. */
    size_t capacity = 2 * (size_t)WEIR_AHEAD_MAX / geometry->group_batches + 2;
    *rank = (struct dispatcher_rank_state){
        .geometry = *geometry,
        .fitting = fitting,
        .capacity = capacity,
        .groups = weir_calloc(capacity, sizeof(struct dispatcher_group)),
        .buckets = weir_calloc(BUCKETS, sizeof(*rank->buckets)),
        .expire_ms = INT64_MAX,
    };
}

void preprocess_rank_fini(struct dispatcher_rank_state *rank)
{
    weir_bits_fini(&rank->received);
    free(rank->groups);
    free(rank->buckets);
    *rank = (struct dispatcher_rank_state){0};
}

/* ---- its consumer ---- */

static bool consumer_has(const struct dispatcher_rank_state *rank, uint64_t group)
{
    struct preprocess_range batches = preprocess_group(&rank->geometry, group);
    for (uint32_t i = 0; i < batches.count; i++) {
        uint64_t batch = batches.first + i;
        if (batch >= rank->oldest && !weir_bits_get(&rank->received, batch - rank->oldest))
            return false;
    }
    return true;
}

/* One past the last group that a batch was received of. */
static uint64_t received_end(const struct dispatcher_rank_state *rank)
{
    uint64_t batch = rank->oldest + rank->received.count;
    if (batch >= preprocess_batches(&rank->geometry))
        return window_end(rank);
    return preprocess_group_of(&rank->geometry, batch) + 1;
}

/* Slides the window to the batches that the consumer has reported, and ends leases that nobody needs. */
static void look_at_consumer(struct dispatcher_rank_state *rank, int64_t now_ms)
{
    preprocess_rank_slide(rank, first_unfinished_group(rank));
    rank->touched_end = most(rank->touched_end, received_end(rank));
    rank->open_from = rank->lack_from = rank->first_group;
    for (uint64_t i = rank->first_group; i < rank->touched_end && i < window_end(rank); i++) {
        struct dispatcher_group *group = preprocess_rank_group(rank, i);
        group->here = consumer_has(rank, i);
        bool overdue = group->state == DISPATCHER_GROUP_SENT && now_ms >= group->until_ms;
        if (group->here || overdue)
            take_back(rank, i, DISPATCHER_GROUP_OPEN);
    }
}

void preprocess_rank_begin(struct dispatcher_rank_state *rank, const struct weir_position *position,
                           bool is_here)
{
    rank->heard = is_here;
    rank->heard_ms = INT64_MIN;
    rank->beat_number = 0;
    rank->slices = (struct dispatcher_slices){0};
    rank->oldest = position->oldest;
    weir_bits_copy(&rank->received, &position->ahead);
    forget_groups(rank, first_unfinished_group(rank));
    look_at_consumer(rank, 0);
}

/* The consumer dropped a batch that came under this very lease. */
static void make_again(struct dispatcher_rank_state *rank, uint64_t number, uint64_t fence)
{
    if (!preprocess_rank_has(rank, number))
        return;
    struct dispatcher_group *group = preprocess_rank_group(rank, number);
    if (group->fence == fence && !group->here)
        take_back(rank, number, DISPATCHER_GROUP_OPEN);
}

static void take_window(struct dispatcher_window *window, const struct msg_client_beat *beat)
{
    *window = (struct dispatcher_window){
        .bytes = beat->window,
        .need = beat->window_need,
        .batch = beat->window_batch,
        .wanted = beat->window_wanted,
        .made = beat->window_made,
        .spread = beat->window_spread,
        .lead_ns = beat->window_lead_ns,
    };
    weir_utf8_print(window->why, sizeof(window->why), "%s", beat->window_why);
}

void preprocess_rank_take(struct dispatcher_rank_state *rank, const struct msg_client_beat *beat,
                          int64_t now_ms)
{
    rank->heard = true;
    rank->heard_ms = now_ms;
    rank->beat_number = beat->number;
    rank->oldest = beat->oldest;
    rank->wait_ns = beat->wait_ns;
    rank->steps_ns = beat->steps_ns;
    take_window(&rank->window, beat);
    weir_bits_clear(&rank->received);
    weir_bits_unpack(&rank->received, beat->received);
    look_at_consumer(rank, now_ms);
    preprocess_slices_take(&rank->slices, beat);
    for (size_t i = 0; i < beat->again_groups.count; i++)
        make_again(rank, beat->again_groups.at[i], beat->again_fences.at[i]);
}

bool preprocess_rank_listens(const struct dispatcher_rank_state *rank, int64_t now_ms)
{
    bool is_just_heard = rank->heard_ms == INT64_MIN;
    return rank->fitting ||
           (rank->heard && (is_just_heard || now_ms - rank->heard_ms < DISPATCHER_SILENT_MS));
}

/* ---- workers ---- */

/* Takes back leases that are over. */
static void expire(struct dispatcher_rank_state *rank, int64_t now_ms)
{
    int64_t next_ms = INT64_MAX;
    if (now_ms < rank->expire_ms)
        return;
    for (uint64_t i = rank->first_group; i < rank->touched_end; i++) {
        const struct dispatcher_group *group = preprocess_rank_group(rank, i);
        if (group->state != DISPATCHER_GROUP_LEASED)
            continue;
        if (now_ms >= group->until_ms)
            take_back(rank, i, DISPATCHER_GROUP_OPEN);
        else if (group->until_ms < next_ms)
            next_ms = group->until_ms;
    }
    rank->expire_ms = next_ms;
}

/* Opens the groups that the worker's slot held, or sent into a queue that died with it: those of this session, or
 * of all others. */
static void end_sessions(struct dispatcher_rank_state *rank, uint32_t worker, uint64_t session,
                         bool others)
{
    struct dispatcher_group *group = LIST_FIRST(bucket_of(rank, worker)), *next;
    for (; group != NULL; group = next) {
        next = LIST_NEXT(group, in_bucket);
        if (group->worker == worker && (group->session != session) == others)
            take_back(rank, group->number, DISPATCHER_GROUP_OPEN);
    }
}

void preprocess_rank_leave(struct dispatcher_rank_state *rank, uint32_t worker, uint64_t session)
{
    end_sessions(rank, worker, session, false);
}

static bool is_leased_to(const struct dispatcher_group *group, uint32_t worker, uint64_t session)
{
    return group->state == DISPATCHER_GROUP_LEASED && group->worker == worker &&
           group->session == session;
}

static int64_t lease_end(const struct dispatcher_visit *visit, int64_t now_ms)
{
    return now_ms + visit->lease_ms;
}

static uint32_t renew(struct dispatcher_rank_state *rank, const struct dispatcher_visit *visit,
                      int64_t now_ms)
{
    uint32_t kept = 0;
    for (size_t i = 0; i < visit->held_count; i++) {
        const struct dispatcher_held *held = &visit->held[i];
        if (!preprocess_rank_has(rank, held->group))
            continue;
        struct dispatcher_group *group = preprocess_rank_group(rank, held->group);
        if (!is_leased_to(group, visit->worker, visit->session) || group->fence != held->fence)
            continue;
        if (held->sent && !rank->fitting) {
            group->state = DISPATCHER_GROUP_SENT;
            group->until_ms = now_ms + DISPATCHER_SENT_PATIENCE_MS;
        } else {
            if (preprocess_rank_listens(rank, now_ms))
                group->until_ms = lease_end(visit, now_ms);
            kept++;
        }
    }
    return kept;
}

static bool is_listed(const struct dispatcher_visit *visit, const struct dispatcher_group *group)
{
    size_t i = 0;
    while (i < visit->held_count &&
           (visit->held[i].group != group->number || visit->held[i].fence != group->fence))
        i++;
    return i < visit->held_count;
}

/* Rule 11. */
static void end_given_up(struct dispatcher_rank_state *rank, const struct dispatcher_visit *visit)
{
    struct dispatcher_group *group = LIST_FIRST(bucket_of(rank, visit->worker)), *next;
    for (; group != NULL; group = next) {
        next = LIST_NEXT(group, in_bucket);
        if (is_leased_to(group, visit->worker, visit->session) && !is_listed(visit, group))
            take_back(rank, group->number, DISPATCHER_GROUP_OPEN);
    }
}

bool preprocess_rank_holds(const struct dispatcher_rank_state *rank, uint32_t worker,
                           uint64_t session, int64_t now_ms)
{
    const struct dispatcher_group *group;
    LIST_FOREACH (group, bucket_of(rank, worker), in_bucket) {
        if (group->worker == worker && group->session == session && now_ms < group->until_ms)
            return true;
    }
    return false;
}

uint32_t preprocess_rank_visit(struct dispatcher_rank_state *rank,
                               const struct dispatcher_visit *visit, int64_t now_ms)
{
    if (rank->heard_ms == INT64_MIN)
        rank->heard_ms = now_ms;
    end_sessions(rank, visit->worker, visit->session, true);
    uint32_t kept = renew(rank, visit, now_ms);
    if (visit->drains)
        end_given_up(rank, visit);
    expire(rank, now_ms);
    return kept;
}

static bool may_lease(const struct dispatcher_rank_state *rank, uint64_t number)
{
    if (rank->fitting) /* the lowest group is what the others wait for */
        return number == rank->first_group || rank->fit_bytes < DISPATCHER_FITS_BYTES_MAX;
    struct preprocess_range batches = preprocess_group(&rank->geometry, number);
    return batches.first + batches.count <= rank->oldest + WEIR_AHEAD_MAX;
}

static uint64_t leasable(const struct dispatcher_rank_state *rank, uint64_t group)
{
    return group < window_end(rank) && may_lease(rank, group) ? group : DISPATCHER_NO_GROUP;
}

uint64_t preprocess_rank_lacking(struct dispatcher_rank_state *rank)
{
    for (; rank->lack_from < rank->touched_end; rank->lack_from++) {
        const struct dispatcher_group *group = preprocess_rank_group(rank, rank->lack_from);
        if (!group->here && group->state != DISPATCHER_GROUP_FITTED)
            break;
    }
    return leasable(rank, rank->lack_from);
}

static bool is_free(const struct dispatcher_rank_state *rank, uint64_t number)
{
    const struct dispatcher_group *group = preprocess_rank_group(rank, number);
    return number >= rank->touched_end || (!group->here && group->state == DISPATCHER_GROUP_OPEN);
}

bool preprocess_rank_is_open(const struct dispatcher_rank_state *rank, uint64_t number)
{
    return number >= rank->first_group && leasable(rank, number) == number && is_free(rank, number);
}

uint64_t preprocess_rank_open(struct dispatcher_rank_state *rank,
                              const struct dispatcher_choice *choice)
{
    while (!is_free(rank, rank->open_from))
        rank->open_from++;
    for (uint64_t group = rank->open_from; leasable(rank, group) == group; group++) {
        if (is_free(rank, group) && choice->has(choice, group))
            return group;
    }
    return DISPATCHER_NO_GROUP;
}

void preprocess_rank_lease(struct dispatcher_rank_state *rank, uint64_t number,
                           const struct dispatcher_visit *visit, uint64_t fence, int64_t now_ms)
{
    struct dispatcher_group *group = preprocess_rank_group(rank, number);
    *group = (struct dispatcher_group){
        .state = DISPATCHER_GROUP_LEASED,
        .worker = visit->worker,
        .number = number,
        .session = visit->session,
        .fence = fence,
        .until_ms = lease_end(visit, now_ms),
    };
    LIST_INSERT_HEAD(bucket_of(rank, visit->worker), group, in_bucket);
    rank->touched_end = most(rank->touched_end, number + 1);
    if (group->until_ms < rank->expire_ms)
        rank->expire_ms = group->until_ms;
}

/* Keeps the list in ascending order. */
static void insert(const struct dispatcher_group **groups, size_t count,
                   const struct dispatcher_group *group)
{
    size_t at = count;
    for (; at > 0 && groups[at - 1]->number > group->number; at--)
        groups[at] = groups[at - 1];
    groups[at] = group;
}

size_t preprocess_rank_leases(const struct dispatcher_rank_state *rank, uint32_t worker,
                              uint64_t session, const struct dispatcher_group **ret_groups,
                              size_t max)
{
    size_t count = 0;
    const struct dispatcher_group *group;
    LIST_FOREACH (group, bucket_of(rank, worker), in_bucket) {
        if (count < max && is_leased_to(group, worker, session))
            insert(ret_groups, count++, group);
    }
    return count;
}

void preprocess_rank_fitted(struct dispatcher_rank_state *rank, uint64_t number, uint64_t bytes)
{
    take_back(rank, number, DISPATCHER_GROUP_FITTED);
    preprocess_rank_group(rank, number)->fit_bytes = bytes;
    rank->fit_bytes += bytes;
    rank->touched_end = most(rank->touched_end, number + 1);
}
