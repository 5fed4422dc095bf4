/* Copying and indexing a file in pieces: see file_job.h. */
#include "storage/scanning/file_job.h"

#include "core/base/file.h"
#include "core/base/lines.h"
#include "core/base/memory.h"
#include "storage/catalog/table_columns.h"
#include "storage/files/blanking.h"
#include "storage/files/extent.h"
#include "storage/files/owned.h"
#include "storage/files/prefix.h"
#include "storage/files/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char LONG_LINE[] = "found a line beyond 16 MiB, expected less";

enum { COPY_PIECE_BYTES = 512 << 10, BLANK_STEP_BYTES = 16 << 20 };

/* An object is written again as its mirror is: that holds what nobody ordered to be taken out of it. */
static enum intake_blanks blanks_of(const struct dataset *dataset)
{
    if (dataset->declaration->is_copied)
        return INTAKE_BLANKS_ALL;
    return storage_mirrors(dataset) ? INTAKE_BLANKS_KEPT_OUT : INTAKE_BLANKS_NOTHING;
}

void storage_file_job_begin(struct file_job *job, struct stored_file *file,
                            const struct stat *source)
{
    storage_file_pin(file->group);
    job->file = file;
    job->intake.file = file;
    job->source = *source;
    job->window_bytes = FORMAT_WINDOW_BYTES;
    job->copying = (struct copying){0};
    job->is_copied = !job->intake.dataset->declaration->is_copied;
    job->intake.blanks = blanks_of(job->intake.dataset);
    job->intake.unclaimed.is_by_record = job->intake.dataset->declaration->format->scrub != NULL;
    job->is_open = true;
    job->intake.mtime_us = weir_mtime_us(source);
}

void storage_file_job_end(struct file_job *job)
{
    if (!job->is_open)
        return;
    storage_file_unpin(job->file->group);
    storage_copy_abort(&job->copying);
    storage_object_window_free(job->object);
    storage_intake_fini(&job->intake);
    weir_buf_fini(&job->head);
    weir_buf_fini(&job->window);
    *job = (struct file_job){0};
}

bool storage_file_job_is_waiting(const struct file_job *job)
{
    return storage_object_window_is_waiting(job->object);
}

/* Returns true while the open source has all it had when the job began; more may have been appended. */
static bool still_holds(const struct file_job *job, int fd)
{
    const struct dataset *dataset = job->intake.dataset;
    struct stat now;

    if (fstat(fd, &now) < 0)
        return false;
    return storage_source_is_same(&now, &job->source) ||
           (storage_source_goes_on(dataset, job->file->path, &now, &job->source) &&
            storage_prefix_hash(job->intake.secret, fd, (uint64_t)job->source.st_size) ==
                job->source_hash);
}

/* The identity of the source, not of its copy: erasures change the copy, and it is the source that grows. An object
 * never does. 0, which no file goes on from, when it has become another one. */
static uint64_t hash_source(const struct file_job *job)
{
    const struct dataset *dataset = job->intake.dataset;
    WEIR_AUTO_FD int fd = -1;
    uint64_t bytes = job->file->indexed, hash;

    if (dataset->declaration->is_remote)
        return 0;
    if (storage_is_expanded(dataset, job->file->path))
        bytes = (uint64_t)job->source.st_size;
    fd = weir_open_beneath(dataset->root, job->file->path, O_RDONLY | O_NONBLOCK);
    hash = fd < 0 ? 0 : storage_prefix_hash(job->intake.secret, fd, bytes);
    return fd >= 0 && still_holds(job, fd) ? hash : 0; /* in this order */
}

/* Notes the state that readers and the next scan will compare with. */
static void describe(struct file_job *job, const struct stat *served)
{
    job->file->size = (uint64_t)served->st_size;
    job->file->mtime_ns = weir_mtime_ns(&job->source);
    job->file->device = served->st_dev;
    job->file->inode = served->st_ino;
    job->file->source_inode =
        storage_source_identity(job->intake.dataset, job->file->path, &job->source);
    if (job->file->samples > 0)
        storage_dataset_bump_edition(job->intake.dataset);
}

/* ---- what became no sample ---- */

/* The next piece of a range. Of records that a format has to make again, all of it. */
static enum weir_status blank_piece(struct file_job *job, struct blanking *blanking,
                                    struct format_range range, struct weir_error *err)
{
    uint64_t left = range.length - job->blanked;
    const struct format_range piece = {range.offset + job->blanked,
                                       left < BLANK_STEP_BYTES ? left : BLANK_STEP_BYTES};

    job->blanked += piece.length;
    return storage_blank_bytes(blanking, piece, err);
}

static enum weir_status blank_record(struct file_job *job, struct blanking *blanking,
                                     struct format_range range, struct weir_error *err)
{
    if (blanking->dataset->declaration->format->scrub == NULL)
        return blank_piece(job, blanking, range, err);
    job->blanked = range.length;
    return storage_blank_records(blanking, range, err);
}

/* Ranges of records, as many as a step may. */
static enum weir_status blank_records(struct file_job *job, struct blanking *blanking,
                                      struct weir_error *err)
{
    struct unclaimed *unclaimed = &job->intake.unclaimed;
    uint64_t bytes = 0;
    size_t at = 0;
    enum weir_status status = WEIR_OK;

    while (status == WEIR_OK && at < unclaimed->count && bytes < BLANK_STEP_BYTES) {
        uint64_t before = job->blanked;

        status = blank_record(job, blanking, unclaimed->at[at], err);
        bytes += job->blanked - before;
        if (job->blanked < unclaimed->at[at].length)
            continue;
        job->blanked = 0;
        at++;
    }
    memmove(unclaimed->at, unclaimed->at + at, (unclaimed->count - at) * sizeof(*unclaimed->at));
    unclaimed->count -= at;
    return status;
}

/* The end of the file, where no record was found: it is copied again when the file grows. */
static struct format_range rest_of(const struct file_job *job)
{
    bool is_blanked =
        job->intake.blanks == INTAKE_BLANKS_ALL && job->file->size > job->file->indexed;

    return (struct format_range){job->file->indexed,
                                 is_blanked ? job->file->size - job->file->indexed : 0};
}

static bool has_to_blank(const struct file_job *job)
{
    return job->intake.unclaimed.count > 0;
}

static enum weir_status blank_some(struct file_job *job, struct weir_error *err)
{
    struct blanking blanking;
    struct weir_error other;
    enum weir_status status = storage_blanking_open(job->intake.dataset, job->file,
                                                    weir_buf_view(&job->head), &blanking, err);

    if (status != WEIR_OK)
        return status;
    status = has_to_blank(job) ? blank_records(job, &blanking, err)
                               : blank_piece(job, &blanking, rest_of(job), err);
    job->has_blanked = job->has_blanked || blanking.is_changed;
    if (status == WEIR_OK)
        return storage_blanking_close(&blanking, err);
    weir_ignore(storage_blanking_close(&blanking, &other)); /* the first error is reported */
    return status;
}

enum weir_status storage_file_job_settle(struct file_job *job, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    while (status == WEIR_OK && job->is_open && has_to_blank(job))
        status = blank_some(job, err);
    return status == WEIR_STALE ? WEIR_OK : status; /* no file, no bytes */
}

/* Only erased records came back: no copy of them stays, nor the name. */
static bool forget(struct file_job *job)
{
    const struct declaration *d = job->intake.dataset->declaration;
    WEIR_AUTO_FREE char *path = weir_strdup(job->file->path);

    if (!d->is_copied || !job->is_new || job->is_appended ||
        !storage_intake_forget(&job->intake, &job->source))
        return false;
    storage_copy_remove(job->intake.dataset, path);
    return true;
}

static enum weir_status complete(struct file_job *job, bool *ret_done)
{
    if (!forget(job))
        storage_intake_finish(&job->intake);
    job->file->is_complete = !job->is_appended;
    *ret_done = true;
    return WEIR_OK;
}

/* Finishes a job that has blanked something. */
static enum weir_status go_on(struct file_job *job, bool *ret_done)
{
    bool is_over = job->is_ending && !has_to_blank(job) && job->blanked >= rest_of(job).length;

    return is_over ? complete(job, ret_done) : WEIR_OK;
}

/* Nothing more is to be indexed. */
static enum weir_status finish(struct file_job *job, bool *ret_done)
{
    job->is_ending = true;
    return go_on(job, ret_done);
}

/* Nor may a copy of what was there before stay. */
static enum weir_status refuse_copy(struct file_job *job, const char *reason, bool *ret_done)
{
    static const struct stat NONE;

    storage_copy_abort(&job->copying);
    storage_copy_remove(job->intake.dataset, job->file->path);
    describe(job, &NONE);
    job->file->prefix_hash = hash_source(job);
    storage_intake_refuse_file(&job->intake, reason);
    return complete(job, ret_done);
}

static enum weir_status step_copy(struct file_job *job, bool *ret_done, struct weir_error *err)
{
    const struct dataset *dataset = job->intake.dataset;
    struct stat copy;
    enum weir_status status = WEIR_OK;

    if (!job->copying.is_open)
        status = storage_copy_begin(dataset, job->file->path, &job->source, job->file->indexed,
                                    &job->copying, err);
    if (status == WEIR_OK)
        status = storage_copy_step(&job->copying, COPY_PIECE_BYTES, err);
    if (status == WEIR_INVALID)
        return refuse_copy(job, err->text, ret_done);
    if (status != WEIR_OK || !storage_copy_is_done(&job->copying))
        return status;
    if (!still_holds(job, job->copying.from))
        return weir_fail(err, WEIR_STALE, "%s: changed while it was copied", job->file->path);
    status = storage_copy_end(dataset, job->file->path, &job->source, &job->copying, &copy, err);
    if (status != WEIR_OK)
        return status;
    describe(job, &copy);
    job->is_copied = true;
    return WEIR_OK;
}

/* Reads the next window and hands it to the format. */
static enum weir_status index_window(struct file_job *job, int fd,
                                     struct format_progress *ret_progress, bool *ret_is_last,
                                     struct weir_error *err)
{
    const struct declaration *d = job->intake.dataset->declaration;
    uint64_t rest = job->file->size - job->file->indexed;
    size_t size = rest < job->window_bytes ? (size_t)rest : job->window_bytes;
    const struct format_sink sink = storage_intake_sink(&job->intake);
    struct format_input input = {
        .head = weir_buf_view(&job->head),
        .at = job->file->indexed,
        .record = job->file->records,
        .size = job->file->size,
        .is_last = size == rest && !job->is_appended,
        .is_full = size == FORMAT_RECORD_MAX,
    };

    if (storage_range_read(fd, (struct format_range){input.at, size}, &job->window, err) != WEIR_OK)
        return weir_fail(err, WEIR_STALE, "%s: became shorter while it was read", job->file->path);
    input.window = weir_buf_view(&job->window);
    job->intake.window = input.window;
    job->intake.window_at = input.at;
    job->intake.head = input.head;
    *ret_is_last = size == rest;
    return d->format->index(&input, d->options, &d->fields, &sink, ret_progress, err);
}

/* Looks on for the end of a line that is too long. It is refused with the bytes that are passed over, in one batch:
 * whatever dies, it counts once. */
static enum weir_status pass_on(struct file_job *job, int fd, bool *ret_done,
                                struct weir_error *err)
{
    uint64_t from = job->file->indexed + job->passed, rest = job->file->size - from;
    size_t size = rest < FORMAT_RECORD_MAX ? (size_t)rest : FORMAT_RECORD_MAX, line;

    if (storage_range_read(fd, (struct format_range){from, size}, &job->window, err) != WEIR_OK)
        return weir_fail(err, WEIR_STALE, "%s: became shorter while it was read", job->file->path);
    line = weir_line(weir_buf_view(&job->window));
    job->passed += line > 0 ? line : size;
    if (line == 0 && size < rest)
        return WEIR_OK;
    if (line == 0 && job->is_appended)
        return finish(job, ret_done);
    storage_intake_refuse(&job->intake, &(struct format_refusal){.offset = job->file->indexed,
                                                                 .record = job->file->records,
                                                                 .reason = LONG_LINE});
    job->file->indexed += job->passed;
    storage_unclaimed_pause(&job->intake.unclaimed, job->file->indexed);
    job->file->records++;
    job->passed = 0;
    job->file->prefix_hash = hash_source(job);
    return job->file->indexed == job->file->size ? finish(job, ret_done) : WEIR_OK;
}

static const char COMPRESSED[] =
    "found a file compressed with zstd, expected it decompressed (zstd -d), or import: copy, which "
    "keeps it decompressed";

/* Nothing of it can be used. */
static enum weir_status refuse_whole(struct file_job *job, const char *reason, bool *ret_done)
{
    const char *compressor = storage_compressor_of(job->intake.dataset, job->file->path);
    WEIR_AUTO_FREE char *found =
        weir_format("found a file compressed with %s, by its name, expected it decompressed, or "
                    "written with zstd",
                    compressor != NULL ? compressor : "");

    storage_intake_refuse_file(&job->intake, compressor != NULL ? found : reason);
    return finish(job, ret_done);
}

/* Reads the beginning of the file. STALE, or INVALID when its columns are not those of the dataset. */
static enum weir_status read_head(struct file_job *job, int fd, struct weir_error *err)
{
    const struct dataset *dataset = job->intake.dataset;

    if (storage_head_read(dataset->declaration->format, fd, job->file->size, &job->head, err) !=
        WEIR_OK)
        return weir_fail(err, WEIR_STALE, "became shorter while it was read");
    return storage_table_columns_check(dataset, weir_buf_view(&job->head), job->file->size, err);
}

static enum weir_status step_index(struct file_job *job, int fd, bool *ret_done,
                                   struct weir_error *err)
{
    const struct format *format = job->intake.dataset->declaration->format;
    struct format_progress progress;
    bool is_last = false;
    enum weir_status status;

    if (!job->intake.dataset->declaration->is_copied &&
        storage_is_compressed(job->intake.dataset, job->file->path)) {
        storage_intake_refuse_file(&job->intake, COMPRESSED);
        return finish(job, ret_done);
    }
    status = job->head.size == 0 ? read_head(job, fd, err) : WEIR_OK;
    if (status == WEIR_STALE)
        return status;
    if (status != WEIR_OK)
        return refuse_whole(job, err->text, ret_done);
    if (job->passed > 0)
        return pass_on(job, fd, ret_done, err);
    if (job->file->records == 0 && format->counts_lines)
        job->file->records = 1;
    status = index_window(job, fd, &progress, &is_last, err);
    if (status == WEIR_STALE)
        return status;
    if (status != WEIR_OK)
        return refuse_whole(job, err->text, ret_done);
    if (job->file->samples > 0)
        storage_table_columns_adopt(job->intake.dataset, weir_buf_view(&job->head),
                                    job->file->size);
    if (progress.consumed == 0 && !is_last)
        job->window_bytes *= 4;
    else
        job->window_bytes = FORMAT_WINDOW_BYTES;
    if (job->window_bytes > FORMAT_RECORD_MAX)
        job->window_bytes = FORMAT_RECORD_MAX;
    job->passed = progress.is_cut ? progress.consumed : 0;
    job->file->indexed += progress.consumed - job->passed;
    if (job->passed == 0)
        job->file->records = progress.record;
    job->file->prefix_hash = hash_source(job);
    storage_unclaimed_pause(&job->intake.unclaimed, job->file->indexed);
    return is_last || progress.is_stuck ? finish(job, ret_done) : WEIR_OK;
}

/* The copy, or the source if it still is what it was when the job began. */
static enum weir_status open_served(struct file_job *job, int *ret_fd, struct weir_error *err)
{
    const struct dataset *dataset = job->intake.dataset;
    WEIR_AUTO_FREE char *copy = NULL;

    if (!dataset->declaration->is_copied) {
        enum weir_status status =
            storage_source_open(dataset, job->file->path, &job->source, ret_fd, err);

        return status != WEIR_OK || still_holds(job, *ret_fd)
                   ? status
                   : weir_fail(err, WEIR_STALE, "%s: changes while it is read", job->file->path);
    }
    copy = storage_dataset_path(dataset, job->file);
    *ret_fd = open(copy, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (*ret_fd < 0)
        return weir_fail(err, WEIR_STALE, "%s: cannot read: %s", copy, strerror(errno));
    return WEIR_OK;
}

/* The window that the next step reads of an object, and nothing else; -1 until it is there. */
static enum weir_status open_window(struct file_job *job, int *ret_fd, struct weir_error *err)
{
    uint64_t from = job->file->indexed + job->passed;
    uint64_t rest = job->file->size - from;
    uint64_t size = job->passed > 0 ? FORMAT_RECORD_MAX : job->window_bytes;
    const struct s3_span window = {.dataset = job->intake.dataset,
                                   .file = job->file,
                                   .offset = from,
                                   .length = rest < size ? rest : size};

    if (job->object == NULL)
        job->object = storage_object_window_new(job->ranges);
    close(*ret_fd);
    return storage_object_window_open(job->object, &window, job->head.size == 0, ret_fd, err);
}

enum weir_status storage_file_job_step(struct file_job *job, bool *ret_done, struct weir_error *err)
{
    WEIR_AUTO_FD int fd = -1;
    const struct declaration *d = job->intake.dataset->declaration;
    enum weir_status status;

    *ret_done = false;
    if (job->source_hash == 0 && !d->is_remote)
        job->source_hash = storage_source_hash(job->intake.dataset, job->intake.secret,
                                               job->file->path, (uint64_t)job->source.st_size);
    if (!job->is_copied)
        return step_copy(job, ret_done, err);
    if (has_to_blank(job) || job->is_ending) {
        status = blank_some(job, err);
        return status == WEIR_OK ? go_on(job, ret_done) : status;
    }
    status = open_served(job, &fd, err);
    if (status != WEIR_OK)
        return status;
    if (!d->is_copied)
        describe(job, &job->source);
    if (d->is_remote && !storage_is_compressed(job->intake.dataset, job->file->path))
        status = open_window(job, &fd, err);
    return status == WEIR_OK && !storage_file_job_is_waiting(job)
               ? step_index(job, fd, ret_done, err)
               : status;
}
