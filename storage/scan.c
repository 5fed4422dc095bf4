/* Scanning: see scan.h. */
#include "storage/scan.h"

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "storage/file_job.h"
#include "storage/listing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENTRIES_PER_STEP = 1000, STEP_MS = 8, PATHS_PER_CHECK = 16 };

enum phase { PHASE_IDLE, PHASE_LIST, PHASE_COMPARE };

struct scan {
    enum phase phase;
    struct listing *listing;
    size_t at_listed;
    struct stored_file **known; /* live files, bytewise by path */
    size_t known_count, at_known;

    struct manifest *manifest; /* as of manifest_mtime; kept from scan to scan */
    struct stat manifest_stat;
    bool manifest_is_new;

    struct batch *batch;
    struct file_job job;
    bool has_checked; /* that copies are where they were; once per start */
    bool has_copied;  /* since the last commit */
    bool must_look_again;
    char **leavings; /* copies to be unlinked once the batch is committed */
    size_t leaving_count;
};

static void forget_leavings(struct scan *scan)
{
    for (size_t i = 0; i < scan->leaving_count; i++)
        free(scan->leavings[i]);
    free(scan->leavings);
    scan->leavings = NULL;
    scan->leaving_count = 0;
}

/* Ends the pass; the manifest stays. */
static void rest(struct scan *scan)
{
    storage_file_job_end(&scan->job);
    storage_batch_free(scan->batch);
    storage_listing_free(scan->listing);
    free(scan->known);
    forget_leavings(scan);
    scan->batch = NULL;
    scan->listing = NULL;
    scan->known = NULL;
    scan->phase = PHASE_IDLE;
}

void storage_scan_free(struct scan *scan)
{
    if (!scan)
        return;
    rest(scan);
    manifest_free(scan->manifest);
    free(scan);
}

void storage_scan_start(struct dataset *dataset)
{
    struct scan *scan = dataset->scan;

    if (!scan)
        scan = dataset->scan = weir_calloc(1, sizeof *scan);
    if (scan->phase != PHASE_IDLE)
        return;
    scan->phase = PHASE_LIST;
    scan->listing = storage_listing_new(dataset);
    scan->batch = storage_batch_new(dataset);
    scan->at_listed = scan->at_known = 0;
    scan->must_look_again = scan->has_copied = false;
}

bool storage_scan_is_running(const struct dataset *dataset)
{
    return dataset->scan && dataset->scan->phase != PHASE_IDLE;
}

/* ---- commits ---- */

/* The commit of the batch said that these copies belong to no live file. */
static void unlink_leavings(struct scan *scan)
{
    for (size_t i = 0; i < scan->leaving_count; i++)
        unlink(scan->leavings[i]); /* what fails is swept at the next start */
    forget_leavings(scan);
}

static enum weir_status commit(struct dataset *dataset, const struct scan_tools *tools,
                               struct weir_error *err)
{
    struct scan *scan = dataset->scan;
    enum weir_status status = WEIR_OK;

    if (scan->has_copied)
        status = storage_copy_sync(dataset, err);
    if (status == WEIR_OK)
        status = storage_batch_commit(scan->batch, tools->db, tools->cache, err);
    if (status != WEIR_OK)
        return status == WEIR_NOT_FOUND || status == WEIR_INVALID
                   ? weir_fail(err, WEIR_INTERNAL, "%s", (const char *)err->text)
                   : status;
    scan->has_copied = false;
    unlink_leavings(scan);
    return WEIR_OK;
}

enum weir_status storage_scan_flush(struct dataset *dataset, const struct scan_tools *tools,
                                    struct weir_error *err)
{
    if (!storage_scan_is_running(dataset) || storage_batch_is_empty(dataset->scan->batch))
        return WEIR_OK;
    return commit(dataset, tools, err);
}

/* ---- from listing to comparing ---- */

static void on_manifest_refusal(void *owner, const struct format_refusal *refusal)
{
    struct dataset *dataset = owner;
    const char *name = dataset->declaration->source.manifest;
    WEIR_AUTO_FREE char *place = weir_format("%s:%llu", name, (unsigned long long)refusal->record);

    storage_batch_refuse(dataset->scan->batch,
                         &(struct batch_refusal){
                             .path = name, .place = place, .reason = refusal->reason, .count = 1});
}

static enum weir_status load_manifest(struct dataset *dataset, struct weir_error *err)
{
    struct scan *scan = dataset->scan;
    const char *name = dataset->declaration->source.manifest;
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", dataset->root, name);
    const struct format_sink sink = {.owner = dataset, .refuse = on_manifest_refusal};
    WEIR_AUTO_BUF text = {0};
    struct stat found;
    enum weir_status status;

    if (stat(path, &found) < 0)
        return weir_fail(err, WEIR_NOT_FOUND, "%s: %s, expected the manifest there", path,
                         strerror(errno));
    scan->manifest_is_new = !scan->manifest || found.st_size != scan->manifest_stat.st_size ||
                            found.st_mtim.tv_sec != scan->manifest_stat.st_mtim.tv_sec ||
                            found.st_mtim.tv_nsec != scan->manifest_stat.st_mtim.tv_nsec;
    if (!scan->manifest_is_new)
        return WEIR_OK;
    status = weir_file_read(path, MANIFEST_BYTES_MAX, &text, err);
    if (status != WEIR_OK)
        return weir_error_wrap(err, WEIR_NOT_FOUND, "manifest");
    manifest_free(scan->manifest);
    scan->manifest = NULL;
    scan->manifest_stat = found;
    if (dataset->accounts.quarantined > 0)
        storage_batch_withdraw(scan->batch, name, true);
    status = manifest_read(name, weir_buf_view(&text), &dataset->declaration->fields, &sink,
                           &scan->manifest, err);
    return status == WEIR_OK ? status : weir_error_wrap(err, WEIR_INVALID, "%s", dataset->root);
}

static int by_path(const void *a, const void *b)
{
    const struct stored_file *const *x = a, *const *y = b;

    return strcmp((*x)->path, (*y)->path);
}

static void collect_known(struct dataset *dataset)
{
    struct scan *scan = dataset->scan;
    size_t capacity = 0;

    for (size_t g = 0; g < dataset->group_count; g++)
        capacity += dataset->groups[g]->count;
    scan->known = weir_calloc(capacity + 1, sizeof(struct stored_file *));
    scan->known_count = 0;
    for (size_t g = 0; g < dataset->group_count; g++) {
        for (size_t i = 0; i < dataset->groups[g]->count; i++) {
            struct stored_file *file = &dataset->groups[g]->files[i];

            if (file->state == FILE_LIVE && file->path)
                scan->known[scan->known_count++] = file;
        }
    }
    qsort(scan->known, scan->known_count, sizeof(struct stored_file *), by_path);
}

struct folder_watcher {
    struct watch *watch;
    uint32_t dataset;
};

static void on_folder(void *owner, const char *absolute)
{
    const struct folder_watcher *watcher = owner;

    storage_watch_folder(watcher->watch, watcher->dataset, absolute);
}

static enum weir_status step_list(struct dataset *dataset, const struct scan_tools *tools,
                                  struct weir_error *err)
{
    struct scan *scan = dataset->scan;
    struct folder_watcher watcher = {.watch = tools->watch, .dataset = dataset->number};
    bool is_listed;
    enum weir_status status =
        storage_listing_step(scan->listing, ENTRIES_PER_STEP, on_folder, &watcher, &is_listed, err);

    if (status != WEIR_OK || !is_listed)
        return status;
    if (dataset->declaration->wants_manifest)
        status = load_manifest(dataset, err);
    if (status != WEIR_OK)
        return status;
    collect_known(dataset);
    scan->phase = PHASE_COMPARE;
    return WEIR_OK;
}

/* ---- one path ---- */

static struct intake intake_for(struct dataset *dataset, const struct scan_tools *tools,
                                const struct stat *found)
{
    return (struct intake){
        .dataset = dataset,
        .batch = dataset->scan->batch,
        .secret = tools->secret,
        .erased = tools->erased,
        .mtime_us = (int64_t)found->st_mtim.tv_sec * 1000000 + found->st_mtim.tv_nsec / 1000,
    };
}

static void describe(struct stored_file *file, const struct stat *source, const struct stat *served)
{
    file->size = (uint64_t)source->st_size;
    file->mtime_ns = (int64_t)source->st_mtim.tv_sec * 1000000000 + source->st_mtim.tv_nsec;
    file->device = served->st_dev;
    file->inode = served->st_ino;
    file->source_inode = source->st_ino;
    file->is_complete = true;
}

static enum weir_status copy_whole(struct dataset *dataset, const struct listed_file *listed,
                                   struct stat *ret_served, struct weir_error *err)
{
    struct copying copying;
    enum weir_status status =
        storage_copy_begin(dataset, listed->path, &listed->stat, 0, &copying, err);

    if (status != WEIR_OK)
        return status;
    status = storage_copy_step(&copying, copying.size, err);
    if (status == WEIR_OK)
        status = storage_copy_end(dataset, listed->path, &listed->stat, &copying, ret_served, err);
    storage_copy_abort(&copying);
    dataset->scan->has_copied = true;
    return status;
}

/* A one-sample file: what the manifest says of it, then its bytes. The format may refuse it, and it may
 * be kept out; then no copy of it is left. */
static enum weir_status take_one_sample(struct dataset *dataset, const struct scan_tools *tools,
                                        const struct listed_file *listed, uint64_t layout,
                                        struct weir_error *err)
{
    struct scan *scan = dataset->scan;
    const struct declaration *d = dataset->declaration;
    struct intake intake = intake_for(dataset, tools, &listed->stat);
    const struct format_sink sink = storage_intake_sink(&intake);
    struct format_input input = {.size = (uint64_t)listed->stat.st_size, .is_last = true};
    struct format_progress progress;
    struct stat served = listed->stat;
    bool is_usable = listed->stat.st_size > 0 && listed->stat.st_size <= FORMAT_RECORD_MAX;
    enum weir_status status = WEIR_OK;

    intake.row = scan->manifest ? manifest_find(scan->manifest, listed->path) : NULL;
    if (d->is_copied && is_usable)
        status = copy_whole(dataset, listed, &served, err);
    if (status == WEIR_STALE) {
        scan->must_look_again = true;
        return WEIR_OK;
    }
    if (status != WEIR_OK)
        return status;
    intake.file = storage_batch_file(scan->batch, listed->path);
    intake.file->layout = layout;
    describe(intake.file, &listed->stat, &served);
    intake.file->is_unlisted = d->wants_manifest && !intake.row;
    if (intake.file->is_unlisted)
        storage_intake_refuse_file(&intake, "found no row in the manifest, expected one");
    else if (d->format->index(&input, d->options, &d->fields, &sink, &progress, err) != WEIR_OK)
        storage_intake_refuse_file(&intake, err->text);
    if (intake.kept_out_count > 0) {
        WEIR_AUTO_FREE char *copy = storage_dataset_path(dataset, intake.file);

        if (d->is_copied)
            unlink(copy);
        free(intake.file->path);
        intake.file->path = NULL;
        intake.file->state = FILE_ERASED;
    }
    storage_intake_fini(&intake);
    return WEIR_OK;
}

static bool is_kept_out(struct dataset *dataset, const struct scan_tools *tools, const char *path)
{
    struct blocked_hash *blocked;

    if (!dataset->declaration->format->is_one_sample || dataset->blocked_count == 0)
        return false;
    blocked = storage_dataset_blocked(dataset,
                                      storage_hash(tools->secret, HASH_PATH, weir_bytes_of(path)));
    if (blocked)
        storage_batch_block(dataset->scan->batch, blocked);
    return blocked != NULL;
}

/* Files of many samples go through a job; `file` is a stored one to be continued, or NULL. */
static enum weir_status take_in(struct dataset *dataset, const struct scan_tools *tools,
                                const struct listed_file *listed, struct stored_file *file,
                                uint64_t layout, struct weir_error *err)
{
    struct scan *scan = dataset->scan;

    if (dataset->declaration->format->is_one_sample)
        return take_one_sample(dataset, tools, listed, layout, err);
    if (!file) {
        file = storage_batch_file(scan->batch, listed->path);
        file->layout = layout;
    } else {
        storage_batch_touch(scan->batch, file);
        storage_batch_withdraw(scan->batch, file->path, false);
        file->is_complete = false;
    }
    scan->job = (struct file_job){.intake = intake_for(dataset, tools, &listed->stat)};
    storage_file_job_begin(&scan->job, file, &listed->stat);
    return WEIR_OK;
}

static bool is_young(const struct dataset *dataset, const struct stat *found)
{
    int64_t changed_us = (int64_t)found->st_ctim.tv_sec * 1000000 + found->st_ctim.tv_nsec / 1000;

    return dataset->is_scanned &&
           weir_now_wall_us() - changed_us < dataset->declaration->source.settle;
}

static bool is_same(const struct dataset *dataset, const struct stored_file *file,
                    const struct stat *found)
{
    return file->size == (uint64_t)found->st_size &&
           file->mtime_ns == (int64_t)found->st_mtim.tv_sec * 1000000000 + found->st_mtim.tv_nsec &&
           (dataset->declaration->is_copied || file->source_inode == found->st_ino);
}

static void leave_copy(struct dataset *dataset, const struct stored_file *file)
{
    struct scan *scan = dataset->scan;

    if (!dataset->declaration->is_copied)
        return;
    scan->leavings = weir_realloc(scan->leavings, scan->leaving_count + 1, sizeof(char *));
    scan->leavings[scan->leaving_count++] = storage_dataset_path(dataset, file);
}

/* Device and inode numbers change when a machine or a backup is restored; size and mtime do not. Once
 * per start, what readers will compare is brought up to date. */
static void check_served(struct dataset *dataset, const struct listed_file *listed,
                         struct stored_file *file)
{
    struct stat served = listed->stat;

    if (dataset->declaration->is_copied) {
        WEIR_AUTO_FREE char *path = storage_dataset_path(dataset, file);

        if (lstat(path, &served) < 0 || served.st_size != listed->stat.st_size ||
            served.st_mtim.tv_sec != listed->stat.st_mtim.tv_sec ||
            served.st_mtim.tv_nsec != listed->stat.st_mtim.tv_nsec)
            return;
    }
    if (file->device == served.st_dev && file->inode == served.st_ino)
        return;
    file->device = served.st_dev;
    file->inode = served.st_ino;
    storage_batch_touch(dataset->scan->batch, file);
}

/* Touched, unpacked again, or moved by a tool that sets no times: still the same sample. */
static bool is_only_touched(struct dataset *dataset, const struct listed_file *listed,
                            struct stored_file *file)
{
    struct stat copy;

    if (!dataset->declaration->is_copied || !dataset->declaration->format->is_one_sample ||
        file->size != (uint64_t)listed->stat.st_size || file->samples == 0 ||
        !storage_copy_adopt(dataset, file->path, &listed->stat, &copy))
        return false;
    describe(file, &listed->stat, &copy);
    storage_batch_touch(dataset->scan->batch, file);
    return true;
}

static enum weir_status meet_known(struct dataset *dataset, const struct scan_tools *tools,
                                   const struct listed_file *listed, struct stored_file *file,
                                   struct weir_error *err)
{
    struct scan *scan = dataset->scan;
    bool is_asked_again = file->is_unlisted && scan->manifest_is_new;

    if (is_same(dataset, file, &listed->stat) && !is_asked_again) {
        if (!file->is_complete)
            return take_in(dataset, tools, listed, file, file->layout, err);
        if (!scan->has_checked)
            check_served(dataset, listed, file);
        return WEIR_OK;
    }
    if (is_young(dataset, &listed->stat)) {
        scan->must_look_again = true;
        return WEIR_OK;
    }
    if (!is_asked_again && is_only_touched(dataset, listed, file))
        return WEIR_OK;
    if (!dataset->declaration->format->is_one_sample &&
        (uint64_t)listed->stat.st_size > file->indexed &&
        (uint64_t)listed->stat.st_size >= file->size &&
        (dataset->declaration->is_copied || file->source_inode == listed->stat.st_ino) &&
        storage_file_has_grown(dataset, tools->secret, file))
        return take_in(dataset, tools, listed, file, file->layout, err);
    storage_batch_withdraw(scan->batch, file->path, true);
    storage_batch_kill(scan->batch, file, WEIR_CHANGE_REPLACED);
    return take_in(dataset, tools, listed, NULL, file->layout + 1, err);
}

static void meet_gone(struct dataset *dataset, struct stored_file *file)
{
    struct scan *scan = dataset->scan;

    leave_copy(dataset, file);
    storage_batch_withdraw(scan->batch, file->path, true);
    storage_batch_kill(scan->batch, file, WEIR_CHANGE_REMOVED);
}

/* The next path of either list; false when both are at their end. */
static bool meet_next(struct dataset *dataset, const struct scan_tools *tools,
                      enum weir_status *ret_status, struct weir_error *err)
{
    struct scan *scan = dataset->scan;
    size_t count;
    const struct listed_file *files = storage_listing_files(scan->listing, &count);
    const struct listed_file *listed = scan->at_listed < count ? &files[scan->at_listed] : NULL;
    struct stored_file *known =
        scan->at_known < scan->known_count ? scan->known[scan->at_known] : NULL;
    int order;

    *ret_status = WEIR_OK;
    /* An erasure may have taken a file while the scan was under way. */
    if (known && (known->state != FILE_LIVE || !known->path)) {
        scan->at_known++;
        return true;
    }
    if (!listed && !known)
        return false;
    order = !listed ? 1 : !known ? -1 : strcmp(listed->path, known->path);
    scan->at_listed += order <= 0;
    scan->at_known += order >= 0;
    if (order > 0)
        meet_gone(dataset, known);
    else if (order == 0)
        *ret_status = meet_known(dataset, tools, listed, known, err);
    else if (is_kept_out(dataset, tools, listed->path))
        return true;
    else if (is_young(dataset, &listed->stat))
        scan->must_look_again = true;
    else
        *ret_status = take_in(dataset, tools, listed, NULL, 1, err);
    return true;
}

/* ---- pieces ---- */

static enum weir_status step_job(struct dataset *dataset, const struct scan_tools *tools,
                                 struct weir_error *err)
{
    struct scan *scan = dataset->scan;
    bool is_done;
    enum weir_status status = storage_file_job_step(&scan->job, &is_done, err);

    scan->has_copied = scan->has_copied || dataset->declaration->is_copied;
    if (status == WEIR_STALE) { /* as far as it came; the next scan goes on */
        scan->must_look_again = true;
        is_done = true;
        status = WEIR_OK;
    }
    if (status == WEIR_OK && is_done)
        storage_file_job_end(&scan->job);
    if (status == WEIR_OK && storage_batch_is_full(scan->batch))
        status = commit(dataset, tools, err);
    if (status == WEIR_OK && scan->job.is_open) /* its next rows go into the next batch */
        storage_batch_touch(scan->batch, scan->job.file);
    return status;
}

static enum weir_status finish(struct dataset *dataset, const struct scan_tools *tools,
                               struct scan_outcome *ret_outcome, struct weir_error *err)
{
    struct scan *scan = dataset->scan;
    bool is_first = !dataset->is_scanned;
    enum weir_status status = WEIR_OK;

    dataset->is_scanned = true; /* what changed meanwhile is the next scan's */
    if (is_first || !storage_batch_is_empty(scan->batch))
        status = commit(dataset, tools, err);
    if (status != WEIR_OK)
        return status;
    ret_outcome->is_done = true;
    ret_outcome->must_look_again = scan->must_look_again;
    scan->has_checked = true;
    rest(scan);
    return WEIR_OK;
}

static enum weir_status step_compare(struct dataset *dataset, const struct scan_tools *tools,
                                     struct scan_outcome *ret_outcome, struct weir_error *err)
{
    struct scan *scan = dataset->scan;
    int64_t until_ms = weir_now_ms() + STEP_MS;
    enum weir_status status = WEIR_OK;

    if (scan->job.is_open)
        return step_job(dataset, tools, err);
    for (size_t i = 0; status == WEIR_OK; i++) {
        if (storage_batch_is_full(scan->batch))
            return commit(dataset, tools, err);
        if (i % PATHS_PER_CHECK == PATHS_PER_CHECK - 1 && weir_now_ms() >= until_ms)
            return WEIR_OK;
        if (!meet_next(dataset, tools, &status, err))
            return finish(dataset, tools, ret_outcome, err);
        if (scan->job.is_open)
            return status;
    }
    return status;
}

enum weir_status storage_scan_step(struct dataset *dataset, const struct scan_tools *tools,
                                   struct scan_outcome *ret_outcome, struct weir_error *err)
{
    struct scan *scan = dataset->scan;
    enum weir_status status = WEIR_OK;

    *ret_outcome = (struct scan_outcome){0};
    if (!storage_scan_is_running(dataset))
        ret_outcome->is_done = true;
    else if (scan->phase == PHASE_LIST)
        status = step_list(dataset, tools, err);
    else
        status = step_compare(dataset, tools, ret_outcome, err);
    if (status != WEIR_OK)
        rest(scan);
    return status;
}
