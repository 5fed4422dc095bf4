/* Wiping: everything that batches were made in is released, which wipes it (core/base/wiping.c), and made again when
 * it is needed. */
#include "preprocess/worker/wipe.h"

#include "core/base/memory.h"
#include "preprocess/worker/jobs.h"
#include "preprocess/worker/tasks.h"

static void release_buffers(struct worker *worker)
{
    preprocess_worker_tasks_drop_fetched(worker); /* nothing is lent after this */
    preprocess_window_clear(&worker->window);
    weir_published_pool_clear(&worker->published);
    preprocess_worker_tasks_wipe(worker);
    weir_segment_free(worker->lent);
    worker->lent = weir_segment_new(WORKER_LENT_BYTES);
    worker->lent_to = NULL;
    weir_borrowed_clear(worker->borrowed);
    preprocess_layouts_clear(worker->layouts);
    preprocess_record_sums_fini(&worker->sums);
    preprocess_objects_wipe(worker->objects);
    preprocess_worker_jobs_wipe(worker);
    preprocess_batch_maker_wipe(worker->batch_maker);
    preprocess_kept_wipe(worker->kept);
}

/* False while the dispatcher has not heard why samples failed: an audit would lack what is forgotten now. */
static bool has_told_reasons(const struct worker *worker)
{
    return worker->reasons_known == worker->reasons;
}

void preprocess_worker_wipe(struct worker *worker)
{
    if (worker->wipe <= worker->wiped || !has_told_reasons(worker))
        return;
    worker->wiped = worker->wipe;
    release_buffers(worker);
    weir_rpc_peer_renew(worker->dispatcher);
    weir_rpc_peer_renew(worker->storage);
    if (worker->selector != NULL)
        weir_rpc_peer_renew(worker->selector);
    weir_memory_wipe_stack();
    worker->hold_ms =
        0; /* storage sends its hints to the new connection only after the next hold */
    worker->beat_due = true;
}
