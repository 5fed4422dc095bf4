/* The processes of a run, one a rank: they start together, are judged together, and begin again together, for what one
 * of them has done the others cannot know without it. Pure: no clock, process or message.
 *
 * Owned by: struct run. */
#ifndef ORCHESTRATOR_RUNS_GROUP_H
#define ORCHESTRATOR_RUNS_GROUP_H

#include "core/base/error.h"
#include "core/config/sections.h"
#include "core/rpc/rpc.h"

enum { RUN_STATUS_MAX = 64 };

/* The end of one process. */
struct run_exit {
    bool by_signal;
    bool is_kill; /* by SIGKILL: what others did at the same time is explained by it */
    int code;
    const char *status; /* its wait status in words */
    const char *why;    /* by whoever ended it or looks after it, as a limit; "": nobody says */
    const char *said;   /* the last line of its log; "": nothing */
};

struct group_member {
    uint64_t session; /* of its process; 0: it has not called yet */
    uint64_t key;     /* key of its requests (weir_rpc_quota_key()) */
    bool is_here;     /* its process is there */
    bool is_done;     /* it has finished, and waits for the others */
    uint64_t samples; /* as it last said, as are these */
    int64_t busy_ns, wait_ns, cpu_ns;
    struct weir_route route; /* of its run_done, while it waits for the answer */
};

/* Why a group has ended, as the process tells that explains the others' ends. */
struct group_cause {
    uint32_t rank;
    unsigned weight; /* 0: nobody has ended by itself */
    int64_t silent_ms;
    struct run_exit ended; /* its texts are those below */
    char status[RUN_STATUS_MAX], why[WEIR_ERROR_TEXT_MAX], said[WEIR_ERROR_TEXT_MAX];
};

struct run_group {
    uint32_t ranks;
    bool is_ending; /* one has failed: the others are asked to stop */
    int64_t ending_ms;
    struct group_cause cause;
    struct group_member members[CFG_RANKS_MAX];
};

/* All processes of a new life of the run are there. */
void orchestrator_group_begin(struct run_group *group, uint32_t ranks);
/* A process is gone. `silent_ms` > 0: it was ended because it said nothing for so long. `now_ms` only grows. */
void orchestrator_group_exited(struct run_group *group, uint32_t rank, int64_t silent_ms,
                               const struct run_exit *ended, int64_t now_ms);
/* True when nothing more will come that the result of the run could wait for: rank 0 has finished, and each of the
 * others has as well, or is gone; the dispatcher has everybody's final commit then. */
bool orchestrator_group_is_done(const struct run_group *group);
/* Says why a process has ended: a built-in trainer tells it in its last line; that of a program may be anything. */
void orchestrator_group_explain(const struct run_exit *ended, bool is_program,
                                struct weir_error *ret_why);
bool orchestrator_group_is_gone(const struct run_group *group);
/* Returns the member of that rank whose session this is, under its key; NULL: there is none. */
struct group_member *orchestrator_group_member(struct run_group *group, uint32_t rank,
                                               uint64_t session, uint64_t key);
/* Sums of samples and CPU time, means of the rest. */
struct group_member orchestrator_group_sum(const struct run_group *group);

#endif
