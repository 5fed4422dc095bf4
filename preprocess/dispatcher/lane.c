/* What one rank of a job is still to get, and who makes it. */
#include "preprocess/dispatcher/lane.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- the window ---- */

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

static void forget_groups(struct dispatcher_lane *lane, uint64_t first_group)
{
    memset(lane->groups, 0, lane->capacity * sizeof(*lane->groups));
    lane->first_group = first_group;
}

void dispatcher_lane_slide(struct dispatcher_lane *lane, uint64_t first_group)
{
    if (first_group - lane->first_group >= lane->capacity) {
        forget_groups(lane, first_group);
        return;
    }
    for (; lane->first_group < first_group; lane->first_group++)
        *dispatcher_lane_group(lane, lane->first_group) = (struct dispatcher_group){0};
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
    };
}

void dispatcher_lane_fini(struct dispatcher_lane *lane)
{
    weir_bits_fini(&lane->received);
    free(lane->groups);
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

/* The consumer has told what it has: slide the window, and end leases that nobody needs any more.
 */
static void look_at_consumer(struct dispatcher_lane *lane, int64_t now_ms)
{
    dispatcher_lane_slide(lane, first_unfinished_group(lane));
    for (uint64_t i = lane->first_group; i < window_end(lane); i++) {
        struct dispatcher_group *group = dispatcher_lane_group(lane, i);
        group->here = consumer_has(lane, i);
        bool overdue = group->state == DISPATCHER_GROUP_SENT && now_ms >= group->until_ms;
        if (group->here || overdue)
            group->state = DISPATCHER_GROUP_OPEN;
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
        group->state = DISPATCHER_GROUP_OPEN;
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
    for (uint64_t i = lane->first_group; i < window_end(lane); i++) {
        struct dispatcher_group *group = dispatcher_lane_group(lane, i);
        if (group->state == DISPATCHER_GROUP_LEASED && now_ms >= group->until_ms)
            group->state = DISPATCHER_GROUP_OPEN;
    }
}

/* The slot has another session now: what the former one held, or sent into a queue that died with
 * it, is open. */
static void end_former_session(struct dispatcher_lane *lane, const struct dispatcher_visit *visit)
{
    for (uint64_t i = lane->first_group; i < window_end(lane); i++) {
        struct dispatcher_group *group = dispatcher_lane_group(lane, i);
        bool is_out =
            group->state == DISPATCHER_GROUP_LEASED || group->state == DISPATCHER_GROUP_SENT;
        if (is_out && group->worker == visit->worker && group->session != visit->session)
            group->state = DISPATCHER_GROUP_OPEN;
    }
}

bool dispatcher_group_is_leased_to(const struct dispatcher_group *group, uint32_t worker,
                                   uint64_t session)
{
    return group->state == DISPATCHER_GROUP_LEASED && group->worker == worker &&
           group->session == session;
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
        if (!dispatcher_group_is_leased_to(group, visit->worker, visit->session) ||
            group->fence != held->fence)
            continue;
        if (held->sent && !lane->fitting) {
            group->state = DISPATCHER_GROUP_SENT;
            group->until_ms = now_ms + DISPATCHER_SENT_PATIENCE_MS;
        } else {
            if (dispatcher_lane_listens(lane, now_ms))
                group->until_ms = now_ms + DISPATCHER_LEASE_MS;
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
    end_former_session(lane, visit);
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

uint64_t dispatcher_lane_lacking(const struct dispatcher_lane *lane)
{
    for (uint64_t i = lane->first_group; i < window_end(lane) && may_lease(lane, i); i++) {
        const struct dispatcher_group *group = dispatcher_lane_group(lane, i);
        if (!group->here && group->state != DISPATCHER_GROUP_FITTED)
            return i;
    }
    return DISPATCHER_NO_GROUP;
}

uint64_t dispatcher_lane_open(const struct dispatcher_lane *lane)
{
    for (uint64_t i = lane->first_group; i < window_end(lane) && may_lease(lane, i); i++) {
        const struct dispatcher_group *group = dispatcher_lane_group(lane, i);
        if (!group->here && group->state == DISPATCHER_GROUP_OPEN)
            return i;
    }
    return DISPATCHER_NO_GROUP;
}

void dispatcher_lane_lease(struct dispatcher_lane *lane, uint64_t group,
                           const struct dispatcher_visit *visit, uint64_t fence, int64_t now_ms)
{
    *dispatcher_lane_group(lane, group) = (struct dispatcher_group){
        .state = DISPATCHER_GROUP_LEASED,
        .worker = visit->worker,
        .session = visit->session,
        .fence = fence,
        .until_ms = now_ms + DISPATCHER_LEASE_MS,
    };
}
