/* Names of records, and whether they were erased before: see intake.h. */
#include "storage/intake/intake.h"

#include <string.h>

/* ---- whose it is ---- */

/* The name of the folder above the file that is `depth` below the source. */
static struct format_value folder_of(const struct intake *intake, unsigned depth)
{
    const char *path = intake->file->path, *slash = strchr(path, '/');

    for (; depth > 1 && slash != NULL; depth--) {
        path = slash + 1;
        slash = strchr(path, '/');
    }
    if (slash == NULL)
        return (struct format_value){.kind = FORMAT_ABSENT};
    return (struct format_value){.kind = FORMAT_TEXT,
                                 .text = weir_bytes(path, (size_t)(slash - path))};
}

struct format_value storage_intake_value(const struct intake *intake, enum format_role role,
                                         const struct format_sample *sample)
{
    const struct format_field *field = &intake->dataset->declaration->fields.each[role];

    if (field->from == FORMAT_FOLDER)
        return folder_of(intake, field->depth);
    if ((field->from == FORMAT_MANIFEST || field->from == FORMAT_SIDECAR) && intake->row != NULL &&
        intake->row->each[role].size > 0)
        return (struct format_value){.kind = FORMAT_TEXT, .text = intake->row->each[role]};
    return sample->each[role];
}

/* False when there is no value. */
static bool hash_value(const struct intake *intake, enum storage_hash_domain domain,
                       const struct format_value *value, uint64_t *ret_hash)
{
    char scratch[STORAGE_NUMBER_MAX];
    struct weir_bytes text = storage_value_text(value, scratch);

    if (value->kind == FORMAT_ABSENT || text.size == 0)
        return false;
    *ret_hash = storage_hash(intake->secret, domain, text);
    return true;
}

struct record_names storage_intake_names(const struct intake *intake,
                                         const struct format_sample *sample)
{
    struct record_names names = {.subject = storage_intake_value(intake, FORMAT_SUBJECT, sample),
                                 .key = storage_intake_value(intake, FORMAT_KEY, sample)};

    names.has_subject = hash_value(intake, HASH_SUBJECT, &names.subject, &names.subject_hash);
    names.has_key = hash_value(intake, HASH_KEY, &names.key, &names.key_hash);
    return names;
}

/* ---- what was erased before ---- */

/* The clear value is looked at only when its hash was met. */
static bool is_erased_name(const struct intake *intake, enum storage_hash_domain domain,
                           uint64_t hash, const struct format_value *value)
{
    char scratch[STORAGE_NUMBER_MAX];
    struct key_name name;

    if (!storage_erased_names_may(intake->erased, domain, hash))
        return false;
    name = storage_key_name(intake->secret, domain, storage_value_text(value, scratch));
    return storage_erased_names_have(intake->erased, intake->dataset->number, &name);
}

/* The bytes of the sample that were read: for a one-sample file those its reader has set, for a bucket none. */
static struct weir_bytes content_of(const struct intake *intake, const struct format_sample *sample)
{
    if (intake->dataset->declaration->format->is_one_sample)
        return intake->content;
    return weir_bytes(intake->window.at + (sample->offset - intake->window_at),
                      (size_t)sample->length);
}

/* By what it is, and whose; both NULL where there is none. */
static bool is_erased_key(const struct intake *intake, const struct format_value *key,
                          const struct format_value *subject)
{
    char scratch[STORAGE_NUMBER_MAX];
    struct key_name names[2];

    if (key == NULL)
        return false;
    names[0] = storage_key_name(intake->secret, HASH_KEY, storage_value_text(key, scratch));
    if (subject != NULL)
        names[1] =
            storage_key_name(intake->secret, HASH_SUBJECT, storage_value_text(subject, scratch));
    return storage_dataset_blocked(intake->dataset,
                                   storage_guard_key(intake->secret, &names[0],
                                                     subject != NULL ? &names[1] : NULL)) != NULL;
}

static bool is_erased_content(const struct intake *intake, const struct format_sample *sample)
{
    return storage_guard_blocked(intake->secret, intake->dataset, intake->file->path, intake->head,
                                 content_of(intake, sample)) != NULL;
}

bool storage_intake_was_erased(const struct intake *intake, const struct record_names *names,
                               const struct format_sample *sample)
{
    return (names->has_subject &&
            is_erased_name(intake, HASH_SUBJECT, names->subject_hash, &names->subject)) ||
           (names->has_key && is_erased_name(intake, HASH_KEY, names->key_hash, &names->key)) ||
           (intake->dataset->blocked_count > 0 &&
            (is_erased_key(intake, names->has_key ? &names->key : NULL,
                           names->has_subject ? &names->subject : NULL) ||
             is_erased_content(intake, sample)));
}
