/* Files: each is there as it was recorded; deep, its bytes are what was indexed. */
#include "storage/doctor/doctor_state.h"
#include "storage/files/expand.h"
#include "storage/files/owned.h"
#include "storage/files/prefix.h"

#include "core/base/file.h"
#include "core/base/memory.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_BYTES = 1 << 20 };

/* The catalog that was loaded for the counts may be old by now. */
static bool is_still(const struct doctor *doctor, const struct dataset *dataset,
                     const struct stored_file *file)
{
    const struct dataset *now =
        storage_catalog_at(doctor->examined.store->catalog, dataset->number);
    struct stored_file *known = NULL;
    struct weir_error err;

    return now != NULL &&
           storage_dataset_file(now, storage_file_number(file), &known, &err) == WEIR_OK &&
           known != NULL && known->state == FILE_LIVE && known->inode == file->inode &&
           known->size == file->size && known->mtime_ns == file->mtime_ns &&
           known->prefix_hash == file->prefix_hash;
}

/* The part of its identity that differs, or NULL. */
static char *difference(const struct stored_file *file, const struct stat *found)
{
    int64_t mtime_ns = weir_mtime_ns(found);

    if (!S_ISREG(found->st_mode))
        return weir_strdup("it is no regular file");
    if ((uint64_t)found->st_size != file->size)
        return weir_format("%lld bytes", (long long)found->st_size);
    if (file->mtime_ns != 0 && mtime_ns != file->mtime_ns)
        return weir_strdup("it was modified since");
    if (found->st_ino != file->inode || found->st_dev != file->device)
        return weir_strdup("another file stands in its place");
    return NULL;
}

static void say_file(struct doctor *doctor, const struct stored_file *file, char *what)
{
    const struct dataset *dataset = storage_doctor_dataset(doctor);
    bool is_owned = storage_owns(dataset);

    if (is_still(doctor, dataset, file))
        storage_doctor_say_file(doctor, DOCTOR_FILES, is_owned ? DOCTOR_WRONG : DOCTOR_NOTE, file,
                                weir_strdup(what),
                                weir_format("%" PRIu64 " bytes, as recorded%s", file->size,
                                            is_owned ? "" : "; the next scan takes the change in"));
    free(what);
}

/* ---- deep ---- */

/* True for a file whose samples are overwritten: it differs from what was indexed, as it must. The catalog of now knows
 * of erasures since the counts. */
static bool is_scrubbed(const struct doctor *doctor, const struct stored_file *file)
{
    const struct dataset *now = storage_catalog_at(doctor->examined.store->catalog, doctor->number);

    for (uint64_t id = file->first_id; now != NULL && id <= file->last_id; id++) {
        uint32_t block = weir_sample_block(id);

        if (block >= now->dead_count || now->dead[block].erased.count <= weir_sample_row(id))
            id |= WEIR_BLOCK_ROWS - 1; /* nothing is erased in the rest of the block */
        else if (storage_dataset_is_erased(now, block, weir_sample_row(id)))
            return true;
    }
    return false;
}

/* Formats that overwrite a record with more than one byte leave nothing to tell it by. */
static bool is_comparable(const struct doctor *doctor, const struct dataset *dataset,
                          const struct stored_file *file)
{
    return dataset->declaration->format->scrub == NULL || !is_scrubbed(doctor, file);
}

/* True when the copy has records that were refused or kept out: they are overwritten there. */
static bool has_refused(const struct dataset *dataset)
{
    const struct accounts *accounts = &dataset->accounts;

    return storage_owns(dataset) &&
           accounts->quarantined + accounts->duplicate + accounts->blocked > 0;
}

/* …, and so are erased records, and an end that no record was found in. */
static bool is_alike(const struct dataset *dataset, const uint8_t *here, const uint8_t *there,
                     size_t size)
{
    const struct format *format = dataset->declaration->format;

    if (memcmp(here, there, size) == 0 || (format->scrub != NULL && has_refused(dataset)))
        return true;
    for (size_t i = 0; i < size; i++) {
        if (here[i] != there[i] && here[i] != format->scrub_byte)
            return false;
    }
    return true;
}

static void check_ends(struct doctor *doctor, const struct stored_file *file)
{
    const struct dataset *dataset = storage_doctor_dataset(doctor);

    if (file->prefix_hash == 0 || is_scrubbed(doctor, file) ||
        storage_is_expanded(dataset, file->path) || dataset->declaration->format->is_one_sample ||
        has_refused(dataset) ||
        storage_prefix_hash(&doctor->examined.store->secret, doctor->fd, file->indexed) ==
            file->prefix_hash ||
        !is_still(doctor, dataset, file))
        return;
    storage_doctor_say_file(doctor, DOCTOR_BYTES, DOCTOR_WRONG, file,
                            weir_strdup("its ends are not what was indexed"),
                            weir_strdup("the bytes that were indexed"));
}

/* The source of a copy, while it is what was copied. */
static int open_source(const struct dataset *dataset, const struct stored_file *file)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", dataset->root, file->path);
    struct stat found;
    int fd;

    if (!dataset->declaration->is_copied || !*dataset->root)
        return -1;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 &&
        (fstat(fd, &found) < 0 || found.st_ino != file->source_inode ||
         (uint64_t)found.st_size != file->size || weir_mtime_ns(&found) != file->mtime_ns)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* The same piece of the source, if that is there. */
static void compare_source(struct doctor *doctor, const struct stored_file *file,
                           const uint8_t *here, size_t size, uint64_t at)
{
    const struct dataset *dataset = storage_doctor_dataset(doctor);
    WEIR_AUTO_FREE uint8_t *there = NULL;

    if (doctor->source_fd < 0 || doctor->is_reported)
        return;
    there = weir_calloc(1, PIECE_BYTES);
    if (weir_read_at(doctor->source_fd, there, size, at) == (ssize_t)size &&
        is_alike(dataset, here, there, size))
        return;
    close(doctor->source_fd);
    doctor->source_fd = -1;
    if (!is_still(doctor, dataset, file))
        return;
    doctor->is_reported = true;
    storage_doctor_say_file(
        doctor, DOCTOR_BYTES, DOCTOR_WRONG, file,
        weir_format("the copy differs from its source behind byte %" PRIu64, at),
        weir_strdup("the bytes of the source, which has not changed"));
}

/* Its ends, for whoever has no sums of it. */
static void end_file(struct doctor *doctor, const struct stored_file *file)
{
    if (!doctor->is_reported)
        check_ends(doctor, file);
}

/* A piece of the open file; *ret_more false when it is through. */
static enum weir_status compare_piece(struct doctor *doctor, const struct stored_file *file,
                                      bool *ret_more, struct weir_error *err)
{
    WEIR_AUTO_FREE uint8_t *here = weir_calloc(1, PIECE_BYTES);
    uint64_t at = doctor->read_at;
    ssize_t got = weir_read_at(doctor->fd, here, PIECE_BYTES, at);
    enum weir_status status = WEIR_OK;

    *ret_more = got > 0;
    if (got < 0)
        storage_doctor_say_file(doctor, DOCTOR_BYTES, DOCTOR_WRONG, file,
                                weir_strdup("it cannot be read"), NULL);
    else if (got == 0)
        end_file(doctor, file);
    if (got <= 0)
        return WEIR_OK;
    doctor->bytes += (uint64_t)got;
    doctor->read_at += (uint64_t)got;
    if (is_still(doctor, storage_doctor_dataset(doctor), file))
        status = storage_doctor_sums(doctor, file, at, weir_bytes(here, (size_t)got), err);
    compare_source(doctor, file, here, (size_t)got, at);
    return status;
}

/* ---- one after the other ---- */

static bool begin_file(struct doctor *doctor, const struct stored_file *file)
{
    const struct dataset *dataset = storage_doctor_dataset(doctor);
    WEIR_AUTO_FREE char *path = storage_dataset_path(dataset, file);
    struct stat found;
    char *what;

    doctor->files++;
    if (lstat(path, &found) < 0) {
        say_file(doctor, file, weir_strdup("it is missing"));
        return false;
    }
    what = difference(file, &found);
    if (what != NULL) {
        say_file(doctor, file, what);
        return false;
    }
    if (!doctor->is_deep || dataset->declaration->is_remote) /* it holds nothing */
        return false;
    doctor->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (doctor->fd < 0)
        return false;
    doctor->source_fd = is_comparable(doctor, dataset, file) ? open_source(dataset, file) : -1;
    doctor->read_at = 0;
    doctor->is_reported = false;
    return true;
}

static char *describe_bytes(const struct doctor *doctor)
{
    WEIR_AUTO_FREE char *unproven =
        weir_format(", %" PRIu64 " had none when the store was moved", doctor->unproven);

    return weir_format("%" PRIu64 " bytes read; %" PRIu64
                       " blocks are what their checksums say, %" PRIu64 " have none yet%s",
                       doctor->bytes, doctor->summed, doctor->unsummed,
                       doctor->unproven > 0 ? unproven : "");
}

static void end_files(struct doctor *doctor)
{
    if (!doctor->is_bad[DOCTOR_FILES])
        storage_doctor_say(doctor, DOCTOR_FILES, DOCTOR_FINE,
                           weir_format("%" PRIu64 " files as recorded", doctor->files), NULL);
    if (doctor->is_deep && !doctor->is_bad[DOCTOR_BYTES])
        storage_doctor_say(doctor, DOCTOR_BYTES, DOCTOR_FINE, describe_bytes(doctor), NULL);
}

enum weir_status storage_doctor_files(struct doctor *doctor, bool *ret_done, struct weir_error *err)
{
    const struct dataset *dataset = storage_doctor_dataset(doctor);
    struct stored_file *file = NULL;
    enum weir_status status;
    bool more = false;

    if (doctor->at >= doctor->file_count) {
        end_files(doctor);
        *ret_done = true;
        return WEIR_OK;
    }
    storage_file_cache_trim(dataset->file_cache);
    status = storage_dataset_file(dataset, doctor->at, &file, err);
    if (status != WEIR_OK)
        return status;
    if (file == NULL || file->state != FILE_LIVE || file->path == NULL || file->samples == 0) {
        doctor->at++;
        return WEIR_OK;
    }
    if (doctor->fd >= 0 || begin_file(doctor, file))
        status = compare_piece(doctor, file, &more, err);
    if (more)
        return status;
    storage_doctor_close_files(doctor);
    doctor->at++;
    return status;
}
