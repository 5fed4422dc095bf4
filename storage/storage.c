/* The rooms of storage, opened one upon the other, and their work between requests: see storage.h. */
#include "storage/storage.h"

#include "core/base/clock.h"
#include "core/base/host.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "storage/chunks/chunk_merge.h"
#include "storage/chunks/key_merge.h"
#include "storage/erasure/erasure_steps.h"
#include "storage/erasure/s3_pending.h"
#include "storage/feed/feed.h"
#include "storage/files/copy.h"
#include "storage/keys/sorted_run_policy.h"
#include "storage/objects/s3_ranges.h"
#include "storage/objects/s3_transport.h"
#include "storage/restored.h"
#include "storage/sql/queries.h"

#include <stdlib.h>

enum {
    FORGET_MS = 60000,
    TURN_MS = 5, /* after which no other piece of work is begun before others are answered */
};

/* ---- loading ---- */

static enum weir_status load(struct storage *storage, struct weir_error *err)
{
    struct store *store = &storage->store;
    struct catalog *catalog = NULL;
    enum weir_status status;

    storage_key_merge_drop(store);
    status = storage_catalog_load(store->db, store->data_dir, &catalog, err);
    if (status != WEIR_OK)
        return status;
    storage_chunk_cache_clear(store->cache);
    storage_scans_unfinished(store->catalog, &storage->unswept);
    storage_scans_free(store->catalog);
    storage_catalog_free(store->catalog);
    store->catalog = catalog;
    status = storage_removal_settle(storage->removal, err);
    if (status != WEIR_OK)
        return status;
    storage_mirrors_end_removed(storage->mirrors);
    storage_sums_reset(storage->sums);
    storage_pushes_recover(storage->pushes);
    return storage_erasure_load(&storage->eraser, err);
}

/* Removes the copies of a dataset that are nobody's. False: some may remain. */
static bool sweep(const struct dataset *dataset)
{
    struct weir_error err;

    if (!dataset->declaration->is_copied || storage_copy_sweep(dataset, &err) == WEIR_OK)
        return true;
    weir_log(WEIR_LOG_WARN, "left-over copies remain", "dataset=%s error=\"%s\"", dataset->name,
             err.text);
    return false;
}

static void sweep_datasets(const struct catalog *catalog)
{
    for (size_t i = 0; i < catalog->count; i++)
        (void)sweep(catalog->datasets[i]); /* the next start tries again */
}

/* A dataset that fails stays unswept: Postgres is away again, and so the catalog will be loaded again. */
static void sweep_unswept(struct storage *storage)
{
    struct id_list left = {0};

    storage_id_list_sort(&storage->unswept);
    for (size_t i = 0; i < storage->unswept.count; i++) {
        const struct dataset *dataset =
            storage_catalog_at(storage->store.catalog, storage->unswept.at[i]);

        if (dataset != NULL && !sweep(dataset))
            storage_id_list_add(&left, dataset->number);
    }
    free(storage->unswept.at);
    storage->unswept = left;
}

static enum weir_status load_again(void *owner, struct weir_error *err)
{
    struct storage *storage = owner;
    enum weir_status status = load(storage, err);

    if (status != WEIR_OK)
        return status;
    storage->store.is_stale = false;
    sweep_unswept(storage);
    weir_log(WEIR_LOG_INFO, "catalog loaded again", "datasets=%zu", storage->store.catalog->count);
    storage_scanner_start_all(storage->scanner);
    return WEIR_OK;
}

static void on_mirrored(void *owner)
{
    struct storage *storage = owner;

    storage_scanner_start(storage->scanner);
}

/* ---- merges ---- */

/* Scans go first, until a look-up would have too many runs to look into. */
static bool step_key_merge(struct store *store, bool is_scanning)
{
    struct weir_error err;
    bool more = false;

    if (storage_key_merge_step(store, is_scanning ? SORTED_RUN_FAN_IN_MAX : SORTED_RUN_FAN_IN,
                               &more, &err) == WEIR_OK)
        return more;
    weir_log(WEIR_LOG_WARN, "merging sorted runs interrupted, starting it again", "error=\"%s\"",
             err.text);
    storage_retry_later(store);
    return false;
}

/* At most one merge; false when nothing is to be merged. */
static bool step_chunk_merges(struct store *store)
{
    struct weir_error err;
    bool more = false;

    for (size_t i = 0; !more && i < store->catalog->count; i++) {
        struct dataset *dataset = store->catalog->datasets[i];

        if (storage_chunk_merge_step(store->db, store->cache, dataset, &more, &err) == WEIR_OK)
            continue;
        weir_log(WEIR_LOG_WARN, "merging chunks interrupted, trying it again",
                 "dataset=%s error=\"%s\"", dataset->name, err.text);
        storage_retry_later(store);
        return false;
    }
    return more;
}

/* ---- between requests ---- */

static void on_wake(void *owner)
{
    struct storage *storage = owner;

    storage->wake_timer = 0;
    storage_pump(&storage->store);
}

static bool step_erasures(struct storage *storage)
{
    struct store *store = &storage->store;
    struct weir_error err;
    bool more = false;
    int64_t wait_ms = 0;

    if (storage_erasure_step(&storage->eraser, &more, &wait_ms, &err) != WEIR_OK) {
        weir_log(WEIR_LOG_WARN, "erasure interrupted, going on with it soon", "error=\"%s\"",
                 err.text);
        storage_retry_later(store);
        return false;
    }
    if (!storage_erasure_is_half_way(&storage->eraser))
        storage_sums_close(storage->sums, NULL);
    weir_loop_cancel(store->loop, storage->wake_timer);
    storage->wake_timer =
        wait_ms > 0 ? weir_loop_timer(store->loop, wait_ms, 0, on_wake, storage) : 0;
    return more;
}

static bool may_take_in(const struct storage *storage)
{
    return !storage_erasure_is_scrubbing(&storage->eraser) &&
           !storage_doctor_counts(storage->doctor);
}

static bool step_scans(struct storage *storage)
{
    storage->is_scanning =
        may_take_in(storage) &&
        storage_scanner_step(storage->scanner, storage_erasure_is_half_way(&storage->eraser));
    return storage->is_scanning;
}

/* Of what scans have added. */
static bool step_merges(struct storage *storage)
{
    struct store *store = &storage->store;
    bool more = storage->is_scanning;

    if (!may_take_in(storage))
        return false;
    if (!storage_erasure_holds_runs(&storage->eraser))
        more = step_key_merge(store, more) || more;
    if (!store->is_stale && !more) /* a scan leaves most of the time to others */
        more = step_chunk_merges(store);
    return more;
}

static bool step_replays(struct storage *storage)
{
    return storage_replays_step(storage->replays);
}

static bool step_doctor(struct storage *storage)
{
    return storage_doctor_step(storage->doctor);
}

/* Each does a piece of its work; true when there is more of it. */
static bool (*const STEPS[])(struct storage *storage) = {step_erasures, step_scans, step_merges,
                                                         step_replays, step_doctor};

/* As many of the pieces as a turn has time for: who asks meanwhile waits for one of them, not for all. */
static void work(void *owner)
{
    struct storage *storage = owner;
    struct store *store = &storage->store;
    int64_t until_ms = weir_now_ms() + TURN_MS;
    struct weir_error err;
    bool more = false, has_time = true;

    if (storage_ready(store, &err) != WEIR_OK) {
        storage_retry_later(store);
        return;
    }
    storage_file_cache_trim(store->catalog->file_cache);
    for (size_t i = 0; i < WEIR_COUNT(STEPS) && has_time && !store->is_stale; i++) {
        more = STEPS[storage->next_step++ % WEIR_COUNT(STEPS)](storage) || more;
        has_time = weir_now_ms() < until_ms;
    }
    if (more || !has_time)
        storage_pump(store);
}

static void on_forget(void *owner)
{
    struct weir_error err;
    struct storage *storage = owner;
    struct store *store = &storage->store;

    if (storage_ready(store, &err) != WEIR_OK ||
        weir_lived_tick(&store->lived, store->db, Q_live, weir_now_ms(), &err) != WEIR_OK ||
        storage_replays_tidy(storage->replays, &err) != WEIR_OK ||
        storage_feed_forget(store, &err) != WEIR_OK)
        weir_log(WEIR_LOG_DEBUG, "feed not trimmed", "error=\"%s\"", err.text);
    if (storage_push_forget(store, &err) != WEIR_OK)
        weir_log(WEIR_LOG_DEBUG, "answers to pushes not trimmed", "error=\"%s\"", err.text);
}

/* ---- life ---- */

static enum weir_status open_store(struct storage *storage,
                                   const struct weir_service_options *options,
                                   struct weir_error *err)
{
    struct store *store = &storage->store;
    struct homes homes = {0};
    enum weir_status status;

    if (options->postgres == NULL)
        return weir_fail(err, WEIR_INVALID, "--postgres is missing: it says how to reach Postgres");
    status = weir_db_open(options->postgres, "storage", STORAGE_QUERIES, STORAGE_QUERY_COUNT,
                          &store->db, err);
    if (status == WEIR_OK)
        status = weir_db_migrate(store->db, STORAGE_MIGRATIONS, STORAGE_MIGRATIONS_count, err);
    if (status == WEIR_OK)
        status = weir_lived_tick(&store->lived, store->db, Q_live, weir_now_ms(), err);
    if (status == WEIR_OK)
        status = storage_home_open(store->db, options->data_dir, &homes, err);
    if (status == WEIR_OK)
        status = storage_secret_open(options->data_dir, store->db, &store->secret, err);
    if (status == WEIR_OK)
        status = load(storage, err);
    if (status == WEIR_OK)
        status = storage_restored_check(store, &homes, err);
    storage_homes_fini(&homes);
    return status;
}

static void open_rooms(struct storage *storage, struct weir_rpc_server *server)
{
    struct store *store = &storage->store;

    storage->removal = storage_removal_new(store);
    storage->mirrors = storage_mirrors_new(store, on_mirrored, storage);
    storage->from = (struct gather_from){.files = storage_open_files_new(),
                                         .secret = &store->secret,
                                         .objects = storage_s3_ranges_new(store, storage->mirrors)};
    storage->scanner = storage_scanner_new(store, &storage->from, storage->mirrors);
    storage->sums = storage_sums_new(store);
    storage->leases = storage_leases_new(weir_now_ms());
    storage->serving = (struct serving){.store = store,
                                        .from = &storage->from,
                                        .sums = storage->sums,
                                        .mirrors = storage->mirrors,
                                        .leases = storage->leases,
                                        .borrowed = weir_borrowed_new(store->loop),
                                        .host = weir_host_id()};
    storage->late_reads = storage_late_reads_new(&storage->serving);
    storage->read_queue = storage_read_queue_new(&storage->serving);
    storage->replays = storage_replays_new(store);
    storage->pushes = storage_pushes_new(storage_scanner_tools(storage->scanner));
    storage->lent = storage_lent_rows_new(store, storage->leases);
    storage->eraser = (struct eraser){.store = store,
                                      .scanner = storage->scanner,
                                      .from = &storage->from,
                                      .mirrors = storage->mirrors,
                                      .sums = storage->sums,
                                      .replays = storage->replays,
                                      .leases = storage->leases,
                                      .server = server};
    storage_eraser_begin(&storage->eraser);
}

enum weir_status storage_open(const struct weir_service_options *options, struct weir_loop *loop,
                              struct weir_rpc_server *server, void **ret_state,
                              struct weir_error *err)
{
    struct storage *storage = weir_calloc(1, sizeof(*storage));
    WEIR_AUTO_FREE char *resolved = realpath(options->data_dir, NULL);
    enum weir_status status;

    storage->store = (struct store){
        .loop = loop,
        .data_dir = weir_strdup(resolved != NULL ? resolved : options->data_dir),
        .cache = storage_chunk_cache_new(CHUNK_CACHE_BYTES),
        .transport = storage_s3_transport_new(loop),
        .load = load_again,
        .work = work,
        .owner = storage,
    };
    open_rooms(storage, server);
    status = open_store(storage, options, err);
    if (status != WEIR_OK) {
        storage_close(storage);
        return status;
    }
    sweep_datasets(storage->store.catalog);
    if (storage->store.catalog->count == 0)
        storage_leases_none_before(storage->leases);
    storage->forget_timer = weir_loop_timer(loop, FORGET_MS, FORGET_MS, on_forget, storage);
    storage_scanner_start_all(storage->scanner);
    storage_pending_pump(storage->eraser.pending);
    weir_db_go_on_with(storage->store.db, loop);
    *ret_state = storage;
    return WEIR_OK;
}

void storage_close(void *state)
{
    struct storage *storage = state;

    if (storage->store.db != NULL)
        weir_db_go_on_with(storage->store.db, NULL);
    weir_loop_cancel(storage->store.loop, storage->forget_timer);
    weir_loop_cancel(storage->store.loop, storage->wake_timer);
    free(storage->unswept.at);
    storage_removal_free(storage->removal);
    storage_doctor_free(storage->doctor);
    storage_eraser_fini(&storage->eraser);
    storage_lent_rows_free(storage->lent);
    storage_pushes_free(storage->pushes);
    storage_replays_free(storage->replays);
    storage_late_reads_free(storage->late_reads);
    storage_read_queue_free(storage->read_queue);
    weir_borrowed_free(storage->serving.borrowed);
    storage_leases_free(storage->leases);
    storage_sums_free(storage->sums);
    storage_scanner_free(storage->scanner);
    storage_open_files_free(storage->from.files);
    storage_scans_free(storage->store.catalog);
    storage_s3_ranges_free(storage->from.objects);
    storage_mirrors_free(storage->mirrors);
    storage_key_merge_drop(&storage->store);
    storage_chunk_cache_free(storage->store.cache);
    storage_s3_transport_free(storage->store.transport);
    storage_store_fini(&storage->store);
    free(storage);
}

void storage_wipe(void *state, const struct weir_request *request, struct msg_wiped *answer)
{
    struct storage *storage = state;

    (void)request;
    (void)answer;
    storage_doctor_forget(storage->doctor);
    storage_scans_wipe(storage->store.catalog);
    storage_chunk_cache_clear(storage->store.cache);
    storage_open_files_clear(storage->from.files);
    weir_borrowed_clear(storage->serving.borrowed);
    weir_db_renew(storage->store.db);
}
