/* Reading subject and key again: see key_identify.h. */
#include "storage/keys/key_identify.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "storage/formats/manifest.h"
#include "storage/intake/intake.h"
#include "storage/reading/open_files.h"
#include "storage/scanning/sidecar.h"

#include <stdlib.h>
#include <unistd.h>

struct key_identifier {
    struct open_files *files;
    const struct storage_secret *secret;
    const struct dataset *dataset; /* whose manifest is held */
    struct manifest *manifest;     /* NULL: there is none */
};

struct key_identifier *storage_key_identifier_new(struct open_files *files,
                                                  const struct storage_secret *secret)
{
    struct key_identifier *identifier = weir_calloc(1, sizeof *identifier);

    identifier->files = files;
    identifier->secret = secret;
    return identifier;
}

void storage_key_identifier_free(struct key_identifier *identifier)
{
    if (!identifier)
        return;
    manifest_free(identifier->manifest);
    free(identifier);
}

/* ---- what the record says ---- */

struct reading {
    const struct storage_secret *secret;
    const struct manifest_row *row;
    const struct format_fields *fields;
    struct key_identity identity;
};

static bool is_beside(const struct format_field *field)
{
    return field->from == FORMAT_MANIFEST || field->from == FORMAT_SIDECAR;
}

static bool name_of(const struct reading *reading, enum format_role role,
                    enum storage_hash_domain domain, const struct format_sample *sample,
                    struct key_name *ret_name)
{
    struct format_value value = sample->each[role];
    char scratch[STORAGE_NUMBER_MAX];
    struct weir_bytes text;

    if (is_beside(&reading->fields->each[role]) && reading->row)
        value = (struct format_value){.kind = FORMAT_TEXT, .text = reading->row->each[role]};
    text = storage_value_text(&value, scratch);
    if (value.kind == FORMAT_ABSENT || text.size == 0)
        return false;
    *ret_name = storage_key_name(reading->secret, domain, text);
    return true;
}

static void on_sample(void *owner, const struct format_sample *sample)
{
    struct reading *reading = owner;
    struct key_identity *identity = &reading->identity;

    identity->is_known = true;
    identity->has_subject =
        name_of(reading, FORMAT_SUBJECT, HASH_SUBJECT, sample, &identity->subject);
    identity->has_key = name_of(reading, FORMAT_KEY, HASH_KEY, sample, &identity->key);
}

static void on_refuse(void *owner, const struct format_refusal *refusal)
{
    (void)owner;
    (void)refusal; /* it has been changed: unknown */
}

/* ---- reading it ---- */

static bool read_at(int fd, uint64_t offset, size_t size, struct weir_buf *bytes)
{
    ssize_t got;

    weir_buf_reserve(bytes, size + 1);
    got = pread(fd, bytes->at, size, (off_t)offset);
    bytes->size = got > 0 ? (size_t)got : 0;
    return bytes->size == size;
}

static void read_record(struct key_identifier *identifier, const struct located *found,
                        struct reading *reading)
{
    const struct declaration *d = found->dataset->declaration;
    const struct format_sink sink = {.owner = reading, .sample = on_sample, .refuse = on_refuse};
    struct open_files *files = identifier->files;
    int fd = storage_open_files_get(files, found->dataset, found->file);
    size_t head_size =
        found->file->size < FORMAT_HEAD_MAX ? (size_t)found->file->size : FORMAT_HEAD_MAX;
    struct format_input input = {.at = found->offset,
                                 .record = 1,
                                 .size = found->file->size,
                                 .is_last = true,
                                 .is_full = true};
    struct format_progress progress;
    struct weir_error err;
    WEIR_AUTO_BUF head = {0};
    WEIR_AUTO_BUF window = {0};

    if (fd < 0 || !read_at(fd, 0, head_size, &head) ||
        !read_at(fd, found->offset, d->format->is_one_sample ? 0 : (size_t)found->length,
                 &window) ||
        !storage_open_files_check(files, fd, found->file, reading->secret))
        return;
    input.head = weir_buf_view(&head);
    input.window = weir_buf_view(&window);
    if (d->format->index(&input, d->options, &d->fields, &sink, &progress, &err) != WEIR_OK)
        reading->identity.is_known = false;
}

/* A broken manifest is an absent one here: the scan complains about it. */
static void hold_manifest(struct key_identifier *identifier, const struct dataset *dataset)
{
    const struct format_sink sink = {.owner = identifier, .refuse = on_refuse};
    WEIR_AUTO_FREE char *path =
        weir_format("%s/%s", dataset->root, dataset->declaration->source.manifest);
    WEIR_AUTO_BUF text = {0};
    struct weir_error err;

    if (identifier->dataset == dataset)
        return;
    manifest_free(identifier->manifest);
    identifier->manifest = NULL;
    identifier->dataset = dataset;
    if (weir_file_read(path, MANIFEST_BYTES_MAX, &text, &err) == WEIR_OK)
        weir_ignore(manifest_read(path, weir_buf_view(&text), &dataset->declaration->fields, &sink,
                                  &identifier->manifest, &err));
}

/* What the manifest or the sidecar says; NULL: nothing. */
static const struct manifest_row *row_of(struct key_identifier *identifier,
                                         const struct located *found, struct sidecar *sidecar)
{
    const char *path = found->file->path;
    struct weir_error err;

    if (found->dataset->declaration->wants_sidecar)
        return storage_sidecar_read(found->dataset, path, sidecar, &err) == WEIR_OK ? &sidecar->row
                                                                                    : NULL;
    hold_manifest(identifier, found->dataset);
    return identifier->manifest ? manifest_find(identifier->manifest, path) : NULL;
}

struct key_identity storage_key_identify(struct key_identifier *identifier,
                                         const struct located *found)
{
    const struct format_fields *fields = &found->dataset->declaration->fields;
    struct reading reading = {.secret = identifier->secret, .fields = fields};
    bool wants_row = is_beside(&fields->subject) || is_beside(&fields->key);
    struct sidecar sidecar = {0};

    if (!found->file || !found->file->path || found->file->state != FILE_LIVE)
        return reading.identity;
    if (wants_row)
        reading.row = row_of(identifier, found, &sidecar);
    if (!wants_row || reading.row)
        read_record(identifier, found, &reading);
    storage_sidecar_fini(&sidecar);
    return reading.identity;
}
