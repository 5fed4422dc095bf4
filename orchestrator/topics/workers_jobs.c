/* See workers_jobs.h. */
#include "orchestrator/topics/workers_jobs.h"

#include "orchestrator/values/json_object.h"

bool orchestrator_topic_scaling_is_whole(const struct msg_workers_are *pool)
{
    size_t jobs = pool->jobs.count;
    return pool->job_policies.count == jobs && pool->job_whys.count == jobs &&
           pool->job_sizes.count == jobs && pool->job_host_sizes.count == jobs &&
           pool->job_needs.count == jobs && pool->job_given.count == jobs &&
           pool->job_wanted.count == jobs && pool->job_made.count == jobs &&
           pool->job_stalled.count == jobs && pool->job_reports.count == jobs &&
           pool->job_settled.count == jobs;
}

static double parts(uint32_t permille)
{
    return permille / 1000.0;
}

json_t *orchestrator_topic_scaling_json(const struct msg_workers_are *pool, size_t job)
{
    return JSON_FIELDS(JSON_TEXT("policy", pool->job_policies.at[job]),
                       JSON_DOUBLE("need", parts(pool->job_needs.at[job])),
                       JSON_NUMBER("workers", pool->job_sizes.at[job]),
                       JSON_NUMBER("host_workers", pool->job_host_sizes.at[job]),
                       JSON_DOUBLE("given", parts(pool->job_given.at[job])),
                       JSON_DOUBLE("wanted_batches_a_second", parts(pool->job_wanted.at[job])),
                       JSON_DOUBLE("made_batches_a_second", parts(pool->job_made.at[job])),
                       JSON_DOUBLE("stall_fraction", parts(pool->job_stalled.at[job])),
                       JSON_TEXT("why", pool->job_whys.at[job]),
                       JSON_FLAG("settled", pool->job_settled.at[job] != 0),
                       JSON_NUMBER("reports", pool->job_reports.at[job]));
}
