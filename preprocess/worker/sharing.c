/* Production for several jobs. */
#include "preprocess/worker/sharing.h"

enum { SWEEP_MS = 500, TRIM_MS = 10 * 1000 };

static struct window_key key_of(const struct worker_lease *lease, uint64_t batch)
{
    return (struct window_key){
        .production = lease->production, .batch = batch, .rank = lease->rank};
}

/* True when the job will be sent the batch soon, whatever its consumer lacks before it: it has leased it here, too. */
static bool is_to_make(const struct worker *worker, const struct worker_job *job,
                       const struct window_key *key)
{
    return preprocess_flow_is_to_make(&worker->flow, job->number,
                                      preprocess_group_of(&job->plan.geometry, key->batch),
                                      key->rank, key->batch);
}

static bool may_take(const struct worker *worker, const struct worker_job *job,
                     const struct window_key *key, uint64_t bytes)
{
    return job->open && job->production == key->production &&
           (is_to_make(worker, job, key) ||
            preprocess_flow_needs(&worker->flow, job->number, key->batch,
                                  preprocess_window_reach(&worker->window, bytes), !job->is_met));
}

void preprocess_sharing_find(struct worker *worker, const struct worker_lease *lease,
                             struct worker_job *own, uint64_t batch, uint64_t bytes,
                             struct sharing *ret_sharing)
{
    struct window_key key = key_of(lease, batch);
    ret_sharing->jobs[0] = own;
    ret_sharing->count = 1;
    for (size_t i = 0; i < WORKER_JOBS_MAX && lease->production != 0; i++) {
        struct worker_job *job = &worker->jobs[i];
        if (job != own && may_take(worker, job, &key, bytes))
            ret_sharing->jobs[ret_sharing->count++] = job;
    }
}

void preprocess_sharing_charge(const struct sharing *sharing, int64_t cpu_ns)
{
    for (size_t i = 0; i < sharing->count; i++)
        sharing->jobs[i]->cpu_ns += cpu_ns / (int64_t)sharing->count;
}

void preprocess_sharing_give(struct worker *worker, const struct worker_lease *lease,
                             const struct sharing *sharing, uint64_t number,
                             struct worker_batch *batch)
{
    if (sharing->count < 2)
        return;
    struct worker_batch *shared = preprocess_batch_share(batch);
    struct window_entry entry = {
        .key = key_of(lease, number),
        .bytes = weir_frames_bytes(&shared->frames),
        .ids = worker_batch_ids(shared),
        .id_count = shared->samples,
        .payload = shared,
    };
    preprocess_window_add(&worker->window, &worker->flow, &entry);
}

struct worker_batch *preprocess_sharing_take(const struct worker *worker,
                                             const struct worker_lease *lease, uint64_t number)
{
    struct window_key key = key_of(lease, number);
    struct worker_batch *there =
        lease->production != 0 ? preprocess_window_find(&worker->window, &key) : NULL;
    return there != NULL ? preprocess_batch_share(there) : NULL;
}

struct worker_lease *preprocess_sharing_donor(struct worker *worker,
                                              const struct worker_lease *lease)
{
    struct worker_lease *donor = NULL;
    for (size_t i = 0; i < WORKER_LEASES_MAX; i++) {
        struct worker_lease *other = &worker->flow.leases[i];
        const struct worker_task *task = &worker->tasks[i];
        bool is_located = other->fence != 0 && task->fence == other->fence && task->begun;
        bool is_one = other == lease || preprocess_worker_is_same_work(other, lease);
        if (is_located && is_one && (donor == NULL || other->fence < donor->fence))
            donor = other;
    }
    return donor;
}

static bool is_all_there(const struct worker *worker, const struct worker_lease *lease,
                         struct preprocess_range batches)
{
    uint32_t i = 0;
    for (; i < batches.count; i++) {
        struct window_key key = key_of(lease, batches.first + i);
        if (preprocess_window_find(&worker->window, &key) == NULL)
            break;
    }
    return i == batches.count;
}

bool preprocess_sharing_begin(struct worker *worker, const struct worker_lease *lease,
                              const struct worker_job *job)
{
    if (lease->production == 0 || lease->group >= preprocess_groups(&job->plan.geometry))
        return false;
    struct preprocess_range batches = preprocess_group(&job->plan.geometry, lease->group);
    const struct worker_lease *donor = preprocess_sharing_donor(worker, lease);
    bool is_located = donor != NULL && donor->batches.count > 0;
    bool is_ready = is_located || is_all_there(worker, lease, batches);
    if (is_ready)
        preprocess_flow_begin(&worker->flow, lease->fence, batches);
    return is_ready || donor != NULL;
}

static bool is_needed(const void *owner, const struct window_entry *entry)
{
    const struct worker *worker = owner;
    size_t i = 0;
    while (i < WORKER_JOBS_MAX && !may_take(worker, &worker->jobs[i], &entry->key, entry->bytes))
        i++;
    return i < WORKER_JOBS_MAX;
}

struct weir_published *preprocess_sharing_memory(struct worker *worker, uint64_t production,
                                                 size_t size)
{
    preprocess_window_sweep(&worker->window, is_needed, worker);
    return weir_published_pool_take(&worker->published, production, size);
}

void preprocess_sharing_sweep(struct worker *worker, int64_t now_ms)
{
    if (now_ms - worker->swept_ms < SWEEP_MS)
        return;
    worker->swept_ms = now_ms;
    preprocess_window_sweep(&worker->window, is_needed, worker);
    if (now_ms - worker->trimmed_ms < TRIM_MS)
        return;
    worker->trimmed_ms = now_ms;
    weir_published_pool_trim(&worker->published);
}
