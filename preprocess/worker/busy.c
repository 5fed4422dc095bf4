/* See busy.h. */
#include "preprocess/worker/busy.h"

#include "core/base/clock.h"
#include "preprocess/worker/jobs.h"

void preprocess_worker_busy_look(struct worker *worker)
{
    struct worker_busy *busy = &worker->busy;
    int64_t now_ns = weir_now_ns();
    for (size_t i = 0; i < busy->count; i++)
        busy->jobs[i]->busy_ns += (now_ns - busy->since_ns) / (int64_t)busy->count;
    busy->since_ns = now_ns;
}

void preprocess_worker_busy_with(struct worker *worker, const struct sharing *jobs)
{
    struct worker_busy *busy = &worker->busy;
    preprocess_worker_busy_look(worker);
    busy->count = jobs->count;
    for (size_t i = 0; i < jobs->count; i++)
        busy->jobs[i] = jobs->jobs[i];
}

static bool is_listed(const struct sharing *jobs, const struct worker_job *job)
{
    size_t i = 0;
    while (i < jobs->count && jobs->jobs[i] != job)
        i++;
    return i < jobs->count;
}

void preprocess_worker_busy_on(struct worker *worker, const struct worker_lease *lease)
{
    struct sharing jobs = {.count = 0};
    for (size_t i = 0; lease != NULL && i < WORKER_LEASES_MAX; i++) {
        const struct worker_lease *other = &worker->flow.leases[i];
        if (other != lease && !preprocess_worker_is_same_work(other, lease))
            continue;
        struct worker_job *job = preprocess_worker_job_slot(worker, other->job);
        if (job != NULL && !is_listed(&jobs, job))
            jobs.jobs[jobs.count++] = job;
    }
    preprocess_worker_busy_with(worker, &jobs);
}
