/* The workers that each job should have, and the pool all together: what beats say of a job becomes
 * reports, its policy decides by them, and the division among all jobs in use sets the size of the pool. Pure: time is
 * handed in. Owned by struct dispatcher, the part of a job by its entry; sizing.c feeds it. */
#ifndef WEIR_PREPROCESS_DISPATCHER_SCALING_H
#define WEIR_PREPROCESS_DISPATCHER_SCALING_H

#include "core/config/plugin.h"
#include "core/wire/wire.h"
#include "preprocess/scale/division.h"
#include "preprocess/scale/model.h"
#include "preprocess/scale/policy.h"
#include "preprocess/scale/spans.h"

enum {
    SCALING_AWAITED_MS = 60000 /* time for the consumer of a job to come after it was opened */
};

/* A job. Zeroed: nothing is decided. */
struct scaling_job {
    const struct scale_policy *policy;
    struct cfg_opened opened; /* its options, in memory of the job */
    void *state;              /* of the policy; NULL: it was not in use yet */
    struct scale_setting setting;
    struct scale_decision decision;
    struct spans spans;
    struct scale_model model;
    uint64_t reports;             /* taken in … */
    uint64_t reports_before;      /* … of these, by an earlier process */
    double wanted, made, stalled; /* by the newest report: batches a second; share of the time */
    double given;                 /* workers of the pool that are its part */
    int64_t seen_ms;              /* when it was looked at first */
    uint64_t fence;               /* newest lease when its workers were others */
    bool is_used;                 /* it has a part */
    bool is_unsaved;              /* since it was kept, it has decided again */
    struct weir_buf kept;         /* by an earlier process; empty: there was none */
};

/* All jobs. Zeroed: no pool was ordered. */
struct scaling {
    struct division division;
    struct division_bounds bounds;
    struct scale_setting prices; /* but its bounds */
    uint32_t host_max;
    bool is_ordered;
    char **drains; /* names of workers that are to end */
    size_t drain_count;
    uint32_t workers, host; /* intended numbers */
};

void preprocess_scaling_job_fini(struct scaling_job *job);
void preprocess_scaling_fini(struct scaling *scaling);

/* Keeps an order of the orchestrator. INVALID: a price that cannot be, or too many names. */
enum weir_status preprocess_scaling_order(struct scaling *scaling,
                                          const struct msg_pool_order *order,
                                          struct weir_error *err) WEIR_MUST_USE;
/* True when a worker of this name is to end. */
bool preprocess_scaling_drains(const struct scaling *scaling, const char *name);

/* Reads preprocess.plan.policy; NULL: the default. INVALID with place. */
enum weir_status preprocess_scaling_open(const struct weir_yaml_node *node, struct scaling_job *job,
                                         struct weir_error *err) WEIR_MUST_USE;
/* Returns the setting of a job that has at least and at most so many workers; 0: as many as it needs. */
struct scale_setting preprocess_scaling_setting(const struct scaling *scaling,
                                                const struct scaling_job *job, uint32_t min,
                                                uint32_t max);
/* Has the policy begin, if it has not, or go on where an earlier process has left it; true when it did. */
bool preprocess_scaling_begin(struct scaling_job *job, const struct scale_setting *setting);
/* Returns the workers that would suffice. A policy settles within its bounds: where it is at the upper one, what the
 * consumers would take more than it makes counts, too. */
double preprocess_scaling_need(const struct scaling_job *job);
/* Appends what a later process goes on from: what the policy has come to, and the model that explains it. Of another
 * program, even of the same version, it takes up nothing. */
void preprocess_scaling_keep(const struct scaling_job *job, struct weir_buf *out);
/* Has the policy decide by a report. */
void preprocess_scaling_report(struct scaling_job *job, const struct scale_setting *setting,
                               const struct scale_report *report);

#endif
