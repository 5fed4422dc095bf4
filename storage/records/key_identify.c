/* Reading subject and key again: see key_identify.h. */
#include "storage/records/key_identify.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "storage/files/sidecar.h"
#include "storage/formats/manifest.h"
#include "storage/formats/text.h"

#include <stdlib.h>

/* The beginning of a file: of the many records that are identified in it, each would read it again. */
struct held_head {
    const struct dataset *dataset; /* NULL: none is held */
    uint64_t device, inode;
    int64_t mtime_ns;
    uint64_t size; /* of the file */
    struct weir_buf bytes;
};

/* Bytes after the payload of a record in a shard that are read with it. */
enum { AFTER_BYTES = 4 << 10 };

struct key_identifier {
    struct gather_from from;
    const struct dataset *dataset; /* owner of the manifest that is held */
    struct manifest *manifest;     /* NULL: there is none */
    struct held_head head;         /* of the file that was read last */
};

struct key_identifier *storage_key_identifier_new(const struct gather_from *from)
{
    struct key_identifier *identifier = weir_calloc(1, sizeof(*identifier));

    identifier->from = *from;
    return identifier;
}

void storage_key_identifier_free(struct key_identifier *identifier)
{
    if (identifier == NULL)
        return;
    storage_manifest_free(identifier->manifest);
    weir_buf_fini(&identifier->head.bytes);
    free(identifier);
}

/* ---- what the record says ---- */

struct reading {
    const struct storage_secret *secret;
    const struct manifest_row *row;
    const struct format_fields *fields;
    uint64_t offset; /* of its payload */
    struct key_identity identity;
};

static bool is_beside(const struct format_field *field)
{
    return field->from == FORMAT_MANIFEST || field->from == FORMAT_SIDECAR;
}

static bool is_named(const struct declaration *declaration, enum format_role role)
{
    return (declaration->fields.each[role].from & (FORMAT_NAMED | FORMAT_AT | FORMAT_COLUMNS)) != 0;
}

bool storage_key_is_inside(const struct declaration *declaration, enum format_role role)
{
    return is_named(declaration, role) && declaration->format->scrub == NULL;
}

bool storage_key_any_is_named(const struct declaration *declaration)
{
    return is_named(declaration, FORMAT_SUBJECT) || is_named(declaration, FORMAT_KEY);
}

bool storage_key_any_is_inside(const struct declaration *declaration)
{
    return storage_key_is_inside(declaration, FORMAT_SUBJECT) ||
           storage_key_is_inside(declaration, FORMAT_KEY);
}

static bool name_of(const struct reading *reading, enum format_role role,
                    enum storage_hash_domain domain, const struct format_sample *sample,
                    struct key_name *ret_name)
{
    struct format_value value = sample->each[role];
    char scratch[STORAGE_NUMBER_MAX];
    struct weir_bytes text;

    if (is_beside(&reading->fields->each[role]) && reading->row != NULL)
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

    if (sample->offset != reading->offset) /* its neighbour in a shard */
        return;
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

static bool holds_head(const struct held_head *head, const struct located *found)
{
    const struct stored_file *file = found->file;

    return head->dataset == found->dataset && head->device == file->device &&
           head->inode == file->inode && head->mtime_ns == file->mtime_ns &&
           head->size == file->size;
}

/* False when the file is no longer what was indexed. */
static bool read_range(struct key_identifier *identifier, const struct located *found,
                       struct format_range wanted, struct weir_buf *out)
{
    struct gather_range range = {.dataset = found->dataset,
                                 .file = found->file,
                                 .offset = wanted.offset,
                                 .length = wanted.length};

    weir_buf_clear(out);
    weir_buf_reserve(out, wanted.length + 1);
    range.to = out->at;
    storage_gather(&identifier->from, &range, 1);
    out->size = range.is_read ? wanted.length : 0;
    return range.is_read;
}

/* Bytes of the beginning that the format needs to see, as its first FORMAT_HEAD_MAX bytes, if they are read, say. */
static uint64_t size_of_head(const struct located *found, struct weir_bytes first)
{
    const struct format *format = found->dataset->declaration->format;
    uint64_t wanted = FORMAT_HEAD_MAX;

    if (format->is_one_sample) /* nothing of it says whose it is */
        return 0;
    if (first.size > 0 && format->head_bytes != NULL)
        wanted = format->head_bytes(first);
    wanted = wanted < FORMAT_RECORD_MAX ? wanted : FORMAT_RECORD_MAX;
    return wanted < found->file->size ? wanted : found->file->size;
}

static bool hold_head(struct key_identifier *identifier, const struct located *found)
{
    struct held_head *head = &identifier->head;
    struct format_range range = {.length = size_of_head(found, weir_bytes(NULL, 0))};

    if (holds_head(head, found))
        return true;
    head->dataset = NULL;
    if (!read_range(identifier, found, range, &head->bytes))
        return false;
    range.length = size_of_head(found, weir_buf_view(&head->bytes));
    if (range.length > head->bytes.size && !read_range(identifier, found, range, &head->bytes))
        return false;
    head->dataset = found->dataset;
    head->device = found->file->device;
    head->inode = found->file->inode;
    head->mtime_ns = found->file->mtime_ns;
    head->size = found->file->size;
    return true;
}

/* The first byte of the record: in a shard it may lie before the payload. */
static struct format_start start_of(const struct key_identifier *identifier,
                                    const struct located *found)
{
    const struct format *format = found->dataset->declaration->format;
    struct format_start start = {0};

    if (format->start != NULL)
        start = format->start(weir_buf_view(&identifier->head.bytes), 0, found->offset);
    if (start.at > 0 && start.at <= found->offset && found->offset - start.at < FORMAT_RECORD_MAX)
        return start;
    return (struct format_start){found->offset, 1};
}

/* The bytes of the record, with those that a shard has after its payload. */
static struct format_range window_of(const struct located *found, uint64_t begin)
{
    const struct format *format = found->dataset->declaration->format;
    uint64_t end = found->offset + found->length, size = found->file->size;

    if (format->is_one_sample)
        return (struct format_range){0};
    if (format->start != NULL)
        end = size - end < AFTER_BYTES ? size : end + AFTER_BYTES;
    return (struct format_range){begin, end - begin};
}

static void read_record(struct key_identifier *identifier, const struct located *found,
                        struct reading *reading)
{
    const struct declaration *d = found->dataset->declaration;
    const struct format_sink sink = {.owner = reading, .sample = on_sample, .refuse = on_refuse};
    struct format_input input = {.size = found->file->size, .is_last = true, .is_full = true};
    struct format_start start;
    struct format_progress progress;
    struct weir_error err;
    WEIR_AUTO_BUF window = {0};

    if (found->offset > input.size || found->length > input.size - found->offset ||
        !hold_head(identifier, found))
        return;
    start = start_of(identifier, found);
    if (!read_range(identifier, found, window_of(found, start.at), &window))
        return;
    input.at = start.at;
    input.record = start.record;
    input.head = weir_buf_view(&identifier->head.bytes);
    input.window = weir_buf_view(&window);
    reading->offset = found->offset;
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
    storage_manifest_free(identifier->manifest);
    identifier->manifest = NULL;
    identifier->dataset = dataset;
    if (weir_file_read(path, MANIFEST_BYTES_MAX, &text, &err) == WEIR_OK)
        weir_ignore(storage_manifest_read(path, weir_buf_view(&text), &dataset->declaration->fields,
                                          &sink, &identifier->manifest, &err));
}

/* Row of the manifest or the sidecar; NULL: there is none. */
static const struct manifest_row *row_of(struct key_identifier *identifier,
                                         const struct located *found, struct sidecar *sidecar)
{
    const char *path = found->file->path;
    struct weir_error err;

    if (found->dataset->declaration->wants_sidecar)
        return storage_sidecar_read(found->dataset, path, sidecar, &err) == WEIR_OK ? &sidecar->row
                                                                                    : NULL;
    hold_manifest(identifier, found->dataset);
    return identifier->manifest != NULL ? storage_manifest_find(identifier->manifest, path) : NULL;
}

struct key_identity storage_key_identify(struct key_identifier *identifier,
                                         const struct located *found)
{
    const struct format_fields *fields = &found->dataset->declaration->fields;
    struct reading reading = {.secret = identifier->from.secret, .fields = fields};
    bool wants_row = is_beside(&fields->subject) || is_beside(&fields->key);
    struct sidecar sidecar = {0};

    if (found->file == NULL || found->file->path == NULL || found->file->state != FILE_LIVE)
        return reading.identity;
    if (wants_row)
        reading.row = row_of(identifier, found, &sidecar);
    if (!wants_row || reading.row != NULL)
        read_record(identifier, found, &reading);
    storage_sidecar_fini(&sidecar);
    return reading.identity;
}
