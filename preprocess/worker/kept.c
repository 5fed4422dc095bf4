/* Rows that a worker keeps of samples: see kept.h. */
#include "preprocess/worker/kept.h"

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/wire/sample.h"

#include <stdlib.h>
#include <string.h>

enum { SCAN_MS = 1000, USE_MS = 10 * 1000, FOLDER_MODE = 0700 };

struct kept {
    const struct worker_flow *flow;
    struct kept_store store;
    struct kept_writer *writer;
    bool is_wanted;  /* by a job, lately */
    int64_t scan_ms; /* when the folder is looked at again; 0: now */
    int64_t use_ms;
};

static bool is_erased(const void *owner, uint64_t id)
{
    return preprocess_flow_is_erased(owner, id);
}

struct kept *preprocess_kept_new(struct weir_loop *loop, const struct worker_flow *flow,
                                 const char *data_dir, uint64_t bytes_max,
                                 enum weir_compression how)
{
    if (bytes_max == 0)
        return NULL;
    struct kept *kept = weir_calloc(1, sizeof(*kept));
    kept->flow = flow;
    kept->store.folder = weir_format("%s/" WEIR_CACHE_FOLDER, data_dir);
    kept->writer = preprocess_kept_writer_new(
        loop, (struct kept_folder){.path = kept->store.folder, .bytes_max = bytes_max, .how = how});
    return kept;
}

/* By the true time, as for batches: without a use lease, samples may be erased that are not known to be. */
static bool has_use_lease(const struct kept *kept)
{
    return weir_now_ms() < kept->flow->use_until_ms;
}

void preprocess_kept_free(struct kept *kept)
{
    if (kept == NULL)
        return;
    if (has_use_lease(kept))
        preprocess_kept_writer_flush(kept->writer, kept->flow->erasure_epoch);
    preprocess_kept_writer_free(kept->writer);
    preprocess_kept_store_fini(&kept->store);
    free(kept);
}

static void scan(struct kept *kept, int64_t now_ms)
{
    struct kept_erased erased = {
        .is_erased = is_erased, .owner = kept->flow, .epoch = kept->flow->erasure_epoch};
    preprocess_kept_store_scan(&kept->store, &erased);
    kept->scan_ms = now_ms + SCAN_MS;
}

/* A folder that was taken away is made again: rows are written to it. */
static void scan_again(struct kept *kept, int64_t now_ms)
{
    struct weir_error err;
    (void)!weir_make_directories(kept->store.folder, FOLDER_MODE, &err);
    scan(kept, now_ms);
}

void preprocess_kept_step(struct kept *kept, int64_t now_ms)
{
    if (kept == NULL || !kept->is_wanted)
        return;
    bool is_finished =
        has_use_lease(kept) && preprocess_kept_writer_step(kept->writer, kept->store.live,
                                                           kept->flow->erasure_epoch, now_ms);
    if (is_finished || now_ms >= kept->scan_ms)
        scan_again(kept, now_ms);
    if (now_ms < kept->use_ms)
        return;
    preprocess_kept_store_note_use(&kept->store);
    kept->use_ms = now_ms + USE_MS;
}

void preprocess_kept_on_erasure(struct kept *kept)
{
    if (kept != NULL)
        preprocess_kept_writer_drop(kept->writer);
}

void preprocess_kept_wipe(struct kept *kept)
{
    if (kept == NULL)
        return;
    preprocess_kept_writer_drop(kept->writer);
    preprocess_kept_store_forget(&kept->store);
    kept->scan_ms = 0;
}

uint64_t preprocess_kept_damaged(const struct kept *kept)
{
    return kept->store.damaged;
}

/* The first job that keeps rows has the folder made, and looked at. */
static bool begin(struct kept *kept)
{
    struct weir_error err;
    if (kept->is_wanted)
        return true;
    if (weir_make_directories(kept->store.folder, FOLDER_MODE, &err) != WEIR_OK) {
        weir_log(WEIR_LOG_WARN, "nothing is kept of samples", "reason=\"%s\"", err.text);
        return false;
    }
    kept->is_wanted = true;
    scan(kept, 0);
    return true;
}

bool preprocess_kept_find(struct kept *kept, uint64_t key, const uint64_t *ids, size_t count,
                          struct kept_place *ret_places)
{
    if (kept == NULL || key == 0 || !begin(kept))
        return false;
    preprocess_kept_store_find(&kept->store, key, ids, count, ret_places);
    return true;
}

bool preprocess_kept_load(struct kept *kept, struct kept_place place, struct weir_bytes *ret_row)
{
    return preprocess_kept_store_load(&kept->store, place, ret_row);
}

void preprocess_kept_give_up_shorter(struct kept *kept)
{
    if (kept != NULL)
        preprocess_kept_store_give_up_shorter(&kept->store);
}

void preprocess_kept_add(struct kept *kept, uint64_t id, uint64_t key, struct weir_bytes row)
{
    if (weir_sample_dataset(id) != WEIR_DATASET_LENT)
        preprocess_kept_writer_add(kept->writer, id, key, row);
}

void preprocess_kept_settle(struct kept *kept, bool is_good, int64_t made_ns)
{
    preprocess_kept_writer_settle(kept->writer, is_good, made_ns);
}
