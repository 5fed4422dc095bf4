/* What one rank of a job is still to get, and who makes it: the groups around its position and
 * their leases. Part of the pure state machine of job.h, whose rules 2 to 5 are kept here. Owned by:
 * struct dispatcher_job, one lane per rank. */
#ifndef WEIR_PREPROCESS_DISPATCHER_LANE_H
#define WEIR_PREPROCESS_DISPATCHER_LANE_H

#include "core/wire/position.h"
#include "core/wire/wire.h"
#include "preprocess/order/geometry.h"

enum {
    DISPATCHER_LEASE_MS = 2000,
    DISPATCHER_SENT_PATIENCE_MS = 2 * DISPATCHER_LEASE_MS,
    DISPATCHER_SILENT_MS = 10000, /* a consumer beats many times in this time */
    DISPATCHER_LEASES_MAX = 64,   /* of one worker in one job */
};
#define DISPATCHER_NO_GROUP UINT64_MAX

enum dispatcher_group_state {
    DISPATCHER_GROUP_OPEN,
    DISPATCHER_GROUP_LEASED,
    DISPATCHER_GROUP_SENT,
    DISPATCHER_GROUP_FITTED, /* its partial fit is here */
};

struct dispatcher_group {
    enum dispatcher_group_state state;
    bool here; /* the consumer has every batch of it */
    uint32_t worker;
    uint64_t number;  /* its own, once it was leased */
    uint64_t session; /* of the worker */
    uint64_t fence;
    int64_t until_ms; /* leased: end; sent: when patience is over */
    uint32_t next;    /* private: the next one in the same bucket */
};

struct dispatcher_held {
    uint64_t group;
    uint64_t fence;
    bool sent; /* all of its batches */
};

/* What a worker's beat says about a job. */
struct dispatcher_visit {
    uint32_t worker; /* its slot */
    uint64_t session;
    const struct dispatcher_held *held;
    size_t held_count;
    int64_t lease_ms; /* how long its leases live */
};

struct dispatcher_lane {
    struct preprocess_geometry geometry;
    bool fitting;     /* groups of epoch 0 are leased for partial fits */
    bool heard;       /* its consumer was heard of in this attempt and incarnation */
    int64_t heard_ms; /* when; INT64_MIN: just now */
    uint64_t beat_number;
    uint64_t oldest;           /* first batch that is not consumed */
    struct weir_bits received; /* relative to oldest: consumed or waiting at the consumer */
    int64_t wait_ns;           /* that the consumer has waited for batches, as reported */

    /* Groups first_group … first_group + capacity - 1, each at index `group % capacity`. */
    uint64_t first_group;
    size_t capacity;
    struct dispatcher_group *groups;

    /* So that a worker's beat costs what it changes, not the window. */
    uint32_t
        *buckets; /* by worker: groups that are leased or sent, as a chain of their indices + 1 */
    size_t bucket_count;  /* a power of two */
    uint64_t open_from;   /* no group before it can be leased … */
    uint64_t lack_from;   /* … nor is lacked by the consumer */
    uint64_t touched_end; /* no group from here on was ever leased, or here, in this window */
    int64_t expire_ms;    /* no lease ends before */
};

void dispatcher_lane_init(struct dispatcher_lane *lane, const struct preprocess_geometry *geometry,
                          bool fitting);
void dispatcher_lane_fini(struct dispatcher_lane *lane);
/* Nothing is leased, and the consumer has what is in `position`. Its consumer counts as heard of
 * just now if it `is_here`. */
void dispatcher_lane_begin(struct dispatcher_lane *lane, const struct weir_position *position,
                           bool is_here);
/* One past the last group it will ever lease. */
uint64_t dispatcher_lane_end(const struct dispatcher_lane *lane);
bool dispatcher_lane_has(const struct dispatcher_lane *lane, uint64_t group); /* in its window */
struct dispatcher_group *dispatcher_lane_group(const struct dispatcher_lane *lane, uint64_t group);
/* Moves the window of a lane that fits. */
void dispatcher_lane_slide(struct dispatcher_lane *lane, uint64_t first_group);

/* A newer beat of its consumer, already checked. */
void dispatcher_lane_take(struct dispatcher_lane *lane, const struct msg_client_beat *beat,
                          int64_t now_ms);
bool dispatcher_lane_listens(const struct dispatcher_lane *lane, int64_t now_ms);

/* A worker beats: leases of its slot's former session end, those it lists are renewed, those whose
 * time is over end. Returns how many of the leases that it keeps the worker has listed. */
uint32_t dispatcher_lane_visit(struct dispatcher_lane *lane, const struct dispatcher_visit *visit,
                               int64_t now_ms);
/* The worker's session has ended: what it held, or sent and the consumer has not got, is open. */
void dispatcher_lane_leave(struct dispatcher_lane *lane, uint32_t worker, uint64_t session);
void dispatcher_lane_expire(struct dispatcher_lane *lane, int64_t now_ms);
/* The lowest group that the consumer lacks, and the lowest that may be leased now;
 * DISPATCHER_NO_GROUP: none. */
uint64_t dispatcher_lane_lacking(struct dispatcher_lane *lane);
uint64_t dispatcher_lane_open(struct dispatcher_lane *lane);
/* Leases an open group to the visitor. */
void dispatcher_lane_lease(struct dispatcher_lane *lane, uint64_t group,
                           const struct dispatcher_visit *visit, uint64_t fence, int64_t now_ms);
/* The groups that the worker has leases on now, lowest first; at most `max`. */
size_t dispatcher_lane_leases(const struct dispatcher_lane *lane, uint32_t worker, uint64_t session,
                              const struct dispatcher_group **ret_groups, size_t max);
/* The partial fit of a group is here: nobody makes it again. */
void dispatcher_lane_fitted(struct dispatcher_lane *lane, uint64_t group);

#endif
