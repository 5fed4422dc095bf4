/* Sidecar files: see sidecar.h. */
#include "storage/files/sidecar.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "storage/files/extent.h"
#include "storage/files/place.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

char *storage_sidecar_path(const struct dataset *dataset, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash != NULL ? slash : path, '.');
    size_t stem = dot != NULL ? (size_t)(dot - path) : strlen(path);

    return weir_format("%.*s%s", (int)stem, path, dataset->declaration->source.sidecar);
}

/* Not the inode: a restored source has others, and is the same. */
static uint64_t hash_of(const struct stat *sidecar)
{
    uint64_t hash =
        weir_mix64((uint64_t)sidecar->st_size ^ weir_mix64((uint64_t)weir_mtime_ns(sidecar))) &
        UINT32_MAX;

    return hash > SIDECAR_NONE ? hash : SIDECAR_NONE + 1;
}

uint64_t storage_sidecar_identity(const struct dataset *dataset, const char *path,
                                  struct stat *ret_sidecar)
{
    WEIR_AUTO_FREE char *beside = storage_sidecar_path(dataset, path);
    WEIR_AUTO_FREE char *place = weir_format("%s/%s", dataset->root, beside);

    *ret_sidecar = (struct stat){0};
    return lstat(place, ret_sidecar) < 0 ? SIDECAR_NONE : hash_of(ret_sidecar);
}

/* The sidecar that was read, or the one that lies beside the very file of the sample. */
static bool is_of(const struct stored_file *file, int folder, const struct stat *sidecar)
{
    const char *slash = strrchr(file->path, '/');
    struct stat sample;

    return hash_of(sidecar) == file->prefix_hash ||
           (fstatat(folder, slash != NULL ? slash + 1 : file->path, &sample, AT_SYMLINK_NOFOLLOW) ==
                0 &&
            sample.st_ino == file->inode);
}

int storage_sidecar_unlink(const struct dataset *dataset, const struct stored_file *file)
{
    WEIR_AUTO_FREE char *beside = storage_sidecar_path(dataset, file->path);
    const char *name;
    WEIR_AUTO_FD int folder =
        storage_place_folder(dataset, &(struct stored_file){.path = beside}, &name);
    struct stat sidecar;

    if (folder < 0 || fstatat(folder, name, &sidecar, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    if (is_of(file, folder, &sidecar))
        return unlinkat(folder, name, 0);
    errno = ESTALE;
    return -1;
}

void storage_sidecar_fini(struct sidecar *sidecar)
{
    storage_json_fields_fini(&sidecar->members);
    weir_buf_fini(&sidecar->text);
}

static enum weir_status read_text(const struct dataset *dataset, const char *path,
                                  struct weir_buf *text, struct weir_error *err)
{
    WEIR_AUTO_FREE char *beside = storage_sidecar_path(dataset, path);
    WEIR_AUTO_FD int fd = weir_open_beneath(dataset->root, beside, O_RDONLY | O_CLOEXEC);
    struct stat found;

    if (fd < 0 || fstat(fd, &found) < 0 || !S_ISREG(found.st_mode))
        return weir_fail(err, WEIR_NOT_FOUND, "found no %s beside it, expected one",
                         dataset->declaration->source.sidecar);
    if (found.st_size > SIDECAR_BYTES_MAX)
        return weir_fail(err, WEIR_INVALID, "found %lld bytes in its %s, expected at most %d",
                         (long long)found.st_size, dataset->declaration->source.sidecar,
                         SIDECAR_BYTES_MAX);
    return storage_range_read(fd, (struct format_range){0, (uint64_t)found.st_size}, text, err);
}

/* Numbers and lists as they are written, texts without their quotes, true and false as 1 and 0. */
static struct weir_bytes member_of(struct sidecar *sidecar, enum format_role role)
{
    struct format_value value = storage_json_fields_value(&sidecar->members, role);
    struct weir_bytes raw = sidecar->members.found[role];

    if (value.kind == FORMAT_TEXT)
        return value.text;
    if (value.kind == FORMAT_ABSENT)
        return weir_bytes(NULL, 0);
    if (raw.at[0] == 't' || raw.at[0] == 'f')
        return weir_bytes(raw.at[0] == 't' ? "1" : "0", 1);
    return raw;
}

enum weir_status storage_sidecar_read(const struct dataset *dataset, const char *path,
                                      struct sidecar *sidecar, struct weir_error *err)
{
    const struct format_fields *fields = &dataset->declaration->fields;
    enum weir_status status = read_text(dataset, path, &sidecar->text, err);
    bool has_names = false;

    storage_json_fields_fini(&sidecar->members); /* the names may be others now */
    for (int i = 0; i < FORMAT_ROLES; i++) {
        const struct format_field *field = &fields->each[i];

        sidecar->members.names[i] = field->from == FORMAT_SIDECAR ? field->name : NULL;
        has_names = has_names || sidecar->members.names[i] != NULL;
    }
    if (status == WEIR_OK && has_names &&
        !storage_json_fields_read(&sidecar->members, weir_buf_view(&sidecar->text)))
        return weir_fail(err, WEIR_INVALID, "%s at byte %zu of its %s, expected one JSON object",
                         sidecar->members.complaint, sidecar->members.column,
                         dataset->declaration->source.sidecar);
    for (int i = 0; status == WEIR_OK && i < FORMAT_ROLES; i++) {
        if (fields->each[i].from == FORMAT_SIDECAR)
            sidecar->row.each[i] = sidecar->members.names[i] != NULL
                                       ? member_of(sidecar, (enum format_role)i)
                                       : weir_bytes_trim(weir_buf_view(&sidecar->text));
    }
    return status;
}
