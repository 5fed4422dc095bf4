/* What one rank of a job is still to get, and who makes it. */
#include "preprocess/dispatcher/lane.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 256 /* as many as a job has workers */ };

/* ---- the window ---- */

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t dispatcher_lane_end(const struct dispatcher_lane *lane)
{
    return lane->fitting ? lane->geometry.groups_per_epoch : preprocess_groups(&lane->geometry);
}

/* One past the last group of the window. */
static uint64_t window_end(const struct dispatcher_lane *lane)
{
    uint64_t end = lane->first_group + lane->capacity;
    return end < dispatcher_lane_end(lane) ? end : dispatcher_lane_end(lane);
}

struct dispatcher_group *dispatcher_lane_group(const struct dispatcher_lane *lane, uint64_t group)
{
    return &lane->groups[group % lane->capacity];
}

bool dispatcher_lane_has(const struct dispatcher_lane *lane, uint64_t group)
{
    return group >= lane->first_group && group < window_end(lane);
}

/* ---- who makes what ---- */

static bool is_out(const struct dispatcher_group *group)
{
    return group->state == DISPATCHER_GROUP_LEASED || group->state == DISPATCHER_GROUP_SENT;
}

static uint32_t *bucket_of(const struct dispatcher_lane *lane, uint32_t worker)
{
    return &lane->buckets[worker & (lane->bucket_count - 1)];
}

static void link_out(struct dispatcher_lane *lane, struct dispatcher_group *group)
{
    uint32_t *bucket = bucket_of(lane, group->worker);
    group->next = *bucket;
    *bucket = (uint32_t)(group - lane->groups) + 1;
}

static void unlink_out(struct dispatcher_lane *lane, const struct dispatcher_group *group)
{
    uint32_t *at = bucket_of(lane, group->worker), wanted = (uint32_t)(group - lane->groups) + 1;
    while (*at != wanted)
        at = &lane->groups[*at - 1].next;
    *at = group->next;
}

/* A group that is leased or sent is not any more. */
static void take_back(struct dispatcher_lane *lane, uint64_t number,
                      enum dispatcher_group_state state)
{
    struct dispatcher_group *group = dispatcher_lane_group(lane, number);
    if (is_out(group))
        unlink_out(lane, group);
    group->state = state;
    if (state == DISPATCHER_GROUP_OPEN && number < lane->open_from)
        lane->open_from = number;
}

static void forget_groups(struct dispatcher_lane *lane, uint64_t first_group)
{
    memset(lane->groups, 0, lane->capacity * sizeof(*lane->groups));
    memset(lane->buckets, 0, lane->bucket_count * sizeof(*lane->buckets));
    lane->first_group = lane->open_from = lane->lack_from = lane->touched_end = first_group;
    lane->expire_ms = INT64_MAX;
}

void dispatcher_lane_slide(struct dispatcher_lane *lane, uint64_t first_group)
{
    if (first_group - lane->first_group >= lane->capacity) {
        forget_groups(lane, first_group);
        return;
    }
    for (; lane->first_group < first_group; lane->first_group++) {
        struct dispatcher_group *group = dispatcher_lane_group(lane, lane->first_group);
        if (is_out(group))
            unlink_out(lane, group);
        *group = (struct dispatcher_group){0};
    }
    lane->open_from = most(lane->open_from, first_group);
    lane->lack_from = most(lane->lack_from, first_group);
    lane->touched_end = most(lane->touched_end, first_group);
}

static uint64_t first_unfinished_group(const struct dispatcher_lane *lane)
{
    const struct preprocess_geometry *geometry = &lane->geometry;
    if (lane->oldest >= preprocess_batches(geometry))
        return preprocess_groups(geometry);
    return preprocess_group_of(geometry, lane->oldest);
}

/* ---- life ---- */

void dispatcher_lane_init(struct dispatcher_lane *lane, const struct preprocess_geometry *geometry,
                          bool fitting)
{
    /* Twice what full groups need: the last group of each epoch may be small. */
    size_t capacity = 2 * (size_t)WEIR_AHEAD_MAX / geometry->group_batches + 2;
    *lane = (struct dispatcher_lane){
        .geometry = *geometry,
        .fitting = fitting,
        .capacity = capacity,
        .groups = weir_calloc(capacity, sizeof(struct dispatcher_group)),
        .buckets = weir_calloc(BUCKETS, sizeof(*lane->buckets)),
        .bucket_count = BUCKETS,
        .expire_ms = INT64_MAX,
    };
}

void dispatcher_lane_fini(struct dispatcher_lane *lane)
{
    weir_bits_fini(&lane->received);
    free(lane->groups);
    free(lane->buckets);
    *lane = (struct dispatcher_lane){0};
}

/* ---- its consumer ---- */

static bool consumer_has(const struct dispatcher_lane *lane, uint64_t group)
{
    struct preprocess_range batches = preprocess_group(&lane->geometry, group);
    for (uint32_t i = 0; i < batches.count; i++) {
        uint64_t batch = batches.first + i;
        if (batch >= lane->oldest && !weir_bits_get(&lane->received, batch - lane->oldest))
            return false;
    }
    return true;
}

/* One past the last group that a batch was received of. */
static uint64_t received_end(const struct dispatcher_lane *lane)
{
    uint64_t batch = lane->oldest + lane->received.count;
    if (batch >= preprocess_batches(&lane->geometry))
        return window_end(lane);
    return preprocess_group_of(&lane->geometry, batch) + 1;
}

/* The consumer has told what it has: slide the window, and end leases that nobody needs any more. */
static void look_at_consumer(struct dispatcher_lane *lane, int64_t now_ms)
{
    dispatcher_lane_slide(lane, first_unfinished_group(lane));
    lane->touched_end = most(lane->touched_end, received_end(lane));
    lane->open_from = lane->lack_from = lane->first_group;
    for (uint64_t i = lane->first_group; i < lane->touched_end && i < window_end(lane); i++) {
        struct dispatcher_group *group = dispatcher_lane_group(lane, i);
        group->here = consumer_has(lane, i);
        bool overdue = group->state == DISPATCHER_GROUP_SENT && now_ms >= group->until_ms;
        if (group->here || overdue)
            take_back(lane, i, DISPATCHER_GROUP_OPEN);
    }
}

void dispatcher_lane_begin(struct dispatcher_lane *lane, const struct weir_position *position,
                           bool is_here)
{
    lane->heard = is_here;
    lane->heard_ms = INT64_MIN;
    lane->beat_number = 0;
    lane->oldest = position->oldest;
    weir_bits_copy(&lane->received, &position->ahead);
    forget_groups(lane, first_unfinished_group(lane));
    look_at_consumer(lane, 0);
}

/* The consumer dropped a batch that came under this very lease. */
static void make_again(struct dispatcher_lane *lane, uint64_t number, uint64_t fence)
{
    if (!dispatcher_lane_has(lane, number))
        return;
    struct dispatcher_group *group = dispatcher_lane_group(lane, number);
    if (group->fence == fence && !group->here)
        take_back(lane, number, DISPATCHER_GROUP_OPEN);
}

void dispatcher_lane_take(struct dispatcher_lane *lane, const struct msg_client_beat *beat,
                          int64_t now_ms)
{
    lane->heard = true;
    lane->heard_ms = now_ms;
    lane->beat_number = beat->number;
    lane->oldest = beat->oldest;
    lane->wait_ns = beat->wait_ns;
    weir_bits_clear(&lane->received);
    weir_bits_unpack(&lane->received, beat->received);
    look_at_consumer(lane, now_ms);
    for (size_t i = 0; i < beat->again_groups.count; i++)
        make_again(lane, beat->again_groups.at[i], beat->again_fences.at[i]);
}

bool dispatcher_lane_listens(const struct dispatcher_lane *lane, int64_t now_ms)
{
    return lane->fitting || (lane->heard && now_ms - lane->heard_ms < DISPATCHER_SILENT_MS);
}

/* ---- workers ---- */

void dispatcher_lane_expire(struct dispatcher_lane *lane, int64_t now_ms)
{
    int64_t next_ms = INT64_MAX;
    if (now_ms < lane->expire_ms)
        return;
    for (uint64_t i = lane->first_group; i < lane->touched_end; i++) {
        const struct dispatcher_group *group = dispatcher_lane_group(lane, i);
        if (group->state != DISPATCHER_GROUP_LEASED)
            continue;
        if (now_ms >= group->until_ms)
            take_back(lane, i, DISPATCHER_GROUP_OPEN);
        else if (group->until_ms < next_ms)
            next_ms = group->until_ms;
    }
    lane->expire_ms = next_ms;
}

/* What the worker's slot held, or sent into a queue that died with it, is open: that of this session, or of all
 * others. */
static void end_sessions(struct dispatcher_lane *lane, uint32_t worker, uint64_t session,
                         bool others)
{
    uint32_t at = *bucket_of(lane, worker);
    while (at != 0) {
        const struct dispatcher_group *group = &lane->groups[at - 1];
        at = group->next;
        if (group->worker == worker && (group->session != session) == others)
            take_back(lane, group->number, DISPATCHER_GROUP_OPEN);
    }
}

void dispatcher_lane_leave(struct dispatcher_lane *lane, uint32_t worker, uint64_t session)
{
    end_sessions(lane, worker, session, false);
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

static uint32_t renew(struct dispatcher_lane *lane, const struct dispatcher_visit *visit,
                      int64_t now_ms)
{
    uint32_t kept = 0;
    for (size_t i = 0; i < visit->held_count; i++) {
        const struct dispatcher_held *held = &visit->held[i];
        if (!dispatcher_lane_has(lane, held->group))
            continue;
        struct dispatcher_group *group = dispatcher_lane_group(lane, held->group);
        if (!is_leased_to(group, visit->worker, visit->session) || group->fence != held->fence)
            continue;
        if (held->sent && !lane->fitting) {
            group->state = DISPATCHER_GROUP_SENT;
            group->until_ms = now_ms + DISPATCHER_SENT_PATIENCE_MS;
        } else {
            if (dispatcher_lane_listens(lane, now_ms))
                group->until_ms = lease_end(visit, now_ms);
            kept++;
        }
    }
    return kept;
}

uint32_t dispatcher_lane_visit(struct dispatcher_lane *lane, const struct dispatcher_visit *visit,
                               int64_t now_ms)
{
    if (lane->heard_ms == INT64_MIN)
        lane->heard_ms = now_ms;
    end_sessions(lane, visit->worker, visit->session, true);
    uint32_t kept = renew(lane, visit, now_ms);
    dispatcher_lane_expire(lane, now_ms);
    return kept;
}

static bool may_lease(const struct dispatcher_lane *lane, uint64_t number)
{
    if (lane->fitting)
        return true;
    struct preprocess_range batches = preprocess_group(&lane->geometry, number);
    return batches.first + batches.count <= lane->oldest + WEIR_AHEAD_MAX;
}

static uint64_t leasable(const struct dispatcher_lane *lane, uint64_t group)
{
    return group < window_end(lane) && may_lease(lane, group) ? group : DISPATCHER_NO_GROUP;
}

uint64_t dispatcher_lane_lacking(struct dispatcher_lane *lane)
{
    for (; lane->lack_from < lane->touched_end; lane->lack_from++) {
        const struct dispatcher_group *group = dispatcher_lane_group(lane, lane->lack_from);
        if (!group->here && group->state != DISPATCHER_GROUP_FITTED)
            break;
    }
    return leasable(lane, lane->lack_from);
}

uint64_t dispatcher_lane_open(struct dispatcher_lane *lane)
{
    for (; lane->open_from < lane->touched_end; lane->open_from++) {
        const struct dispatcher_group *group = dispatcher_lane_group(lane, lane->open_from);
        if (!group->here && group->state == DISPATCHER_GROUP_OPEN)
            break;
    }
    return leasable(lane, lane->open_from);
}

void dispatcher_lane_lease(struct dispatcher_lane *lane, uint64_t number,
                           const struct dispatcher_visit *visit, uint64_t fence, int64_t now_ms)
{
    struct dispatcher_group *group = dispatcher_lane_group(lane, number);
    *group = (struct dispatcher_group){
        .state = DISPATCHER_GROUP_LEASED,
        .worker = visit->worker,
        .number = number,
        .session = visit->session,
        .fence = fence,
        .until_ms = lease_end(visit, now_ms),
    };
    link_out(lane, group);
    lane->touched_end = most(lane->touched_end, number + 1);
    if (group->until_ms < lane->expire_ms)
        lane->expire_ms = group->until_ms;
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

size_t dispatcher_lane_leases(const struct dispatcher_lane *lane, uint32_t worker, uint64_t session,
                              const struct dispatcher_group **ret_groups, size_t max)
{
    size_t count = 0;
    for (uint32_t at = *bucket_of(lane, worker); at != 0; at = lane->groups[at - 1].next) {
        const struct dispatcher_group *group = &lane->groups[at - 1];
        if (count < max && is_leased_to(group, worker, session))
            insert(ret_groups, count++, group);
    }
    return count;
}

void dispatcher_lane_fitted(struct dispatcher_lane *lane, uint64_t number)
{
    take_back(lane, number, DISPATCHER_GROUP_FITTED);
    lane->touched_end = most(lane->touched_end, number + 1);
}
