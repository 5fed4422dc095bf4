/* Meeting one path: see scan_state.h. */
#include "storage/files/owned.h"
#include "storage/files/prefix.h"
#include "storage/scanning/scan_state.h"

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "storage/files/extent.h"
#include "storage/files/scrub_intent.h"
#include "storage/files/source.h"
#include "storage/scanning/said.h"
#include "storage/scanning/scrubbed.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { APPENDED_SETTLES = 10 }; /* so many times what others wait */

/* ---- whether to look now ---- */

void storage_scan_again(struct dataset *dataset, const char *path)
{
    storage_scope_add(&dataset->dirty, path);
}

/* A file from a clock that is ahead of ours counts as written. Times of files move in ticks: what is written twice in
 * one has the time of the first, and must not be looked at between. */
int64_t storage_youth_us(int64_t settle_us, int64_t changed_us, int64_t now_us)
{
    int64_t age_us = now_us - changed_us;

    if (settle_us < SCAN_TICK_US)
        settle_us = SCAN_TICK_US;
    return age_us >= 0 && age_us < settle_us ? settle_us - age_us : 0;
}

/* By ctime, which nobody sets back. */
int64_t storage_scan_youth_us(const struct dataset *dataset, const struct stat *found)
{
    int64_t changed_us = (int64_t)found->st_ctim.tv_sec * 1000000 + found->st_ctim.tv_nsec / 1000;

    return storage_youth_us(dataset->declaration->source.settle, changed_us, weir_now_wall_us());
}

enum age { OLD, YOUNG, APPENDED };

/* A young file comes round again. One that is appended to all the time is not left to wait for ever. */
static enum age age_of(struct dataset *dataset, const struct listed *listed)
{
    const struct declaration *d = dataset->declaration;
    int64_t patience_us = d->source.settle > SCAN_TICK_US ? d->source.settle : SCAN_TICK_US;

    if (storage_scan_youth_us(dataset, &listed->stat) == 0) {
        storage_appended_forget(&dataset->scan->appended, listed->path);
        return OLD;
    }
    storage_scan_again(dataset, listed->path);
    return d->format->ends_with_newline && !storage_is_compressed(dataset, listed->path) &&
                   storage_appended_is_ripe(&dataset->scan->appended, listed->path, &listed->stat,
                                            weir_now_ms(), APPENDED_SETTLES * patience_us / 1000)
               ? APPENDED
               : YOUNG;
}

/* 0 once the file beside it was left alone long enough, or where there is none. */
static int64_t sidecar_youth_us(const struct dataset *dataset, const char *path)
{
    struct stat sidecar;

    return dataset->declaration->wants_sidecar &&
                   storage_sidecar_identity(dataset, path, &sidecar) != SIDECAR_NONE
               ? storage_scan_youth_us(dataset, &sidecar)
               : 0;
}

int64_t storage_scan_pair_youth_us(const struct dataset *dataset, const struct listed *listed)
{
    int64_t file_us = storage_scan_youth_us(dataset, &listed->stat);
    int64_t sidecar_us = sidecar_youth_us(dataset, listed->path);

    return file_us > sidecar_us ? file_us : sidecar_us;
}

/* A file that can be read, that still is what was listed, and whose copy has a place. */
static bool is_ready(struct dataset *dataset, const struct listed *listed)
{
    struct weir_error err;
    int fd = -1;
    enum weir_status status = storage_source_open(dataset, listed->path, &listed->stat, &fd, &err);

    if (fd >= 0)
        close(fd);
    if (status == WEIR_DENIED) {
        storage_complaints_put(&dataset->complaints, listed->path, err.text);
        return false;
    }
    if (status == WEIR_OK && sidecar_youth_us(dataset, listed->path) == 0 &&
        (!dataset->declaration->is_copied || !storage_copy_is_blocked(dataset, listed->path)))
        return true;
    storage_scan_again(dataset, listed->path);
    return false;
}

/* ---- taking in ---- */

static struct intake intake_for(struct dataset *dataset, const struct scan_tools *tools,
                                const struct stat *found)
{
    return (struct intake){
        .dataset = dataset,
        .batch = dataset->scan->batch,
        .secret = &tools->store->secret,
        .erased = &tools->store->erased,
        .mtime_us = weir_mtime_us(found),
        .ctime_ns = weir_ctime_ns(found),
    };
}

static void describe(struct stored_file *file, const struct stat *source, const struct stat *served)
{
    file->size = (uint64_t)source->st_size;
    file->mtime_ns = weir_mtime_ns(source);
    file->device = served->st_dev;
    file->inode = served->st_ino;
    file->source_inode = source->st_ino;
    file->is_complete = true;
}

static enum weir_status copy_whole(struct dataset *dataset, const struct listed *listed,
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

/* Leaves no copy of a file that is no sample, and nothing of one that was erased before: no mirror, no name. */
static void drop_sample(const struct dataset *dataset, const struct intake *intake)
{
    WEIR_AUTO_FREE char *own = storage_dataset_path(dataset, intake->file);

    if (dataset->declaration->is_copied || (intake->is_kept_out && storage_mirrors(dataset)))
        unlink(own);
    if (!intake->is_kept_out)
        return;
    free(intake->file->path);
    intake->file->path = NULL;
    intake->file->state = FILE_ERASED;
}

static void note_sample(struct dataset *dataset, const struct listed *listed, struct intake *intake,
                        const struct said *said)
{
    const struct declaration *d = dataset->declaration;
    const struct format_sink sink = storage_intake_sink(intake);
    struct format_input input = {.size = (uint64_t)listed->stat.st_size, .is_last = true};
    struct format_progress progress;
    struct weir_error err;

    intake->row = said->row;
    intake->file->is_unlisted = said->complaint != NULL;
    intake->file->prefix_hash =
        d->wants_manifest ? storage_scan_row_hash(intake->secret, said->row) : said->hash;
    if (said->complaint != NULL)
        storage_intake_refuse_file(intake, said->complaint);
    else if (d->format->index(&input, d->options, &d->fields, &sink, &progress, &err) != WEIR_OK)
        storage_intake_refuse_file(intake, err.text);
    if (intake->file->samples == 0)
        drop_sample(dataset, intake);
}

void storage_scan_leave_copy(struct dataset *dataset, const char *path)
{
    struct scan *scan = dataset->scan;

    if (!dataset->declaration->is_copied)
        return;
    scan->leavings = weir_realloc(scan->leavings, scan->leaving_count + 1, sizeof(char *));
    scan->leavings[scan->leaving_count++] = weir_strdup(path);
}

/* Reads its content, if that may have been erased before. STALE when it changes meanwhile. */
static enum weir_status read_content(const struct dataset *dataset, const struct listed *listed,
                                     struct weir_buf *content, struct weir_error *err)
{
    const struct format_range all = {.length = (uint64_t)listed->stat.st_size};
    WEIR_AUTO_FD int fd = -1;
    enum weir_status status;

    if (dataset->blocked_count == 0 || dataset->declaration->is_remote)
        return WEIR_OK;
    status = storage_source_open(dataset, listed->path, &listed->stat, &fd, err);
    return status == WEIR_OK ? storage_range_read(fd, all, content, err) : status;
}

/* A file that cannot be taken in comes round again; the one that it was to replace has ended. */
static enum weir_status leave_sample(struct dataset *dataset, const struct listed *listed,
                                     enum weir_status status, const struct weir_error *err)
{
    storage_scan_leave_copy(dataset, listed->path);
    if (status == WEIR_DENIED) /* with the next scan of everything */
        storage_complaints_put(&dataset->complaints, listed->path, err->text);
    else
        storage_scan_again(dataset, listed->path);
    return status == WEIR_STALE || status == WEIR_DENIED ? WEIR_OK : status;
}

/* A one-sample file: what is said of it, then its bytes. The format may refuse it, and it may be kept out;
 * then no copy of it is left. */
static enum weir_status take_one_sample(struct dataset *dataset, const struct scan_tools *tools,
                                        const struct listed *listed, uint64_t layout,
                                        struct weir_error *err)
{
    struct intake intake = intake_for(dataset, tools, &listed->stat);
    struct stat served = listed->stat;
    bool is_usable = listed->stat.st_size > 0 && listed->stat.st_size <= FORMAT_RECORD_MAX;
    struct said said = {0};
    WEIR_AUTO_BUF content = {0};
    enum weir_status status = storage_scan_hold_manifest(dataset, err);

    if (status == WEIR_OK && dataset->declaration->is_copied && is_usable)
        status = copy_whole(dataset, listed, &served, err);
    if (status == WEIR_OK && is_usable)
        status = read_content(dataset, listed, &content, err);
    intake.content = weir_buf_view(&content);
    if (status != WEIR_OK)
        return leave_sample(dataset, listed, status, err);
    storage_said_of(dataset, dataset->scan->manifest, listed->path, &said);
    intake.file = storage_batch_file(dataset->scan->batch, listed->path);
    intake.file->layout = layout;
    describe(intake.file, &listed->stat, &served);
    note_sample(dataset, listed, &intake, &said);
    storage_said_fini(&said);
    storage_intake_fini(&intake);
    return WEIR_OK;
}

/* An erased file that has not changed since it was erased, or was last kept out. An older Weir, and a bucket whose
 * bytes are not here, know it by its name alone. */
static bool is_kept_out(struct dataset *dataset, const struct scan_tools *tools,
                        const struct listed *listed)
{
    const struct stored_file found = {.size = (uint64_t)listed->stat.st_size,
                                      .mtime_ns = weir_mtime_ns(&listed->stat),
                                      .source_inode = listed->stat.st_ino};
    uint64_t hash;

    if (dataset->blocked_count == 0)
        return false;
    hash = storage_guard_file(&tools->store->secret, &found, listed->path,
                              weir_ctime_ns(&listed->stat));
    if (storage_dataset_blocked(dataset, hash) == NULL && !dataset->accepts_returns &&
        dataset->declaration->format->is_one_sample)
        hash = storage_hash(&tools->store->secret, HASH_PATH, weir_bytes_of(listed->path));
    if (storage_dataset_blocked(dataset, hash) == NULL)
        return false;
    storage_batch_block(dataset->scan->batch, hash);
    return true;
}

/* Files of many samples go through a job; `file` is a stored one to be continued, or NULL. */
static enum weir_status take_in(struct dataset *dataset, const struct scan_tools *tools,
                                const struct listed *listed, struct stored_file *file,
                                uint64_t layout, struct weir_error *err)
{
    struct scan *scan = dataset->scan;
    bool is_new = file == NULL;

    if (dataset->declaration->format->is_one_sample)
        return take_one_sample(dataset, tools, listed, layout, err);
    if (file == NULL) {
        file = storage_batch_file(scan->batch, listed->path);
        file->layout = layout;
    } else {
        storage_batch_touch(scan->batch, file);
        storage_batch_withdraw(scan->batch, file->path, file->indexed == 0);
        file->is_complete = false;
    }
    scan->job = (struct file_job){.intake = intake_for(dataset, tools, &listed->stat),
                                  .ranges = tools->from->objects,
                                  .is_new = is_new,
                                  .is_appended = scan->is_appended};
    storage_file_job_begin(&scan->job, file, &listed->stat);
    return WEIR_OK;
}

/* ---- meeting ---- */

static bool is_same(const struct dataset *dataset, const struct stored_file *file,
                    const struct stat *found)
{
    return (file->size == (uint64_t)found->st_size || storage_is_expanded(dataset, file->path)) &&
           file->mtime_ns == weir_mtime_ns(found) &&
           file->source_inode == storage_source_identity(dataset, file->path, found);
}

/* Device and inode numbers change when a machine or a backup is restored; size and mtime do not.
 * Once per start, what readers will compare is brought up to date. False when the copy is another
 * one: made of what the source was for a moment, by a process that died before it said so, or not
 * there. */
static bool check_served(struct dataset *dataset, const struct listed *listed,
                         struct stored_file *file)
{
    struct stat served = listed->stat;

    if (dataset->declaration->is_copied) {
        WEIR_AUTO_FREE char *path = storage_dataset_path(dataset, file);

        if (lstat(path, &served) < 0 || (uint64_t)served.st_size != file->size ||
            served.st_mtim.tv_sec != listed->stat.st_mtim.tv_sec ||
            served.st_mtim.tv_nsec != listed->stat.st_mtim.tv_nsec)
            return false;
    }
    if (file->device == served.st_dev && file->inode == served.st_ino)
        return true;
    file->device = served.st_dev;
    file->inode = served.st_ino;
    storage_dataset_bump_edition(dataset);
    storage_batch_touch(dataset->scan->batch, file);
    return true;
}

/* Compares a file of many samples with the known one by its ends. */
static bool has_the_same_ends(const struct dataset *dataset, const struct scan_tools *tools,
                              const struct listed *listed, const struct stored_file *file)
{
    if (!storage_is_expanded(dataset, file->path))
        return file->size == (uint64_t)listed->stat.st_size &&
               storage_file_has_grown(dataset, &tools->store->secret, file);
    return file->prefix_hash == storage_source_hash(dataset, &tools->store->secret, file->path,
                                                    (uint64_t)listed->stat.st_size);
}

/* Keeps a file that was only touched, unpacked again, or moved by a tool that sets no times. Returns false for another
 * one. Of a file of many samples the ends are compared, and only while its time is the same. */
static bool keep_touched(struct dataset *dataset, const struct scan_tools *tools,
                         const struct listed *listed, struct stored_file *file)
{
    const struct declaration *d = dataset->declaration;
    int64_t mtime_ns = weir_mtime_ns(&listed->stat);
    struct stat copy;

    if (!d->is_copied)
        return false;
    if (!d->format->is_one_sample) {
        if (file->mtime_ns != mtime_ns || !has_the_same_ends(dataset, tools, listed, file))
            return false;
        file->source_inode = storage_source_identity(dataset, file->path, &listed->stat);
    } else {
        if (file->size != (uint64_t)listed->stat.st_size || file->samples == 0 ||
            !storage_copy_adopt(dataset, file, &listed->stat, &copy))
            return false;
        describe(file, &listed->stat, &copy);
    }
    storage_batch_touch(dataset->scan->batch, file);
    return true;
}

static bool has_grown(const struct dataset *dataset, const struct scan_tools *tools,
                      const struct listed *listed, const struct stored_file *file)
{
    return !dataset->declaration->format->is_one_sample &&
           !storage_is_expanded(dataset, file->path) &&
           (uint64_t)listed->stat.st_size > file->indexed &&
           (uint64_t)listed->stat.st_size >= file->size &&
           (dataset->declaration->is_copied || file->source_inode == listed->stat.st_ino) &&
           storage_file_has_grown(dataset, &tools->store->secret, file);
}

/* Returns true when something else is said of the file than when it was taken in; it hashes to `now`. A store from
 * before this was noticed learns it now. */
static bool is_said_again(struct dataset *dataset, struct stored_file *file, uint64_t now,
                          bool is_missing)
{
    if (file->prefix_hash == now)
        return false;
    if (file->prefix_hash != 0 || file->is_unlisted != is_missing)
        return true;
    file->prefix_hash = now;
    storage_batch_touch(dataset->scan->batch, file);
    return false;
}

static bool is_erased(const struct dataset *dataset, const struct stored_file *file)
{
    return file->samples > 0 &&
           storage_dataset_is_erased(dataset, weir_sample_block(file->first_id),
                                     weir_sample_row(file->first_id));
}

/* Not of a file that is being erased, whose sidecar goes first. */
static bool has_other_sidecar(struct dataset *dataset, struct stored_file *file,
                              const struct manifest_row **ret_row)
{
    static const struct manifest_row SOME;
    struct stat sidecar;
    uint64_t now = storage_sidecar_identity(dataset, file->path, &sidecar);

    *ret_row = now == SIDECAR_NONE ? NULL : &SOME;
    return !is_erased(dataset, file) && is_said_again(dataset, file, now, now == SIDECAR_NONE);
}

static bool has_other_row(struct dataset *dataset, const struct scan_tools *tools,
                          struct stored_file *file, const struct manifest_row **ret_row)
{
    struct scan *scan = dataset->scan;

    if (dataset->declaration->wants_sidecar)
        return has_other_sidecar(dataset, file, ret_row);
    if (scan->manifest == NULL || !scan->manifest_is_new)
        return false;
    *ret_row = storage_manifest_find(scan->manifest, file->path);
    return is_said_again(dataset, file, storage_scan_row_hash(&tools->store->secret, *ret_row),
                         *ret_row == NULL);
}

/* The old samples stop, new ones begin. */
static enum weir_status replace(struct dataset *dataset, const struct scan_tools *tools,
                                const struct listed *listed, struct stored_file *file,
                                enum weir_change_kind kind, struct weir_error *err)
{
    uint64_t layout = file->layout + 1;

    storage_batch_withdraw(dataset->scan->batch, file->path, true);
    storage_batch_kill(dataset->scan->batch, file, kind);
    return take_in(dataset, tools, listed, NULL, layout, err);
}

/* The source is still what was taken in: its copy is made again, and the sample stays who it was. */
static enum weir_status copy_again(struct dataset *dataset, const struct listed *listed,
                                   struct stored_file *file, struct weir_error *err)
{
    struct stat served;
    enum weir_status status = copy_whole(dataset, listed, &served, err);

    if (status == WEIR_OK) {
        describe(file, &listed->stat, &served);
        storage_batch_touch(dataset->scan->batch, file);
    } else if (status == WEIR_STALE || status == WEIR_DENIED) {
        storage_scan_again(dataset, listed->path);
        status = WEIR_OK;
    }
    return status;
}

/* Once it was scrubbed: whether what was erased stands in it again. Indistinguishable from what is about to be
 * overwritten, which a later scan looks at. */
static enum weir_status look_again(struct dataset *dataset, const struct scan_tools *tools,
                                   const struct listed *listed, struct stored_file *file,
                                   enum scrubbed *ret_scrubbed, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    *ret_scrubbed = SCRUBBED_STILL;
    if (tools->is_erasing || !storage_scrubbed_is_changed(file, &listed->stat))
        return WEIR_OK;
    status = storage_scrubbed_look(dataset, tools, file, &listed->stat, ret_scrubbed, err);
    if (status == WEIR_OK && *ret_scrubbed == SCRUBBED_STILL) {
        file->scrubbed_ns = weir_ctime_ns(&listed->stat);
        storage_batch_touch(dataset->scan->batch, file);
    }
    if (status != WEIR_STALE)
        return status;
    storage_scan_again(dataset, listed->path);
    return WEIR_OK;
}

/* Meets a scrubbed file of the same size and time as before. */
static enum weir_status merge_scrubbed(struct dataset *dataset, const struct scan_tools *tools,
                                       const struct listed *listed, struct stored_file *file,
                                       struct weir_error *err)
{
    enum scrubbed scrubbed;
    enum weir_status status;

    if (age_of(dataset, listed) == YOUNG || !is_ready(dataset, listed))
        return WEIR_OK;
    status = look_again(dataset, tools, listed, file, &scrubbed, err);
    return status == WEIR_OK && scrubbed != SCRUBBED_STILL
               ? replace(dataset, tools, listed, file, WEIR_CHANGE_REPLACED, err)
               : status;
}

static enum weir_status merge_same(struct dataset *dataset, const struct scan_tools *tools,
                                   const struct listed *listed, struct stored_file *file,
                                   struct weir_error *err)
{
    struct scan *scan = dataset->scan;

    if (!file->is_complete && age_of(dataset, listed) == OLD && is_ready(dataset, listed)) {
        scan->is_appended = false; /* whatever the file before it was: its end is no longer left */
        return take_in(dataset, tools, listed, file, file->layout, err);
    }
    if (!scan->has_checked && scan->scope.is_whole && !check_served(dataset, listed, file) &&
        dataset->declaration->format->is_one_sample && file->samples > 0 &&
        !is_erased(dataset, file) && is_ready(dataset, listed))
        return copy_again(dataset, listed, file, err);
    return storage_scrubbed_is_changed(file, &listed->stat)
               ? merge_scrubbed(dataset, tools, listed, file, err)
               : WEIR_OK;
}

static enum weir_status merge_both(struct dataset *dataset, const struct scan_tools *tools,
                                   const struct listed *listed, struct stored_file *file,
                                   struct weir_error *err)
{
    const struct manifest_row *row = NULL;
    enum age age;
    bool has_changed_row = has_other_row(dataset, tools, file, &row);
    enum weir_change_kind kind =
        has_changed_row && row == NULL ? WEIR_CHANGE_REMOVED : WEIR_CHANGE_REPLACED;

    if (is_same(dataset, file, &listed->stat) && !has_changed_row)
        return merge_same(dataset, tools, listed, file, err);
    age = age_of(dataset, listed);
    if (age == YOUNG || !is_ready(dataset, listed))
        return WEIR_OK;
    if (storage_scrub_is_of(tools->store->data_dir,
                            &listed->stat)) { /* soon it is the one it was */
        storage_scan_again(dataset, listed->path);
        return WEIR_OK;
    }
    if (!has_changed_row && keep_touched(dataset, tools, listed, file))
        return WEIR_OK;
    dataset->scan->is_appended = age == APPENDED;
    if (has_grown(dataset, tools, listed, file)) {
        enum scrubbed scrubbed;
        enum weir_status status = look_again(dataset, tools, listed, file, &scrubbed, err);

        if (status != WEIR_OK || scrubbed != SCRUBBED_BACK)
            return status == WEIR_OK ? take_in(dataset, tools, listed, file, file->layout, err)
                                     : status;
        age = OLD;
    }
    if (age == APPENDED) /* to something else than what is known: that is written again */
        return WEIR_OK;
    return replace(dataset, tools, listed, file, kind, err);
}

static void merge_gone(struct dataset *dataset, struct stored_file *file)
{
    struct scan *scan = dataset->scan;

    storage_scan_leave_copy(dataset, file->path);
    storage_batch_withdraw(scan->batch, file->path, true);
    storage_batch_kill(scan->batch, file, WEIR_CHANGE_REMOVED);
}

static enum weir_status merge_new(struct dataset *dataset, const struct scan_tools *tools,
                                  const struct listed *listed, struct weir_error *err)
{
    enum age age;

    if (is_kept_out(dataset, tools, listed) || (age = age_of(dataset, listed)) == YOUNG ||
        !is_ready(dataset, listed))
        return WEIR_OK;
    dataset->scan->is_appended = age == APPENDED;
    return take_in(dataset, tools, listed, NULL, 1, err);
}

/* ---- the merge ---- */

/* A first scan gives ids in path order: it waits a moment for a file rather than come back to it. */
static bool is_too_soon(const struct dataset *dataset, const struct listed *listed)
{
    return !dataset->is_scanned && weir_now_ms() < dataset->scan->patience_ms &&
           storage_scan_pair_youth_us(dataset, listed) > 0;
}

static enum weir_status merge_file(struct dataset *dataset, const struct scan_tools *tools,
                                   struct stored_file *known, enum met *ret_met,
                                   struct weir_error *err)
{
    struct scan *scan = dataset->scan;
    const struct listed *listed = &scan->listed;
    int order = known != NULL ? strcmp(listed->path, known->path) : -1;
    enum weir_status status;

    if (order > 0) {
        storage_known_skip(scan->known);
        merge_gone(dataset, known);
        return WEIR_OK;
    }
    if (is_too_soon(dataset, listed)) {
        *ret_met = MET_TOO_SOON;
        return WEIR_OK;
    }
    scan->has_listed = false;
    if (order == 0)
        storage_known_skip(scan->known);
    status = order == 0 ? merge_both(dataset, tools, listed, known, err)
                        : merge_new(dataset, tools, listed, err);
    *ret_met = scan->job.is_open ? MET_JOB : MET_PATH;
    return status;
}

static bool hides(const char *unreadable, const char *path)
{
    size_t size = strlen(unreadable);

    if (size == 0 || unreadable[size - 1] == '/')
        return strncmp(path, unreadable, size) == 0;
    return strcmp(path, unreadable) == 0;
}

/* Meets a file of an unreadable folder: it stays as it is known. */
static void merge_unreadable(struct dataset *dataset, struct stored_file *known)
{
    struct scan *scan = dataset->scan;
    const struct listed *listed = &scan->listed;

    if (known != NULL && hides(listed->path, known->path)) {
        storage_known_skip(scan->known);
    } else if (known != NULL && strcmp(known->path, listed->path) < 0) {
        storage_known_skip(scan->known);
        merge_gone(dataset, known);
    } else {
        storage_complaints_put(&dataset->complaints, listed->path, listed->reason);
        scan->has_listed = false;
    }
}

enum weir_status storage_scan_merge(struct dataset *dataset, const struct scan_tools *tools,
                                    enum met *ret_met, struct weir_error *err)
{
    struct scan *scan = dataset->scan;
    struct stored_file *known = NULL;
    enum weir_status status = WEIR_OK;

    *ret_met = MET_PATH;
    if (!scan->has_listed)
        status = storage_listing_next(scan->listing, &scan->listed, err);
    if (status != WEIR_OK || scan->listed.kind == LISTED_NOTHING)
        return status;
    scan->has_listed = true;
    status = storage_known_peek(scan->known, &known, err);
    if (status != WEIR_OK)
        return status;
    if (scan->listed.kind == LISTED_FILE)
        return merge_file(dataset, tools, known, ret_met, err);
    if (scan->listed.kind == LISTED_UNREADABLE) {
        merge_unreadable(dataset, known);
    } else if (known != NULL) {
        storage_known_skip(scan->known);
        merge_gone(dataset, known);
    } else {
        *ret_met = MET_END;
    }
    return WEIR_OK;
}
