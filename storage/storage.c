/* The storage service between requests: see storage.h. */
#include "storage/storage.h"

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "storage/chunks/chunk_merge.h"
#include "storage/chunks/key_merge.h"
#include "storage/doctor/doctor.h"
#include "storage/erasure/erase_page.h"
#include "storage/erasure/erasing.h"
#include "storage/erasure/s3_owed.h"
#include "storage/feed/replay.h"
#include "storage/files/copy.h"
#include "storage/keys/run_policy.h"
#include "storage/objects/s3_mirror.h"
#include "storage/objects/s3_ranges.h"
#include "storage/push/push.h"
#include "storage/reading/late_reads.h"
#include "storage/reading/serve.h"
#include "storage/restored.h"
#include "storage/sql/queries.h"
#include "storage/sums/sums.h"

#include <stdlib.h>
#include <string.h>

enum {
    RESCAN_MS = 30000,
    FIRST_SCANS_MS = 30000, /* erasures wait for them so long */
    FORGET_MS = 60000,
    RETRY_MS = 1000,
    WAIT_MS = 50,
};
/* A scan that lasted t is not followed by another for so many t: scans of what events have named, of
 * everything because events were lost, and of everything only to be sure. */
enum { REST_SCANS = 4, REST_RESCANS = 19 };

struct scan_tools storage_tools(struct storage *storage)
{
    return (struct scan_tools){
        .db = storage->db,
        .data_dir = storage->data_dir,
        .cache = storage->cache,
        .secret = &storage->secret,
        .erased = &storage->erased,
        .watch = storage->watch,
        .files = storage->files,
        .ranges = storage->ranges,
        .is_erasing = storage->erasing && storage_erasing_is_half_way(storage),
    };
}

struct gather_from storage_gather_from(const struct storage *storage)
{
    return (struct gather_from){
        .files = storage->files, .secret = &storage->secret, .objects = storage->ranges};
}

/* ---- loading ---- */

static enum weir_status load(struct storage *storage, struct weir_error *err)
{
    struct catalog *catalog = NULL;
    enum weir_status status;

    storage_key_merge_free(storage->merge);
    storage->merge = NULL;
    status = storage_catalog_load(storage->db, storage->data_dir, &catalog, err);

    if (status != WEIR_OK)
        return status;
    storage_chunk_cache_clear(storage->cache);
    storage_scans_free(storage->catalog);
    storage_catalog_free(storage->catalog);
    storage->catalog = catalog;
    storage_sums_reset(storage->sums);
    storage_pushes_recover(storage);
    return storage_erasing_load(storage, err);
}

void storage_doubt(struct storage *storage)
{
    storage->is_stale = true;
    storage_pump(storage);
}

static void on_again(void *owner);

static void look_again(struct storage *storage, int64_t delay_ms)
{
    if (storage->again_timer == 0)
        storage->again_timer = weir_loop_timer(storage->loop, delay_ms, 0, on_again, storage);
}

static bool may_scan(const struct dataset *dataset, int64_t now_ms)
{
    return !storage_scan_is_running(dataset) && now_ms >= dataset->next_scan_ms &&
           (!dataset->dirty.is_whole || now_ms >= dataset->next_whole_ms);
}

/* Whether there is something to scan, and all of it. */
static bool has_source(struct storage *storage, const struct dataset *dataset)
{
    const struct declaration *d = dataset->declaration;

    return !d->is_pushed && (!d->is_mirrored || storage_mirror_is_ready(storage->mirrors, dataset));
}

/* Starts a scan of every dataset that may have changed; those that must wait are looked at again. */
void storage_scan_dirty(struct storage *storage)
{
    int64_t now_ms = weir_now_ms();

    for (size_t i = 0; i < storage->catalog->count; i++) {
        struct dataset *dataset = storage->catalog->datasets[i];

        if (storage_scope_is_empty(&dataset->dirty) || !has_source(storage, dataset))
            continue;
        if (!may_scan(dataset, now_ms)) {
            look_again(storage, WAIT_MS);
            continue;
        }
        dataset->scan_started_ms = now_ms;
        dataset->scan_busy_ms = 0;
        storage_scan_start(dataset);
    }
    storage_pump(storage);
}

static void on_again(void *owner)
{
    struct storage *storage = owner;

    storage->again_timer = 0;
    if (!storage->is_stale)
        storage_scan_dirty(storage);
    else
        storage_pump(storage);
}

static void scan_all(struct storage *storage)
{
    for (size_t i = 0; i < storage->catalog->count; i++)
        storage_scope_add_all(&storage->catalog->datasets[i]->dirty);
    storage_scan_dirty(storage);
}

enum weir_status storage_ready(struct storage *storage, struct weir_error *err)
{
    enum weir_status status;

    if (!storage->is_stale)
        return WEIR_OK;
    status = load(storage, err);
    if (status != WEIR_OK)
        return status;
    storage->is_stale = false;
    weir_log(WEIR_LOG_INFO, "catalog loaded again", "datasets=%zu", storage->catalog->count);
    scan_all(storage);
    return WEIR_OK;
}

/* ---- scans ---- */

/* Remembers why a source cannot be scanned, and says so once. */
static void note_trouble(struct storage *storage, const struct dataset *dataset, const char *text)
{
    char **slot;

    while (storage->trouble_count < dataset->number) {
        storage->troubles =
            weir_realloc(storage->troubles, storage->trouble_count + 1, sizeof(char *));
        storage->troubles[storage->trouble_count++] = NULL;
    }
    slot = &storage->troubles[dataset->number - 1];
    if (weir_str_equal(*slot, text))
        return;
    if (text)
        weir_log(WEIR_LOG_WARN, "source cannot be scanned", "dataset=%s error=\"%s\"",
                 dataset->name, text);
    free(*slot);
    *slot = text ? weir_strdup(text) : NULL;
}

/* A row of the manifest may be about any file. */
static bool means_all(const struct dataset *dataset, const char *path)
{
    const struct declaration *d = dataset->declaration;

    return !path || (d->wants_manifest && strcmp(path, d->source.manifest) == 0);
}

static void mark_dirty(struct storage *storage, struct dataset *dataset, const char *path)
{
    if (means_all(dataset, path))
        storage_scope_add_all(&dataset->dirty);
    else
        storage_scope_add(&dataset->dirty, path);
    look_again(storage, dataset->declaration->source.settle / 1000 + 1);
}

static void on_changed(void *owner, uint32_t number, const char *path)
{
    struct storage *storage = owner;

    if (storage->is_stale) /* everything is scanned once the catalog is loaded */
        return;
    for (size_t i = 0; i < storage->catalog->count; i++) {
        struct dataset *dataset = storage->catalog->datasets[i];

        if (number == 0 || number == dataset->number)
            mark_dirty(storage, dataset, path);
    }
}

static void end_scan(struct storage *storage, struct dataset *dataset,
                     const struct scan_outcome *outcome)
{
    bool is_remote = dataset->declaration->is_remote;
    int64_t now_ms = weir_now_ms();
    int64_t took_ms = is_remote ? dataset->scan_busy_ms : now_ms - dataset->scan_started_ms;

    note_trouble(storage, dataset, NULL);
    if (outcome->is_whole) {
        dataset->next_whole_ms = now_ms + REST_SCANS * took_ms;
        dataset->next_periodic_ms = now_ms + REST_RESCANS * took_ms;
    } else {
        dataset->next_scan_ms = now_ms + REST_SCANS * took_ms;
    }
    if (is_remote &&
        dataset->next_scan_ms < now_ms + RETRY_MS) /* a bucket is not asked again at once */
        dataset->next_scan_ms = now_ms + RETRY_MS;
    weir_log(WEIR_LOG_DEBUG, "scan finished", "dataset=%s whole=%d ms=%lld sequence=%llu live=%llu",
             dataset->name, outcome->is_whole, (long long)took_ms,
             (unsigned long long)dataset->sequence, (unsigned long long)dataset->accounts.live);
    if (!storage_scope_is_empty(&dataset->dirty))
        look_again(storage, dataset->declaration->source.settle / 1000 + WAIT_MS);
}

bool storage_awaits_scans(const struct storage *storage)
{
    if (weir_now_ms() >= storage->first_scans_ms)
        return false;
    for (size_t i = 0; i < storage->catalog->count; i++) {
        const struct dataset *dataset = storage->catalog->datasets[i];
        bool is_troubled = i < storage->trouble_count && storage->troubles[i];

        if (!dataset->declaration->is_pushed && !dataset->declaration->is_mirrored &&
            !is_troubled && !storage_scan_has_seen_all(dataset))
            return true;
    }
    return false;
}

/* A source that is not there is looked for every second: it may be a disk that comes back. */
static void miss_source(struct storage *storage, struct dataset *dataset, const char *text)
{
    int64_t now_ms = weir_now_ms();

    note_trouble(storage, dataset, text);
    storage_scope_add_all(&dataset->dirty);
    dataset->next_whole_ms = now_ms + RETRY_MS + REST_SCANS * (now_ms - dataset->scan_started_ms);
    look_again(storage, RETRY_MS);
}

/* One piece of one scan; false when no scan is running. */
static bool step_scans(struct storage *storage)
{
    const struct scan_tools tools = storage_tools(storage);
    struct weir_error err;

    for (size_t i = 0; i < storage->catalog->count; i++) {
        struct dataset *dataset =
            storage->catalog->datasets[storage->turn++ % storage->catalog->count];
        struct scan_outcome outcome;
        enum weir_status status;
        int64_t began_ms;

        if (!storage_scan_is_running(dataset))
            continue;
        began_ms = weir_now_ms();
        status = storage_scan_step(dataset, &tools, &outcome, &err);
        dataset->scan_busy_ms += weir_now_ms() - began_ms;
        if (status == WEIR_OK) {
            if (outcome.is_done)
                end_scan(storage, dataset, &outcome);
            if (outcome.is_waiting)
                continue;
            if (outcome.wait_ms > 0) {
                look_again(storage, outcome.wait_ms);
                continue;
            }
        } else if (status == WEIR_NOT_FOUND || status == WEIR_INVALID) {
            miss_source(storage, dataset, err.text);
        } else {
            weir_log(WEIR_LOG_WARN, "scan interrupted, starting it again",
                     "dataset=%s error=\"%s\"", dataset->name, err.text);
            storage->is_stale = true;
            look_again(storage, RETRY_MS);
        }
        return !storage->is_stale;
    }
    return false;
}

/* ---- sorted runs ---- */

enum weir_status storage_stop_merge(struct storage *storage, struct weir_error *err)
{
    enum weir_status status = storage_key_merge_stop(storage->merge, err);

    storage_key_merge_free(storage->merge);
    storage->merge = NULL;
    return status;
}

/* One piece of a merge; false when there is nothing to merge. Scans go first, until a look-up would have
 * too many runs to look into. */
static bool step_merge(struct storage *storage, bool is_scanning)
{
    struct weir_error err;
    bool is_done = false;
    enum weir_status status = WEIR_OK;

    if (!storage->merge)
        status = storage_key_merge_begin(storage->db, storage->catalog,
                                         is_scanning ? RUN_FAN_IN_MAX : RUN_FAN_IN, &storage->merge,
                                         &err);
    if (status == WEIR_OK && !storage->merge)
        return false;
    if (status == WEIR_OK)
        status = storage_key_merge_step(storage->merge, &is_done, &err);
    if (status != WEIR_OK) {
        weir_log(WEIR_LOG_WARN, "merging sorted runs interrupted, starting it again",
                 "error=\"%s\"", err.text);
        storage->is_stale = true;
        look_again(storage, RETRY_MS);
        return false;
    }
    if (is_done) {
        storage_key_merge_free(storage->merge);
        storage->merge = NULL;
    }
    return true;
}

/* ---- chunks ---- */

/* At most one merge; false when nothing is to be merged. */
static bool step_chunk_merges(struct storage *storage)
{
    struct weir_error err;
    bool more = false;

    for (size_t i = 0; !more && i < storage->catalog->count; i++) {
        struct dataset *dataset = storage->catalog->datasets[i];

        if (storage_chunk_merge_step(storage->db, storage->cache, dataset, &more, &err) == WEIR_OK)
            continue;
        weir_log(WEIR_LOG_WARN, "merging chunks interrupted, trying it again",
                 "dataset=%s error=\"%s\"", dataset->name, err.text);
        storage->is_stale = true;
        look_again(storage, RETRY_MS);
        return false;
    }
    return more;
}

/* ---- the pump ---- */

static void on_pump(void *owner);

static void on_wake(void *owner)
{
    struct storage *storage = owner;

    storage->wake_timer = 0;
    storage_pump(storage);
}

static bool step_erasures(struct storage *storage)
{
    struct weir_error err;
    bool more = false;
    int64_t wait_ms = 0;
    enum weir_status status = storage_erasing_step(storage, &more, &wait_ms, &err);

    if (status != WEIR_OK) {
        weir_log(WEIR_LOG_WARN, "erasure interrupted, going on with it soon", "error=\"%s\"",
                 err.text);
        storage->is_stale = true;
        look_again(storage, RETRY_MS);
        return false;
    }
    weir_loop_cancel(storage->loop, storage->wake_timer);
    storage->wake_timer =
        wait_ms > 0 ? weir_loop_timer(storage->loop, wait_ms, 0, on_wake, storage) : 0;
    return more;
}

static void on_pump(void *owner)
{
    struct storage *storage = owner;
    struct weir_error err;
    bool more;

    storage->pump_timer = 0;
    if (storage->is_stale && storage_ready(storage, &err) != WEIR_OK) {
        look_again(storage, RETRY_MS);
        return;
    }
    storage_file_shelf_trim(storage->catalog->shelf);
    more = step_erasures(storage);
    if (!storage->is_stale && !storage_erasing_is_scrubbing(storage) &&
        !storage_doctor_counts(storage->doctor)) {
        bool is_scanning = step_scans(storage);

        more = is_scanning || more;
        if (!storage->is_stale && !storage_erasing_holds_runs(storage))
            more = step_merge(storage, is_scanning) || more;
        if (!storage->is_stale && !more) /* a scan leaves most of the time to others */
            more = step_chunk_merges(storage);
    }
    if (!storage->is_stale)
        more = storage_replays_step(storage) || more;
    if (!storage->is_stale)
        more = storage_doctor_step(storage) || more;
    if (more)
        storage_pump(storage);
}

void storage_pump(struct storage *storage)
{
    if (storage->pump_timer == 0)
        storage->pump_timer = weir_loop_timer(storage->loop, 0, 0, on_pump, storage);
}

static void on_rescan(void *owner)
{
    struct storage *storage = owner;

    storage_open_files_clear(storage->files);
    if (storage->is_stale)
        return;
    for (size_t i = 0; i < storage->catalog->count; i++) {
        struct dataset *dataset = storage->catalog->datasets[i];

        if (weir_now_ms() >= dataset->next_periodic_ms)
            storage_scope_add_all(&dataset->dirty);
    }
    storage_scan_dirty(storage);
}

static void on_forget(void *owner)
{
    struct weir_error err;
    struct storage *storage = owner;

    if (storage_ready(storage, &err) != WEIR_OK ||
        weir_lived_tick(&storage->lived, storage->db, Q_live, weir_now_ms(), &err) != WEIR_OK ||
        storage_replays_tidy(storage, &err) != WEIR_OK ||
        storage_feed_forget(storage, &err) != WEIR_OK)
        weir_log(WEIR_LOG_DEBUG, "feed not trimmed", "error=\"%s\"", err.text);
    if (storage_push_forget(storage, &err) != WEIR_OK)
        weir_log(WEIR_LOG_DEBUG, "answers to pushes not trimmed", "error=\"%s\"", err.text);
}

/* ---- life ---- */

static void sweep(struct storage *storage)
{
    for (size_t i = 0; i < storage->catalog->count; i++) {
        const struct dataset *dataset = storage->catalog->datasets[i];
        struct weir_error err;

        if (dataset->declaration->is_copied && storage_copy_sweep(dataset, &err) != WEIR_OK)
            weir_log(WEIR_LOG_WARN, "left-over copies remain", "dataset=%s error=\"%s\"",
                     dataset->name, err.text);
    }
}

static enum weir_status open_store(struct storage *storage,
                                   const struct weir_service_options *options,
                                   struct weir_error *err)
{
    struct homes homes = {0};
    enum weir_status status;

    if (!options->postgres)
        return weir_fail(err, WEIR_INVALID, "--postgres is missing: it says how to reach Postgres");
    status = weir_db_open(options->postgres, "storage", STORAGE_QUERIES, STORAGE_QUERY_COUNT,
                          &storage->db, err);
    if (status == WEIR_OK)
        status = weir_db_migrate(storage->db, STORAGE_MIGRATIONS, STORAGE_MIGRATIONS_count, err);
    if (status == WEIR_OK)
        status = weir_lived_tick(&storage->lived, storage->db, Q_live, weir_now_ms(), err);
    if (status == WEIR_OK)
        status = storage_home_open(storage->db, options->data_dir, &homes, err);
    if (status == WEIR_OK)
        status = storage_secret_open(options->data_dir, storage->db, &storage->secret, err);
    if (status == WEIR_OK)
        status = load(storage, err);
    if (status == WEIR_OK)
        status = storage_restored_check(storage, &homes, err);
    storage_homes_fini(&homes);
    return status;
}

enum weir_status storage_open(const struct weir_service_options *options, struct weir_loop *loop,
                              struct weir_rpc_server *server, void **ret_state,
                              struct weir_error *err)
{
    struct storage *storage = weir_calloc(1, sizeof *storage);
    WEIR_AUTO_FREE char *resolved = realpath(options->data_dir, NULL);
    enum weir_status status;

    storage->loop = loop;
    storage->first_scans_ms =
        weir_now_ms() + (weir_fault("storage.scans.first") ? 0 : FIRST_SCANS_MS);
    storage->server = server;
    storage->data_dir = weir_strdup(resolved ? resolved : options->data_dir);
    storage->cache = storage_chunk_cache_new(CHUNK_CACHE_BYTES);
    storage->files = storage_open_files_new();
    storage->borrowed = weir_borrowed_new(loop);
    storage->replays = storage_replays_new(storage->data_dir);
    storage->erasure = storage_erasure_new(weir_now_ms());
    storage->epoch_ids = ERASE_PAGE_IDS;
    storage->watch = storage_watch_new(loop, on_changed, storage);
    storage->pushes = storage_pushes_new(storage);
    storage->accepts = storage_accepts_new(storage);
    storage->mirrors = storage_mirrors_new(storage);
    storage->ranges = s3_ranges_new(storage);
    storage->late_reads = storage_late_reads_new(storage);
    storage->owed = storage_owed_new(storage);
    storage->sums = storage_sums_new(storage);
    status = open_store(storage, options, err);
    if (status != WEIR_OK) {
        storage_close(storage);
        return status;
    }
    sweep(storage);
    storage->rescan_timer = weir_loop_timer(loop, RESCAN_MS, RESCAN_MS, on_rescan, storage);
    storage->forget_timer = weir_loop_timer(loop, FORGET_MS, FORGET_MS, on_forget, storage);
    scan_all(storage);
    storage_owed_pump(storage->owed);
    *ret_state = storage;
    return WEIR_OK;
}

void storage_close(void *state)
{
    struct storage *storage = state;

    weir_loop_cancel(storage->loop, storage->rescan_timer);
    weir_loop_cancel(storage->loop, storage->forget_timer);
    weir_loop_cancel(storage->loop, storage->again_timer);
    weir_loop_cancel(storage->loop, storage->wake_timer);
    weir_loop_cancel(storage->loop, storage->pump_timer);
    storage_sums_free(storage->sums);
    storage_watch_free(storage->watch);
    storage_pushes_free(storage->pushes);
    storage_accepts_free(storage->accepts);
    storage_late_reads_free(storage->late_reads);
    storage_owed_free(storage->owed);
    storage_key_merge_free(storage->merge);
    storage_erasing_free(storage->erasing);
    free(storage->cluster);
    storage_erasure_free(storage->erasure);
    storage_replays_free(storage->replays);
    storage_doctor_free(storage->doctor);
    storage_chunk_cache_free(storage->cache);
    storage_open_files_free(storage->files);
    weir_borrowed_free(storage->borrowed);
    storage_scans_free(storage->catalog);
    storage_catalog_free(storage->catalog);
    s3_ranges_free(storage->ranges);
    storage_mirrors_free(storage->mirrors);
    weir_db_close(storage->db);
    for (size_t i = 0; i < storage->trouble_count; i++)
        free(storage->troubles[i]);
    free(storage->troubles);
    storage_erased_names_fini(&storage->erased);
    free(storage->data_dir);
    free(storage);
}

void storage_wipe(void *state, const struct weir_request *request, struct msg_wiped *answer)
{
    struct storage *storage = state;

    (void)request;
    (void)answer;
    storage_chunk_cache_clear(storage->cache);
    storage_open_files_clear(storage->files);
    weir_borrowed_clear(storage->borrowed);
    weir_db_renew(storage->db);
}
