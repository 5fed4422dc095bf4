/* Orders to drop what became no sample: see dropping.h. */
#include "storage/erasure/dropping.h"

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "storage/catalog/known.h"
#include "storage/erasure/drop_erased.h"
#include "storage/erasure/drop_file.h"
#include "storage/files/copy.h"
#include "storage/files/owned.h"
#include "storage/files/place.h"
#include "storage/formats/text.h"
#include "storage/intake/refused_names.h"
#include "storage/scanning/scan_state.h"
#include "storage/sql/queries.h"
#include "storage/sums/sums.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct dropping {
    bool is_of_erased; /* what is of people who were erased, in Weir's own files; else an order */
    bool is_by_id;     /* … and of samples that were erased by their ids */
    size_t at;         /* index of the dataset */
    bool is_begun;
    bool is_unnamed;      /* names do not tell of all of it */
    bool has_more_names;  /* a scan has read on in the file at hand */
    uint64_t duplicates;  /* of it, as this began; 0: all of them are gone */
    bool is_through_all;  /* … else it goes over all files, from */
    uint64_t next_file;   /* this one on, before those that the quarantine names */
    struct weir_buf path; /* the newest of these */
    struct drop_file file;
    bool is_kept;  /* something of the dataset stays */
    bool is_stuck; /* … until another round */
    char *found;   /* what stands in the way, in this round, and */
    char *trouble; /* in the last one; NULL: nothing */
};

void storage_dropping_free(struct dropping *dropping)
{
    if (dropping == NULL)
        return;
    storage_drop_file_fini(&dropping->file);
    weir_buf_fini(&dropping->path);
    free(dropping->found);
    free(dropping->trouble);
    free(dropping);
}

const char *storage_drop_trouble(const struct dropping *dropping, struct weir_arena *arena)
{
    if (dropping == NULL || dropping->trouble == NULL)
        return "";
    return weir_arena_format(
        arena,
        "refused records are not overwritten yet: %s; tried again at least every "
        "%d s",
        dropping->trouble, ERASE_PAUSE_MAX_MS / 1000);
}

const char *storage_drop_obstacle(const struct dataset *dataset)
{
    const struct declaration *d = dataset->declaration;

    if (d->is_remote)
        return "they stand in objects of a bucket, which --drop-refused leaves alone: delete or "
               "replace those objects";
    if (!storage_owns(dataset) && d->on_erase != ON_ERASE_SCRUB)
        return "the dataset does not declare on_erase: scrub, so that --drop-refused leaves its "
               "files alone: remove them";
    return NULL;
}

/* ---- which requests ---- */

static bool is_order(const struct erase_request *request)
{
    return request->drops_refused;
}

struct erasure_record *storage_drop_part(struct erasure_record *erasure)
{
    return erasure->drops < erasure->count ? storage_erasure_record_part(erasure, is_order) : NULL;
}

/* Those that mean the dataset. */
static struct id_list numbers_of(const struct erasure_record *erasure,
                                 const struct dataset *dataset)
{
    struct id_list numbers = {0};

    for (size_t i = 0; i < erasure->count; i++) {
        const struct erase_request *request = erasure->requests[i];

        if (request->dataset == 0 || request->dataset == dataset->number)
            storage_id_list_add(&numbers, request->number);
    }
    return numbers;
}

/* Nothing of people is refused where nothing is. */
static bool may_have(const struct dropping *dropping, const struct dataset *dataset)
{
    if (!dropping->is_of_erased)
        return storage_drop_obstacle(dataset) == NULL;
    return storage_owns(dataset) && !dataset->declaration->is_remote &&
           dataset->accounts.quarantined + dataset->accounts.duplicate > 0;
}

static bool is_meant(const struct erasure_record *erasure, const struct dataset *dataset)
{
    for (size_t i = 0; i < erasure->count; i++) {
        if (erasure->requests[i]->dataset == 0 || erasure->requests[i]->dataset == dataset->number)
            return may_have(erasure->dropping, dataset);
    }
    return false;
}

/* ---- what stands in the way ---- */

/* The first obstacle of a round is reported; the file is left to another round. */
static void leave(struct erasure_record *erasure, const char *path, int error,
                  enum weir_status status, struct weir_error *err)
{
    struct dropping *dropping = erasure->dropping;

    if (status == WEIR_STALE) {
        erasure->round.error = ESTALE;
        weir_ignore(weir_fail(err, WEIR_STALE,
                              "%.250s has changed since it was indexed, so that nothing in it was "
                              "overwritten; the next scan looks at it",
                              path));
    } else {
        errno = error;
        weir_ignore(storage_scrub_stuck(erasure, path, "overwritten", err));
    }
    dropping->is_kept = dropping->is_stuck = true;
    if (dropping->found == NULL)
        dropping->found = weir_strdup(err->text);
}

/* A source that is only referred to, by its absolute path. */
static void look_again(struct dataset *dataset, const char *place)
{
    if (!storage_owns(dataset))
        storage_scan_again(dataset, place + strlen(dataset->root) + 1);
}

/* ---- a file ---- */

/* Numbers as the statement has them; of a disputed file there is nothing to say. */
enum drop_outcome { DROP_DISPUTED, DROP_GONE, DROP_SAME, DROP_CHANGED };

/* Writes that nothing that the quarantine says of the file stands there now. */
static enum weir_status write_order(struct store *store, struct erasure_record *erasure,
                                    const struct dataset *dataset, const char *path,
                                    enum drop_outcome outcome, struct weir_error *err)
{
    struct id_list numbers = numbers_of(erasure, dataset), none = {0};
    WEIR_AUTO_FREE char *plain = storage_printable(path);
    enum weir_status status = WEIR_OK;

    if (storage_mirrors(dataset) && !erasure->dropping->has_more_names)
        status = storage_refused_names_replace(store->db, dataset, path, &none, err);
    if (status == WEIR_OK)
        status = DB_RUN(store->db, Q_dropped_file, NULL, err, DB_I64S(numbers.at, numbers.count),
                        DB_I64(dataset->number), DB_BYTES(weir_bytes_of(path)), DB_TEXT(plain),
                        DB_I64(outcome));
    free(numbers.at);
    return status;
}

/* Writes whose records are left in the file. */
static enum weir_status write_names(struct eraser *eraser, struct erasure_record *erasure,
                                    const struct dataset *dataset, const char *path,
                                    enum drop_outcome outcome, struct weir_error *err)
{
    struct dropping *dropping = erasure->dropping;
    enum weir_status status = WEIR_OK;

    if (!dropping->has_more_names)
        status = storage_refused_names_replace(eraser->store->db, dataset, path,
                                               &dropping->file.names, err);
    return status == WEIR_OK && outcome == DROP_CHANGED && storage_mirrors(dataset)
               ? storage_drop_erased_remark(eraser, erasure, dataset, path, err)
               : status;
}

/* … and what is known of the file by now. */
static enum weir_status write_file(struct eraser *eraser, struct erasure_record *erasure,
                                   const struct dataset *dataset, const char *path,
                                   enum drop_outcome outcome, struct weir_error *err)
{
    enum weir_status status = storage_scrub_write_dataset(dataset, err);

    if (status != WEIR_OK || outcome == DROP_DISPUTED)
        return status;
    return erasure->dropping->is_of_erased
               ? write_names(eraser, erasure, dataset, path, outcome, err)
               : write_order(eraser->store, erasure, dataset, path, outcome, err);
}

static enum weir_status store_file(struct eraser *eraser, struct erasure_record *erasure,
                                   const struct dataset *dataset, const char *path,
                                   enum drop_outcome outcome, struct weir_error *err)
{
    enum weir_status status = storage_scrub_flush(eraser, err); /* no rows of it are only staged */

    if (status == WEIR_OK && weir_fault("storage.drop.store"))
        status = weir_fail(err, WEIR_UNAVAILABLE, "fault storage.drop.store");
    if (status == WEIR_OK)
        status = weir_db_begin(eraser->store->db, err);
    if (status == WEIR_OK)
        status = write_file(eraser, erasure, dataset, path, outcome, err);
    if (status == WEIR_OK)
        status = weir_db_commit(eraser->store->db, err);
    if (status != WEIR_OK)
        weir_db_rollback(eraser->store->db);
    return status;
}

/* Blocks that have changed get new sums. */
static void close_file(struct eraser *eraser, struct drop_file *file)
{
    storage_sums_close(eraser->sums, file);
    storage_drop_file_fini(file);
}

/* Overwritten as far as that can be. */
static enum weir_status end_file(struct eraser *eraser, struct erasure_record *erasure,
                                 const struct dataset *dataset, struct weir_error *err)
{
    struct dropping *dropping = erasure->dropping;
    struct drop_file *file = &dropping->file;
    struct stored_file *known = NULL;
    WEIR_AUTO_FREE char *path = NULL;
    bool is_changed = file->is_changed, is_disputed = file->is_disputed;
    enum weir_status status = storage_dataset_file(dataset, file->number, &known, err);

    if (status == WEIR_OK && known != NULL && known->path != NULL)
        path = weir_strdup(known->path);
    dropping->has_more_names = path != NULL && known->indexed > file->indexed;
    dropping->is_kept = dropping->is_kept || is_disputed || dropping->has_more_names;
    if (status == WEIR_OK && path != NULL)
        status = store_file(eraser, erasure, dataset, path,
                            is_disputed  ? DROP_DISPUTED
                            : is_changed ? DROP_CHANGED
                                         : DROP_SAME,
                            err);
    if (status == WEIR_OK)
        storage_drop_file_forget(eraser->store, file);
    close_file(eraser, file);
    return status;
}

/* To another round. */
static void leave_file(struct eraser *eraser, struct erasure_record *erasure,
                       enum weir_status status, struct weir_error *err)
{
    struct drop_file *file = &erasure->dropping->file;

    leave(erasure, file->path, file->error, status, err);
    if (status == WEIR_STALE) {
        storage_drop_file_forget(eraser->store, file);
        look_again(file->dataset, file->path);
    }
    close_file(eraser, file);
}

static enum weir_status step_file(struct eraser *eraser, struct erasure_record *erasure,
                                  const struct dataset *dataset, struct weir_error *err)
{
    bool is_done = false;
    enum weir_status status =
        storage_drop_file_step(eraser, &erasure->dropping->file, &is_done, err);

    if (status == WEIR_STALE || status == WEIR_IO) {
        leave_file(eraser, erasure, status, err);
        return WEIR_OK;
    }
    return status == WEIR_OK && is_done ? end_file(eraser, erasure, dataset, err) : status;
}

/* ---- a file that is one record ---- */

/* One that became no sample has no copy, and no mirror: blank, it might be taken for a sample later. */
static bool has_no_place(const struct dataset *dataset, const struct stored_file *file)
{
    return dataset->declaration->format->is_one_sample && file->samples == 0 &&
           (dataset->declaration->is_copied || storage_mirrors(dataset));
}

/* Its object is known, and not fetched again as long as it stays what it is. */
static enum weir_status unlink_mirrored(struct dataset *dataset, const struct stored_file *file,
                                        struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = storage_dataset_path(dataset, file);
    const char *name;
    WEIR_AUTO_FD int folder = storage_place_folder(dataset, file, &name);
    bool is_gone = folder >= 0 && unlinkat(folder, name, 0) == 0;

    if (!is_gone && errno != ENOENT && errno != ENOTDIR)
        return weir_fail(err, WEIR_IO, "%.250s: %s", path, strerror(errno));
    storage_scan_again(dataset, file->path);
    return is_gone ? weir_sync_parent(path, err) : WEIR_OK;
}

static enum weir_status remove_file(struct eraser *eraser, struct erasure_record *erasure,
                                    struct dataset *dataset, const struct stored_file *file,
                                    struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = weir_strdup(file->path);
    enum weir_status status = WEIR_OK;

    if (dataset->declaration->is_copied)
        storage_copy_remove(dataset, path);
    else
        status = unlink_mirrored(dataset, file, err);
    if (status == WEIR_OK)
        return store_file(eraser, erasure, dataset, path, DROP_CHANGED, err);
    if (status != WEIR_IO)
        return status;
    leave(erasure, path, errno, status, err);
    return WEIR_OK;
}

/* Goes when it is to, and is known by its name otherwise. */
static enum weir_status end_one_record(struct eraser *eraser, struct erasure_record *erasure,
                                       struct dataset *dataset, struct stored_file *file,
                                       struct weir_error *err)
{
    struct id_list *names = &erasure->dropping->file.names;
    WEIR_AUTO_FREE char *path = weir_strdup(file->path);
    enum weir_status status;

    if (!erasure->dropping->is_of_erased ||
        storage_drop_erased_has(eraser, erasure, dataset, file, names)) {
        names->count = 0;
        return remove_file(eraser, erasure, dataset, file, err);
    }
    status = store_file(eraser, erasure, dataset, path, DROP_SAME, err);
    names->count = 0;
    return status;
}

/* ---- opening ---- */

static enum weir_status begin_file(struct eraser *eraser, struct erasure_record *erasure,
                                   struct dataset *dataset, struct stored_file *file,
                                   struct weir_error *err)
{
    struct drop_file *drop = &erasure->dropping->file;
    WEIR_AUTO_FREE char *path = weir_strdup(file->path);
    enum weir_status status;

    erasure->dropping->has_more_names = false;
    if (has_no_place(dataset, file))
        return end_one_record(eraser, erasure, dataset, file, err);
    status = storage_drop_file_open(eraser, dataset, file, drop, err);
    if (status == WEIR_OK && erasure->dropping->is_of_erased)
        storage_drop_file_of_erased(drop, eraser->store);
    if (status == WEIR_OK)
        return WEIR_OK;
    if (status == WEIR_STALE || status == WEIR_IO)
        leave_file(eraser, erasure, status, err);
    else
        close_file(eraser, drop);
    if (status == WEIR_NOT_FOUND) /* no file, no bytes */
        return store_file(eraser, erasure, dataset, path, DROP_GONE, err);
    return status == WEIR_STALE || status == WEIR_IO ? WEIR_OK : status;
}

/* ---- the files of a dataset ---- */

static enum weir_status next_of_all(struct eraser *eraser, struct erasure_record *erasure,
                                    struct dataset *dataset, struct weir_error *err)
{
    struct dropping *dropping = erasure->dropping;
    int64_t until_ms = weir_now_ms() + ERASE_STEP_MS;
    struct stored_file *file = NULL;
    enum weir_status status = WEIR_OK;

    while (status == WEIR_OK && dropping->next_file < storage_dataset_file_end(dataset) &&
           weir_now_ms() < until_ms) {
        status = storage_dataset_file(dataset, dropping->next_file++, &file, err);
        if (status == WEIR_OK && file != NULL && file->state == FILE_LIVE && file->path != NULL)
            return begin_file(eraser, erasure, dataset, file, err);
    }
    dropping->is_through_all = dropping->next_file >= storage_dataset_file_end(dataset);
    return status;
}

/* A file that the quarantine names, and the catalog does not know: as a rule it is gone. */
static enum weir_status begin_unknown(struct eraser *eraser, struct erasure_record *erasure,
                                      const struct dataset *dataset, const char *path,
                                      struct weir_error *err)
{
    WEIR_AUTO_FREE char *name = weir_strdup(path);
    const struct stored_file file = {.path = name};
    WEIR_AUTO_FREE char *place = storage_dataset_path(dataset, &file);

    if (dataset->declaration->is_copied)
        storage_copy_remove(dataset, path);
    if (access(place, F_OK) < 0 && errno == ENOENT)
        return store_file(eraser, erasure, dataset, path, DROP_GONE, err);
    erasure->dropping->is_kept = true;
    return WEIR_OK;
}

static enum weir_status begin_path(struct eraser *eraser, struct erasure_record *erasure,
                                   struct dataset *dataset, const char *path,
                                   struct weir_error *err)
{
    struct stored_file *file = NULL;
    enum weir_status status = storage_known_find(dataset, path, &file, err);

    if (status != WEIR_OK)
        return status;
    return file != NULL ? begin_file(eraser, erasure, dataset, file, err)
                        : begin_unknown(eraser, erasure, dataset, path, err);
}

static enum weir_status next_of_names(struct eraser *eraser, struct erasure_record *erasure,
                                      struct dataset *dataset, bool *ret_done,
                                      struct weir_error *err)
{
    struct dropping *dropping = erasure->dropping;
    bool is_found;
    enum weir_status status = storage_drop_erased_next(eraser->store, dataset, dropping->is_by_id,
                                                       &dropping->path, &is_found, err);

    *ret_done = status == WEIR_NOT_FOUND;
    if (*ret_done)
        return WEIR_OK;

    return status == WEIR_OK && is_found
               ? begin_path(eraser, erasure, dataset, weir_buf_text(&dropping->path), err)
               : status;
}

static enum weir_status next_of_quarantine(struct eraser *eraser, struct erasure_record *erasure,
                                           struct dataset *dataset, bool *ret_done,
                                           struct weir_error *err)
{
    struct dropping *dropping = erasure->dropping;
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(eraser->store->db, Q_refused_next, &rows, err, DB_I64(dataset->number),
               DB_BYTES(weir_buf_view(&dropping->path)));

    *ret_done = status == WEIR_OK && weir_rows_count(rows) == 0;
    if (status != WEIR_OK || *ret_done)
        return status;
    weir_buf_clear(&dropping->path);
    weir_buf_append(&dropping->path, weir_rows_bytes(rows, 0, "path").at,
                    weir_rows_bytes(rows, 0, "path").size);
    return begin_path(eraser, erasure, dataset, weir_buf_text(&dropping->path), err);
}

/* ---- datasets ---- */

static enum weir_status begin_dataset(struct store *store, struct dropping *dropping,
                                      const struct dataset *dataset, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(store->db, Q_duplicates_left, &rows, err, DB_I64(dataset->number));

    if (status != WEIR_OK)
        return status;
    dropping->duplicates = (uint64_t)weir_rows_i64(rows, 0, "duplicates");
    dropping->is_unnamed = weir_rows_bool(rows, 0, "refused_unnamed");
    dropping->is_through_all =
        dropping->duplicates == 0 || (dropping->is_of_erased && !dropping->is_unnamed);
    dropping->next_file = 0;
    weir_buf_clear(&dropping->path);
    dropping->is_kept = dropping->is_stuck = false;
    dropping->is_begun = true;
    return WEIR_OK;
}

static enum weir_status end_order(struct store *store, struct erasure_record *erasure,
                                  const struct dataset *dataset, struct weir_error *err)
{
    struct dropping *dropping = erasure->dropping;
    struct id_list numbers = numbers_of(erasure, dataset);
    uint64_t duplicates = dropping->is_kept ? 0 : dropping->duplicates;
    const char *beside = storage_mirrors(dataset)
                             ? "; these are Weir's mirror, and the objects of the bucket keep them"
                             : "";
    enum weir_status status = weir_db_begin(store->db, err);

    if (status == WEIR_OK)
        status =
            DB_RUN(store->db, Q_dropped_duplicates, NULL, err, DB_I64S(numbers.at, numbers.count),
                   DB_I64(dataset->number), DB_I64(duplicates));
    if (status == WEIR_OK && !dropping->is_stuck)
        status = DB_RUN(store->db, Q_dropped_dataset, NULL, err, DB_I64S(numbers.at, numbers.count),
                        DB_I64(dataset->number), DB_TEXT(dataset->name), DB_TEXT(beside));
    if (status == WEIR_OK)
        status = weir_db_commit(store->db, err);
    if (status != WEIR_OK)
        weir_db_rollback(store->db);
    free(numbers.at);
    return status;
}

/* Once all its files were gone over, all names are known. */
static enum weir_status end_names(struct store *store, const struct dropping *dropping,
                                  const struct dataset *dataset, struct weir_error *err)
{
    return dropping->is_unnamed && !dropping->is_kept
               ? DB_RUN(store->db, Q_refused_named, NULL, err, DB_I64(dataset->number))
               : WEIR_OK;
}

static enum weir_status end_dataset(struct store *store, struct erasure_record *erasure,
                                    const struct dataset *dataset, struct weir_error *err)
{
    struct dropping *dropping = erasure->dropping;
    enum weir_status status = dropping->is_of_erased ? end_names(store, dropping, dataset, err)
                                                     : end_order(store, erasure, dataset, err);

    dropping->at++;
    dropping->is_begun = false;
    return status;
}

/* ---- rounds ---- */

static enum weir_status step_dataset(struct eraser *eraser, struct erasure_record *erasure,
                                     struct dataset *dataset, struct weir_error *err)
{
    struct dropping *dropping = erasure->dropping;
    bool is_done = false;
    enum weir_status status;

    if (dropping->file.is_open)
        return step_file(eraser, erasure, dataset, err);
    if (!dropping->is_begun)
        return begin_dataset(eraser->store, dropping, dataset, err);
    status = storage_scrub_flush(eraser, err); /* samples of a file are all in chunks */
    if (status != WEIR_OK)
        return status;
    if (!dropping->is_through_all)
        return next_of_all(eraser, erasure, dataset, err);
    status = dropping->is_of_erased && !dropping->is_unnamed
                 ? next_of_names(eraser, erasure, dataset, &is_done, err)
                 : next_of_quarantine(eraser, erasure, dataset, &is_done, err);
    return status == WEIR_OK && is_done ? end_dataset(eraser->store, erasure, dataset, err)
                                        : status;
}

static void pause_round(struct erasure_record *erasure)
{
    struct scrub_round *round = &erasure->round;

    round->pause_ms = storage_erase_pause(round->pause_ms);
    round->again_ms = weir_now_ms() + round->pause_ms;
}

static void end_all(struct erasure_record *erasure)
{
    if (erasure->dropping->is_of_erased)
        erasure->is_unrefused = true;
    else
        erasure->is_dropped = true;
    storage_dropping_free(erasure->dropping);
    erasure->dropping = NULL;
}

/* The log does not name the file: its name may be a person's. */
static void end_round(struct erasure_record *erasure)
{
    struct dropping *dropping = erasure->dropping;
    bool is_first = dropping->trouble == NULL;

    free(dropping->trouble);
    dropping->trouble = WEIR_TAKE(dropping->found);
    dropping->at = 0;
    if (dropping->trouble == NULL) {
        end_all(erasure);
        return;
    }
    pause_round(erasure);
    if (is_first)
        weir_log(WEIR_LOG_WARN, "a file stands in the way of dropping refused records",
                 "erasure=%" PRIu64 " because=\"%s\" see=\"weir erase status %" PRIu64 "\"",
                 erasure->requests[0]->number, strerror(erasure->round.error),
                 erasure->requests[0]->number);
}

static enum weir_status step(struct eraser *eraser, struct erasure_record *erasure,
                             struct weir_error *err)
{
    const struct catalog *catalog = eraser->store->catalog;
    struct dropping *dropping = erasure->dropping;

    erasure->round.again_ms = 0;
    while (dropping->at < catalog->count && !is_meant(erasure, catalog->datasets[dropping->at]))
        dropping->at++;
    if (dropping->at < catalog->count)
        return step_dataset(eraser, erasure, catalog->datasets[dropping->at], err);
    end_round(erasure);
    return WEIR_OK;
}

enum weir_status storage_drop_step(struct eraser *eraser, struct erasure_record *erasure,
                                   struct weir_error *err)
{
    if (erasure->dropping == NULL)
        erasure->dropping = weir_calloc(1, sizeof(*erasure->dropping));
    return step(eraser, erasure, err);
}

enum weir_status storage_drop_erased_step(struct eraser *eraser, struct erasure_record *erasure,
                                          struct weir_error *err)
{
    bool is_by_id;
    enum weir_status status;

    if (erasure->dropping != NULL)
        return step(eraser, erasure, err);
    status = storage_drop_erased_by_id(eraser->store, erasure, &is_by_id, err);
    if (status != WEIR_OK)
        return status;
    erasure->dropping = weir_calloc(1, sizeof(*erasure->dropping));
    erasure->dropping->is_of_erased = true;
    erasure->dropping->is_by_id = is_by_id;
    return step(eraser, erasure, err);
}
