/* Overwriting what is no sample in one file: see drop_file.h. */
#include "storage/erasure/drop_file.h"

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/file.h"
#include "core/base/lines.h"
#include "core/base/memory.h"
#include "storage/erasure/scrub_times.h"
#include "storage/files/blanking.h"
#include "storage/files/extent.h"
#include "storage/files/owned.h"
#include "storage/files/place.h"
#include "storage/files/prefix.h"
#include "storage/files/scrub_intent.h"
#include "storage/sums/sums.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    RECORDS_PER_GROUP = 256, /* each with an intent of its own */
    RANGES_PER_GROUP = 4096, /* with one for all */
    BYTES_PER_GROUP = 16 << 20,
    SPAN_PER_GROUP = 4 << 20, /* blocks that have sums are compared before they change */
};

void storage_drop_file_fini(struct drop_file *drop)
{
    if (drop->is_open)
        close(drop->fd);
    free(drop->path);
    weir_buf_fini(&drop->head);
    weir_buf_fini(&drop->window);
    storage_drop_claims_fini(&drop->claims);
    storage_unclaimed_fini(&drop->unclaimed);
    free(drop->names.at);
    *drop = (struct drop_file){0};
}

/* ---- is it what was indexed? ---- */

static enum weir_status fail_changed(const struct drop_file *drop, struct weir_error *err)
{
    return weir_fail(err, WEIR_STALE, "%.250s has changed since it was indexed", drop->path);
}

static enum weir_status fail_io(struct drop_file *drop, struct weir_error *err)
{
    drop->error = errno;
    return weir_fail(err, WEIR_IO, "%.250s: %s", drop->path, strerror(drop->error));
}

/* Appended to by somebody else. */
static bool has_grown(const struct store *store, const struct drop_file *drop,
                      const struct stored_file *file, const struct stat *now)
{
    return (uint64_t)now->st_size > file->size &&
           !drop->dataset->declaration->format->is_one_sample &&
           storage_file_has_grown(drop->dataset, &store->secret, file);
}

/* A death in the middle of it has left the file with another time: what was intended says that this was us. */
static bool is_indexed_one(const struct store *store, const struct drop_file *drop,
                           const struct stored_file *file)
{
    const struct stat *now = &drop->seen;

    if (now->st_ino != file->inode || (uint64_t)now->st_size < file->indexed)
        return false;
    if (storage_owns(drop->dataset))
        return true;
    if ((uint64_t)now->st_size == file->size &&
        (file->mtime_ns == 0 || weir_mtime_ns(now) == file->mtime_ns ||
         storage_scrub_is_of(store->data_dir, now)))
        return true;
    return has_grown(store, drop, file, now);
}

/* The record of the file, or NULL when it is not what it was when it was opened. */
static struct stored_file *record_of(const struct drop_file *drop, enum weir_status *ret_status,
                                     struct weir_error *err)
{
    struct stored_file *file = NULL;

    *ret_status = storage_dataset_file(drop->dataset, drop->number, &file, err);
    if (*ret_status != WEIR_OK || file == NULL || file->state != FILE_LIVE || file->path == NULL ||
        file->inode != drop->seen.st_ino || file->indexed < drop->indexed)
        return NULL;
    return file;
}

static bool is_still(const struct store *store, const struct drop_file *drop,
                     const struct stored_file *file, const struct stat *now)
{
    if (storage_owns(drop->dataset))
        return true;
    if (now->st_size == drop->seen.st_size)
        return weir_mtime_ns(now) == weir_mtime_ns(&drop->seen);
    return has_grown(store, drop, file, now);
}

/* The end after the last record is nobody's only while nobody goes on writing it. */
static bool has_nobodys_end(const struct drop_file *drop, const struct stored_file *file,
                            const struct stat *now)
{
    return drop->is_whole && file->is_complete && file->indexed == drop->indexed &&
           file->size == drop->size && (uint64_t)now->st_size == drop->size;
}

/* ---- sums ---- */

/* The blocks of these ranges lose their sums, for good, before the first byte of them changes. */
static enum weir_status open_sums(struct eraser *eraser, const struct drop_file *drop,
                                  const struct stored_file *file, const struct format_range *at,
                                  size_t count, struct weir_error *err)
{
    struct sum_opening opening;
    enum weir_status status = storage_sum_opening_begin(eraser->sums, drop, &opening, err);

    for (size_t i = 0; status == WEIR_OK && i < count; i++)
        status =
            storage_sum_opening_add(&opening, drop->dataset, file, at[i].offset, at[i].length, err);
    return storage_sum_opening_end(&opening, status, err);
}

/* ---- opening ---- */

static struct blanking blanking_of(const struct drop_file *drop, const struct stored_file *file)
{
    return (struct blanking){
        .dataset = drop->dataset, .file = file, .fd = drop->fd, .head = weir_buf_view(&drop->head)};
}

/* Ranges that were being overwritten when something stopped it: records that a format may not find again. */
static enum weir_status resume(struct eraser *eraser, struct drop_file *drop,
                               const struct stored_file *file, struct weir_error *err)
{
    WEIR_AUTO_FREE struct scrub_intent *open = weir_calloc(SCRUB_INTENTS_MAX, sizeof(*open));
    size_t count = storage_scrub_intents_of(eraser->store->data_dir, &drop->seen, open);
    struct blanking blanking = blanking_of(drop, file);
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; status == WEIR_OK && i < count; i++) {
        const struct format_range at = open[i].extent;

        if (!storage_scrub_is_dropped(&open[i]))
            continue;
        drop->is_changed = true;
        if (at.length == 0 || at.length > file->indexed || at.offset > file->indexed - at.length)
            continue;
        if (storage_owns(drop->dataset))
            status = open_sums(eraser, drop, file, &at, 1, err);
        if (status == WEIR_OK)
            status = storage_blank_records(&blanking, at, err);
    }
    weir_buf_fini(&blanking.piece);
    if (status == WEIR_OK && fstat(drop->fd, &drop->seen) < 0) /* the change of its time is ours */
        return fail_io(drop, err);
    return status;
}

static enum weir_status begin(struct eraser *eraser, struct drop_file *drop,
                              const struct stored_file *file, struct weir_error *err)
{
    const struct declaration *d = drop->dataset->declaration;
    enum weir_status status;

    if (fstat(drop->fd, &drop->seen) < 0)
        return fail_io(drop, err);
    if (!is_indexed_one(eraser->store, drop, file))
        return fail_changed(drop, err);
    drop->size = file->size;
    drop->indexed = d->format->is_one_sample ? 0 : file->indexed;
    drop->is_whole = file->is_complete && !d->is_pushed;
    drop->is_indexed = drop->indexed == 0;
    drop->window_bytes = FORMAT_WINDOW_BYTES;
    drop->record = d->format->counts_lines;
    drop->unclaimed.is_by_record = d->format->scrub != NULL;
    drop->claims = (struct drop_claims){
        .cache = eraser->store->cache, .db = eraser->store->db, .dataset = drop->dataset};
    storage_drop_claims_begin(&drop->claims, file);
    status = storage_head_read(d->format, drop->fd, drop->size, &drop->head, err);
    return status == WEIR_OK ? resume(eraser, drop, file, err) : fail_changed(drop, err);
}

static enum weir_status open_file(struct drop_file *drop, const struct stored_file *file,
                                  struct weir_error *err)
{
    bool is_gone;

    drop->fd = storage_place_open(drop->dataset, file, O_RDWR | O_NONBLOCK);
    is_gone = errno == ENOENT || errno == ENOTDIR;
    if (drop->fd < 0)
        return is_gone ? WEIR_NOT_FOUND : fail_io(drop, err);
    drop->number = storage_file_number(file);
    drop->is_open = true;
    return WEIR_OK;
}

enum weir_status storage_drop_file_open(struct eraser *eraser, struct dataset *dataset,
                                        struct stored_file *file, struct drop_file *drop,
                                        struct weir_error *err)
{
    enum owned_state state =
        storage_owns(dataset) ? storage_owned_recognise(dataset, file) : OWNED_SAME;
    enum weir_status status;

    *drop = (struct drop_file){.dataset = dataset, .path = storage_dataset_path(dataset, file)};
    if (state == OWNED_RECOGNISED)
        file->group->is_ahead = true;
    status = open_file(drop, file, err);
    if (status == WEIR_OK && state == OWNED_OTHER)
        status = fail_changed(drop, err);
    return status == WEIR_OK ? begin(eraser, drop, file, err) : status;
}

void storage_drop_file_of_erased(struct drop_file *drop, const struct store *store)
{
    drop->is_of_erased = true;
    drop->reading = (struct intake){
        .dataset = drop->dataset, .secret = &store->secret, .erased = &store->erased};
}

/* ---- which bytes ---- */

/* Samples before `upto` must have been met as records. */
static void pass(struct drop_file *drop, uint64_t upto)
{
    drop->is_disputed = !storage_drop_claims_pass(&drop->claims, upto) || drop->is_disputed;
}

static uint64_t begin_of(const struct format_sample *sample)
{
    return sample->extent.length > 0 ? sample->extent.offset : sample->offset;
}

/* Returns true for a record of nobody who was erased, while others may not be touched. */
static bool has_to_stay(struct drop_file *drop, const struct format_sample *sample)
{
    struct record_names names;

    if (!drop->is_of_erased)
        return false;
    names = storage_intake_names(&drop->reading, sample);
    if (storage_intake_was_erased(&drop->reading, &names, sample))
        return false;
    if (names.has_subject)
        storage_id_list_add(&drop->names, names.subject_hash);
    if (names.has_key)
        storage_id_list_add(&drop->names, names.key_hash);
    return true;
}

static void on_sample(void *owner, const struct format_sample *sample)
{
    struct drop_file *drop = owner;

    if (sample->offset >= drop->indexed)
        return;
    pass(drop, sample->offset);
    if (storage_drop_claims_take(&drop->claims, sample->offset) || has_to_stay(drop, sample))
        storage_unclaimed_end(&drop->unclaimed, begin_of(sample));
    else
        storage_unclaimed_record(&drop->unclaimed, begin_of(sample));
}

/* Takes a record that cannot be read, so that it is known of nobody. */
static void take_unread(struct drop_file *drop, uint64_t offset)
{
    if (drop->is_of_erased)
        storage_unclaimed_end(&drop->unclaimed, offset);
    else
        storage_unclaimed_record(&drop->unclaimed, offset);
}

static void on_refuse(void *owner, const struct format_refusal *refusal)
{
    struct drop_file *drop = owner;

    if (refusal->offset >= drop->indexed)
        return;
    pass(drop, refusal->offset);
    take_unread(drop, refusal->offset);
}

static void on_scrubbed(void *owner, struct format_range extent)
{
    struct drop_file *drop = owner;

    if (extent.offset >= drop->indexed)
        return;
    pass(drop, extent.offset);
    storage_unclaimed_end(&drop->unclaimed, extent.offset);
}

static uint64_t at_most(uint64_t offset, uint64_t most)
{
    return offset < most ? offset : most;
}

/* Everything before `at` is reported. */
static void move_to(struct drop_file *drop, uint64_t at)
{
    drop->at = at;
    at = at_most(at, drop->indexed);
    pass(drop, at);
    storage_unclaimed_pause(&drop->unclaimed, at);
    drop->is_indexed = drop->at >= drop->indexed;
}

/* A line that is too long: nobody's up to its end. */
static enum weir_status pass_line(struct drop_file *drop, struct weir_error *err)
{
    uint64_t from = drop->at + drop->passed, rest = drop->indexed - from;
    size_t size = rest < FORMAT_RECORD_MAX ? (size_t)rest : FORMAT_RECORD_MAX, line;

    if (storage_range_read(drop->fd, (struct format_range){from, size}, &drop->window, err) !=
        WEIR_OK)
        return fail_changed(drop, err);
    line = weir_line(weir_buf_view(&drop->window));
    drop->passed += line > 0 ? line : size;
    if (line == 0 && size < rest)
        return WEIR_OK;
    take_unread(drop, drop->at);
    drop->record++;
    move_to(drop, drop->at + drop->passed);
    drop->passed = 0;
    return WEIR_OK;
}

static void take_progress(struct drop_file *drop, const struct format_progress *progress,
                          bool is_last)
{
    bool wants_more = progress->consumed == 0 && !is_last && !progress->is_stuck;

    if (wants_more && drop->window_bytes == FORMAT_RECORD_MAX)
        drop->is_disputed = true; /* it was read further before */
    drop->window_bytes = wants_more && drop->window_bytes < FORMAT_RECORD_MAX / 4
                             ? 4 * drop->window_bytes
                         : wants_more ? FORMAT_RECORD_MAX
                                      : FORMAT_WINDOW_BYTES;
    drop->passed = progress->is_cut ? at_most(progress->consumed, drop->indexed - drop->at) : 0;
    if (drop->passed > 0 || wants_more)
        return;
    drop->record = progress->record;
    move_to(drop, drop->at + progress->consumed);
    drop->is_disputed = drop->is_disputed || (!drop->is_indexed && (is_last || progress->is_stuck));
}

static enum weir_status index_window(struct drop_file *drop, struct weir_error *err)
{
    const struct declaration *d = drop->dataset->declaration;
    const struct format_sink sink = {
        .owner = drop, .sample = on_sample, .refuse = on_refuse, .scrubbed = on_scrubbed};
    uint64_t rest = drop->size - drop->at;
    size_t size = rest < drop->window_bytes ? (size_t)rest : drop->window_bytes;
    struct format_input input = {.head = weir_buf_view(&drop->head),
                                 .at = drop->at,
                                 .record = drop->record,
                                 .size = drop->size,
                                 .is_last = size == rest && drop->is_whole,
                                 .is_full = size == FORMAT_RECORD_MAX};
    struct format_progress progress = {.consumed = 0};

    if (storage_range_read(drop->fd, (struct format_range){input.at, size}, &drop->window, err) !=
        WEIR_OK)
        return fail_changed(drop, err);
    input.window = weir_buf_view(&drop->window);
    drop->reading.window = input.window;
    drop->reading.window_at = input.at;
    drop->reading.head = input.head;
    if (d->format->index(&input, d->options, &d->fields, &sink, &progress, err) != WEIR_OK)
        drop->is_disputed = true;
    else
        take_progress(drop, &progress, size == rest);
    return WEIR_OK;
}

/* The places of the samples in the next window, then the window. */
static enum weir_status index_some(struct drop_file *drop, struct weir_error *err)
{
    int64_t until_ms = weir_now_ms() + ERASE_STEP_MS;
    uint64_t upto = drop->at + drop->window_bytes;
    bool is_full = false;
    enum weir_status status = WEIR_OK;

    if (drop->passed > 0)
        return pass_line(drop, err);
    while (status == WEIR_OK && !is_full) {
        if (weir_now_ms() >= until_ms)
            return WEIR_OK;
        status = storage_drop_claims_fill(&drop->claims, upto, &is_full, err);
    }
    drop->is_disputed = drop->is_disputed || drop->claims.is_unordered;
    return status == WEIR_OK && !drop->is_disputed ? index_window(drop, err) : status;
}

/* The bytes after the last record. */
static void end(struct drop_file *drop, const struct stored_file *file)
{
    bool is_nobodys = !drop->dataset->declaration->format->is_one_sample || file->samples == 0;

    drop->is_ended = true;
    if (drop->is_of_erased || !is_nobodys || !has_nobodys_end(drop, file, &drop->seen) ||
        drop->size == drop->indexed)
        return;
    storage_unclaimed_end(&drop->unclaimed, drop->indexed);
    storage_unclaimed_record(&drop->unclaimed, drop->indexed);
    storage_unclaimed_end(&drop->unclaimed, drop->size);
}

/* ---- overwriting ---- */

static bool is_by_record(const struct drop_file *drop)
{
    return drop->unclaimed.is_by_record && !drop->is_ended;
}

/* Some ranges from the list, as pieces. */
struct drop_group {
    struct format_range at[RANGES_PER_GROUP];
    size_t count;
    uint64_t bytes;
};

static void take_group(struct drop_file *drop, struct drop_group *group)
{
    size_t most = is_by_record(drop) ? RECORDS_PER_GROUP : RANGES_PER_GROUP, taken = 0;
    struct unclaimed *unclaimed = &drop->unclaimed;

    while (
        taken < unclaimed->count && group->count < most && group->bytes < BYTES_PER_GROUP &&
        (group->count == 0 || unclaimed->at[taken].offset - group->at[0].offset < SPAN_PER_GROUP)) {
        const struct format_range *range = &unclaimed->at[taken];
        uint64_t left = range->length - drop->blanked;
        uint64_t length = is_by_record(drop) ? left : at_most(left, BYTES_PER_GROUP);

        group->at[group->count++] = (struct format_range){range->offset + drop->blanked, length};
        group->bytes += length;
        drop->blanked = length < left ? drop->blanked + length : 0;
        taken += length == left;
    }
    unclaimed->count -= taken;
    memmove(unclaimed->at, unclaimed->at + taken, unclaimed->count * sizeof(*unclaimed->at));
}

static struct scrub_intent intent_of(const struct drop_file *drop, struct format_range at)
{
    return (struct scrub_intent){.device = drop->seen.st_dev,
                                 .inode = drop->seen.st_ino,
                                 .payload = {at.offset, at.length | SCRUB_DROPPED},
                                 .extent = at};
}

/* One that the file has until it is done with, so that scans leave it alone; then, where a format has to make records
 * again, one for each. Returns how many. */
static size_t intents_of(const struct drop_file *drop, const struct drop_group *group,
                         struct scrub_intent *intents)
{
    size_t count = is_by_record(drop) ? group->count : 0;

    intents[0] = intent_of(drop, (struct format_range){0});
    for (size_t i = 0; i < count; i++)
        intents[i + 1] = intent_of(drop, group->at[i]);
    return count + 1;
}

static enum weir_status blank_all(struct drop_file *drop, const struct stored_file *file,
                                  const struct drop_group *group, struct weir_error *err)
{
    struct blanking blanking = blanking_of(drop, file);
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; status == WEIR_OK && i < group->count; i++) {
        status = is_by_record(drop) ? storage_blank_records(&blanking, group->at[i], err)
                                    : storage_blank_bytes(&blanking, group->at[i], err);
        errno = status == WEIR_OK ? EIO : errno;
        if (status == WEIR_OK && weir_fault("storage.drop.overwrite"))
            status = WEIR_IO;
    }
    if (status == WEIR_IO)
        status = fail_io(drop, err);
    drop->is_changed = drop->is_changed || blanking.is_changed;
    weir_buf_fini(&blanking.piece);
    return status;
}

/* The file has its time again, and is on disk. */
static enum weir_status keep(struct store *store, struct drop_file *drop, struct stored_file *file,
                             const struct stat *before, struct weir_error *err)
{
    const struct declaration *d = drop->dataset->declaration;
    int64_t mtime_ns = file->mtime_ns;

    if (!storage_scrub_keep_time(drop->dataset, file, drop->fd, before) ||
        fdatasync(drop->fd) < 0 || fstat(drop->fd, &drop->seen) < 0)
        return fail_io(drop, err);
    storage_scrub_note_change(drop->dataset, file, drop->fd, before);
    if (file->mtime_ns != mtime_ns)
        storage_dataset_bump_edition(drop->dataset);
    file->group->is_ahead = true; /* written when the file is done */
    if (!d->is_copied && !d->format->is_one_sample)
        file->prefix_hash = storage_prefix_hash(&store->secret, drop->fd, file->indexed);
    return WEIR_OK;
}

static enum weir_status write_group(struct eraser *eraser, struct drop_file *drop,
                                    struct stored_file *file, const struct drop_group *group,
                                    struct weir_error *err)
{
    struct scrub_intent intents[RECORDS_PER_GROUP + 1];
    size_t count = intents_of(drop, group, intents);
    struct stat before;
    enum weir_status status;

    if (fstat(drop->fd, &before) < 0)
        return fail_io(drop, err);
    if (!is_still(eraser->store, drop, file, &before))
        return fail_changed(drop, err);
    if (storage_owns(drop->dataset)) {
        status = open_sums(eraser, drop, file, group->at, group->count, err);
        if (status != WEIR_OK)
            return status;
    }
    status = storage_scrub_intend(eraser->store->data_dir, intents, count, err);
    if (status == WEIR_OK)
        status = blank_all(drop, file, group, err);
    if (status == WEIR_OK)
        status = keep(eraser->store, drop, file, &before, err);
    if (status == WEIR_OK)
        storage_scrub_done(eraser->store->data_dir, intents + 1, count - 1);
    return status;
}

static enum weir_status blank_some(struct eraser *eraser, struct drop_file *drop,
                                   struct stored_file *file, struct weir_error *err)
{
    WEIR_AUTO_FREE struct drop_group *group = weir_calloc(1, sizeof(*group));
    struct stat now;

    if (drop->is_ended && (fstat(drop->fd, &now) < 0 || !has_nobodys_end(drop, file, &now))) {
        drop->unclaimed.count = 0; /* somebody goes on with it */
        drop->blanked = 0;
        return WEIR_OK;
    }
    take_group(drop, group);
    return write_group(eraser, drop, file, group, err);
}

void storage_drop_file_forget(const struct store *store, const struct drop_file *drop)
{
    WEIR_AUTO_FREE struct scrub_intent *open = weir_calloc(SCRUB_INTENTS_MAX, sizeof(*open));
    size_t count = storage_scrub_intents_of(store->data_dir, &drop->seen, open), kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (storage_scrub_is_dropped(&open[i]))
            open[kept++] = open[i];
    }
    if (kept > 0)
        storage_scrub_done(store->data_dir, open, kept);
}

/* False when nothing of the file, and nothing of what is known of it, is other than it should be. */
static bool is_unkept(const struct store *store, const struct drop_file *drop,
                      const struct stored_file *file, const struct stat *now)
{
    bool has_hash = !drop->dataset->declaration->is_copied &&
                    !drop->dataset->declaration->format->is_one_sample;

    return storage_scrub_is_of(store->data_dir, now) ||
           ((uint64_t)now->st_size == file->size && file->mtime_ns != 0 &&
            weir_mtime_ns(now) != file->mtime_ns) ||
           (has_hash &&
            storage_prefix_hash(&store->secret, drop->fd, file->indexed) != file->prefix_hash);
}

/* A death may have left the time of what it had overwritten, or not said what it made of the ends. */
static enum weir_status finish(struct store *store, struct drop_file *drop,
                               struct stored_file *file, bool *ret_done, struct weir_error *err)
{
    struct stat before;
    enum weir_status status = WEIR_OK;

    if (fstat(drop->fd, &before) < 0)
        return fail_io(drop, err);
    if (!is_still(store, drop, file, &before))
        return fail_changed(drop, err);
    if (is_unkept(store, drop, file, &before))
        status = keep(store, drop, file, &before, err);
    *ret_done = status == WEIR_OK;
    return status;
}

enum weir_status storage_drop_file_step(struct eraser *eraser, struct drop_file *drop,
                                        bool *ret_done, struct weir_error *err)
{
    enum weir_status status;
    struct stored_file *file = record_of(drop, &status, err);

    *ret_done = false;
    if (file == NULL)
        return status == WEIR_OK ? fail_changed(drop, err) : status;
    drop->reading.file = file;
    if (drop->is_disputed) /* what was reported since the last agreement is left */
        return finish(eraser->store, drop, file, ret_done, err);
    if (drop->unclaimed.count > 0)
        return blank_some(eraser, drop, file, err);
    if (!drop->is_indexed)
        return index_some(drop, err);
    if (!drop->is_ended) {
        end(drop, file);
        return WEIR_OK;
    }
    return finish(eraser->store, drop, file, ret_done, err);
}
