/* The system file's `trainers`, `gpus` and `quotas`: how many train at once, and how pipelines
 * share them and the workers. */
#ifndef ORCHESTRATOR_SHARING_QUOTAS_H
#define ORCHESTRATOR_SHARING_QUOTAS_H

#include "core/config/schema.h"
#include "orchestrator/sharing/arbiter.h"

struct orchestrator_quota {
    double share;                     /* > 0; of trainer time and of worker time */
    uint64_t trainers, gpus, workers; /* at once; 0: as many as there are */
};

struct orchestrator_sharing {
    size_t trainers;                     /* at once; 0: no bound */
    size_t gpus;                         /* slots of this machine */
    const struct weir_yaml_node *quotas; /* checked; borrowed from the system file. NULL: none */
};

/* INVALID with a place. */
enum weir_status orchestrator_quotas_check(const struct weir_yaml_node *quotas,
                                           struct weir_error *err) WEIR_MUST_USE;
/* Returns the quota of the pipeline of that name, or of `default`, or a share of 1. */
struct orchestrator_quota orchestrator_quota_of(const struct orchestrator_sharing *sharing,
                                                const char *pipeline);
/* Returns the GPU slots that the pipeline of that name may hold at once. */
uint64_t orchestrator_quota_gpus(const struct orchestrator_sharing *sharing, const char *pipeline);
/* Returns the part of a quota that concerns trainers. */
struct arbiter_quota orchestrator_quota_trainers(const struct orchestrator_quota *quota);
/* Appends the reference page. */
void orchestrator_quotas_describe(struct weir_buf *out);

#endif
