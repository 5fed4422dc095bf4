/* Scanning: see scan.h. */
#include "storage/scanning/scan_state.h"

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/memory.h"
#include "storage/records/key_identify.h"

#include <stdlib.h>

enum { STEP_MS = 8, PATHS_PER_CHECK = 16, ASK_AGAIN_MS = 1000, OBJECTS_PATIENCE_MS = 30000 };

static void forget_leavings(struct scan *scan)
{
    for (size_t i = 0; i < scan->leaving_count; i++)
        free(scan->leavings[i]);
    free(scan->leavings);
    scan->leavings = NULL;
    scan->leaving_count = 0;
}

/* Ends the pass; the manifest stays, unless it is to be wiped. */
static void rest(struct scan *scan)
{
    storage_file_job_end(&scan->job);
    storage_batch_free(scan->batch);
    storage_listing_free(scan->listing);
    storage_known_free(scan->known);
    storage_scope_fini(&scan->scope);
    forget_leavings(scan);
    scan->batch = NULL;
    scan->listing = NULL;
    scan->known = NULL;
    scan->has_listed = scan->is_undone = false;
    scan->phase = SCAN_IDLE;
    storage_scan_wipe_manifest(scan);
}

void storage_scans_wipe(struct catalog *catalog)
{
    for (size_t i = 0; catalog != NULL && i < catalog->count; i++) {
        struct scan *scan = catalog->datasets[i]->scan;

        if (scan == NULL)
            continue;
        scan->is_wiping = true;
        storage_scan_wipe_manifest(scan);
    }
}

static void scan_free(struct scan *scan)
{
    if (scan == NULL)
        return;
    rest(scan);
    storage_manifest_free(scan->manifest);
    free(scan);
}

void storage_scans_unfinished(const struct catalog *catalog, struct id_list *numbers)
{
    for (size_t i = 0; catalog != NULL && i < catalog->count; i++) {
        const struct scan *scan = catalog->datasets[i]->scan;

        if (scan != NULL && (scan->has_failed || scan->phase != SCAN_IDLE))
            storage_id_list_add(numbers, catalog->datasets[i]->number);
    }
}

void storage_scans_free(struct catalog *catalog)
{
    for (size_t i = 0; catalog != NULL && i < catalog->count; i++) {
        scan_free(catalog->datasets[i]->scan);
        catalog->datasets[i]->scan = NULL;
    }
}

void storage_scan_start(struct dataset *dataset)
{
    struct scan *scan = dataset->scan;

    if (scan == NULL)
        scan = dataset->scan = weir_calloc(1, sizeof(*scan));
    if (scan->phase != SCAN_IDLE)
        return;
    scan->phase = SCAN_BEGIN;
    scan->scope = dataset->dirty;
    dataset->dirty = (struct scope){0};
    storage_scope_seal(&scan->scope);
    scan->batch = storage_batch_new(dataset);
    scan->has_copied = false;
    scan->asks_again_ms = 0;
    scan->objects_until_ms =
        weir_now_ms() + (weir_fault("storage.scan.object") ? 0 : OBJECTS_PATIENCE_MS);
    scan->patience_ms =
        weir_now_ms() + (SCAN_TICK_US + dataset->declaration->source.settle) / 1000 + 1;
}

bool storage_scan_is_running(const struct dataset *dataset)
{
    return dataset->scan != NULL && dataset->scan->phase != SCAN_IDLE;
}

bool storage_scan_has_seen_all(const struct dataset *dataset)
{
    return dataset->scan != NULL && dataset->scan->has_checked &&
           !storage_scan_is_running(dataset) && storage_scope_is_empty(&dataset->dirty);
}

/* ---- commits ---- */

/* The commit of the batch said that these copies belong to no live file. */
static void remove_leavings(const struct dataset *dataset)
{
    struct scan *scan = dataset->scan;

    for (size_t i = 0; i < scan->leaving_count; i++)
        storage_copy_remove(dataset, scan->leavings[i]);
    forget_leavings(scan);
}

static enum weir_status commit(struct dataset *dataset, const struct scan_tools *tools,
                               struct weir_error *err)
{
    struct scan *scan = dataset->scan;
    WEIR_AUTO(key_identifier) identifier = storage_key_identifier_new(tools->from);
    enum weir_status status;

    scan->is_undone = true;
    status = storage_file_job_settle(&scan->job, err);

    if (status == WEIR_OK && (scan->has_copied || scan->job.has_blanked))
        status = storage_copy_sync(dataset, err);
    if (status == WEIR_OK && dataset->updates != NULL) /* what is staged there has no id yet */
        status = storage_scan_flush(dataset->updates, tools, err);
    storage_batch_identify(scan->batch, identifier);
    if (scan->job.is_open)
        storage_intake_finish(&scan->job.intake);
    if (status == WEIR_OK)
        status = storage_batch_commit(scan->batch, tools->store->db, tools->store->cache, err);
    if (status != WEIR_OK)
        return status == WEIR_NOT_FOUND || status == WEIR_INVALID
                   ? weir_fail(err, WEIR_INTERNAL, "%s", (const char *)err->text)
                   : status;
    scan->has_copied = scan->job.has_blanked = scan->is_undone = false;
    remove_leavings(dataset);
    return WEIR_OK;
}

enum weir_status storage_scan_flush(struct dataset *dataset, const struct scan_tools *tools,
                                    struct weir_error *err)
{
    if (!storage_scan_is_running(dataset) || storage_batch_is_empty(dataset->scan->batch))
        return WEIR_OK;
    return commit(dataset, tools, err);
}

/* ---- pieces ---- */

static void on_folder(void *owner, const char *folder, int fd)
{
    struct dataset *dataset = owner;

    if (dataset->declaration->is_remote) /* the mirror tells */
        return;
    if (!storage_watch_folder(dataset->scan->watch, dataset->number, folder, fd))
        storage_complaints_put(
            &dataset->complaints, "",
            "the kernel watches no more folders (sysctl fs.inotify.max_user_watches): "
            "changes in some of them are seen late, by the regular rescan");
}

static enum weir_status begin(struct dataset *dataset, const struct scan_tools *tools,
                              struct weir_error *err)
{
    struct scan *scan = dataset->scan;

    if (dataset->declaration->wants_manifest) {
        enum weir_status status = storage_scan_load_manifest(dataset, err);

        if (status != WEIR_OK)
            return status;
    }
    scan->watch = tools->watch;
    storage_complaints_forget(&dataset->complaints, &scan->scope);
    scan->listing = storage_listing_new(dataset, &scan->scope, on_folder, dataset);
    scan->known = storage_known_new(dataset, &scan->scope);
    scan->phase = SCAN_COMPARE;
    return WEIR_OK;
}

/* Windows of the open file, as many as the time of a step allows. */
static enum weir_status step_windows(struct scan *scan, bool *ret_done, struct weir_error *err)
{
    int64_t until_ms = weir_now_ms() + STEP_MS;
    enum weir_status status;

    do
        status = storage_file_job_step(&scan->job, ret_done, err);
    while (status == WEIR_OK && !*ret_done && !storage_batch_is_full(scan->batch) &&
           !storage_file_job_is_waiting(&scan->job) && weir_now_ms() < until_ms);
    return status;
}

/* Has bytes that did not come asked for again a little later. False: the file is to be left. A first scan is waited for
 * by those who want all of the source, so it does; but not for ever, as what comes after it waits as well. */
static bool put_off(const struct dataset *dataset)
{
    struct scan *scan = dataset->scan;
    int64_t now_ms = weir_now_ms();

    if (dataset->is_scanned || now_ms >= scan->objects_until_ms)
        return false;
    scan->asks_again_ms = now_ms + ASK_AGAIN_MS;
    return true;
}

static enum weir_status step_job(struct dataset *dataset, const struct scan_tools *tools,
                                 struct weir_error *err)
{
    struct scan *scan = dataset->scan;
    bool is_done;
    enum weir_status status;

    storage_batch_touch(scan->batch, scan->job.file); /* a flush may have written it half-way */
    status = step_windows(scan, &is_done, err);
    scan->has_copied = scan->has_copied || dataset->declaration->is_copied;
    if (status == WEIR_UNAVAILABLE && put_off(dataset))
        return WEIR_OK;
    if (status == WEIR_DENIED || status == WEIR_UNAVAILABLE)
        storage_complaints_put(&dataset->complaints, scan->job.file->path, err->text);
    if (status == WEIR_STALE || status == WEIR_DENIED ||
        status == WEIR_UNAVAILABLE) { /* as far as it came; the next goes on */
        storage_scan_again(dataset, scan->job.file->path);
        is_done = true;
        status = WEIR_OK;
    }
    if (status == WEIR_OK && is_done) {
        status = storage_file_job_settle(&scan->job, err);
        scan->has_copied = scan->has_copied || scan->job.has_blanked;
        storage_file_job_end(&scan->job);
    }
    if (status == WEIR_OK && storage_batch_is_full(scan->batch))
        status = commit(dataset, tools, err);
    return status;
}

static enum weir_status finish(struct dataset *dataset, const struct scan_tools *tools,
                               struct scan_outcome *ret_outcome, struct weir_error *err)
{
    struct scan *scan = dataset->scan;
    bool is_first = !dataset->is_scanned && scan->scope.is_whole;
    enum weir_status status = WEIR_OK;

    dataset->is_scanned |= is_first; /* what changed meanwhile is the next scan's */
    if (is_first || !storage_batch_is_empty(scan->batch))
        status = commit(dataset, tools, err);
    if (status != WEIR_OK)
        return status;
    ret_outcome->is_done = true;
    ret_outcome->is_whole = scan->scope.is_whole;
    if (scan->scope.is_whole) {
        scan->has_checked = true;
        scan->manifest_is_new = false;
    }
    rest(scan);
    return WEIR_OK;
}

static int64_t wait_for(const struct scan *scan, const struct dataset *dataset)
{
    int64_t patience_ms = scan->patience_ms - weir_now_ms();
    int64_t youth_ms = storage_scan_pair_youth_us(dataset, &scan->listed) / 1000;

    return (youth_ms < patience_ms ? youth_ms : patience_ms) + 1;
}

static int64_t until_asked_again_ms(const struct scan *scan)
{
    int64_t now_ms = weir_now_ms();

    return scan->asks_again_ms > now_ms ? scan->asks_again_ms - now_ms : 0;
}

static enum weir_status step_compare(struct dataset *dataset, const struct scan_tools *tools,
                                     struct scan_outcome *ret_outcome, struct weir_error *err)
{
    struct scan *scan = dataset->scan;
    int64_t until_ms = weir_now_ms() + STEP_MS;
    enum weir_status status = WEIR_OK;

    if (scan->job.is_open) {
        ret_outcome->is_waiting = storage_file_job_is_waiting(&scan->job);
        ret_outcome->wait_ms = until_asked_again_ms(scan);
        return ret_outcome->is_waiting || ret_outcome->wait_ms > 0 ? WEIR_OK
                                                                   : step_job(dataset, tools, err);
    }
    for (size_t i = 0; status == WEIR_OK; i++) {
        enum met met;

        if (storage_batch_is_full(scan->batch))
            return commit(dataset, tools, err);
        if (i % PATHS_PER_CHECK == PATHS_PER_CHECK - 1 && weir_now_ms() >= until_ms)
            return WEIR_OK;
        status = storage_scan_merge(dataset, tools, &met, err);
        if (status != WEIR_OK || met == MET_JOB)
            return status;
        if (met == MET_TOO_SOON) {
            ret_outcome->wait_ms = wait_for(scan, dataset);
            return WEIR_OK;
        }
        if (met == MET_END)
            return finish(dataset, tools, ret_outcome, err);
    }
    return status;
}

/* Ends the job as far as it came. What was to take the place of an older copy has ended that. */
static enum weir_status leave_job(struct dataset *dataset, struct weir_error *err)
{
    struct scan *scan = dataset->scan;
    struct file_job *job = &scan->job;
    enum weir_status status = storage_file_job_settle(job, err);

    if (!job->is_open)
        return status;
    scan->has_copied = scan->has_copied || job->has_blanked;
    storage_scan_again(dataset, job->file->path);
    if (!job->is_copied && job->file->indexed == 0)
        storage_scan_leave_copy(dataset, job->file->path);
    storage_file_job_end(job);
    return status;
}

/* Commits as far as a scan has come before files of its dataset could not be written. Returns IO and the text of that,
 * or why the commit failed, too. */
static enum weir_status keep_staged(struct dataset *dataset, const struct scan_tools *tools,
                                    struct weir_error *err)
{
    struct weir_error other;
    enum weir_status status = leave_job(dataset, &other);

    if (status == WEIR_OK && !storage_batch_is_empty(dataset->scan->batch))
        status = commit(dataset, tools, &other);
    return status == WEIR_OK || status == WEIR_IO
               ? WEIR_IO
               : weir_fail(err, status, "%s", (const char *)other.text);
}

enum weir_status storage_scan_step(struct dataset *dataset, const struct scan_tools *tools,
                                   struct scan_outcome *ret_outcome, struct weir_error *err)
{
    struct scan *scan = dataset->scan;
    enum weir_status status = WEIR_OK;

    *ret_outcome = (struct scan_outcome){0};
    if (!storage_scan_is_running(dataset))
        ret_outcome->is_done = true;
    else if (scan->phase == SCAN_BEGIN)
        status = begin(dataset, tools, err);
    else
        status = step_compare(dataset, tools, ret_outcome, err);
    if (status == WEIR_IO && !scan->is_undone)
        status = keep_staged(dataset, tools, err);
    if (status != WEIR_OK) {
        scan->has_failed = true;
        ret_outcome->is_undone = scan->is_undone || (scan->phase == SCAN_COMPARE &&
                                                     !storage_batch_is_empty(scan->batch));
        rest(scan);
    }
    return status;
}
