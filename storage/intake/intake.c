/* Values of samples: see intake.h. */
#include "storage/intake/intake.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/utf8.h"
#include "core/config/csv.h"
#include "core/config/schema.h"
#include "storage/chunks/label_values.h"
#include "storage/intake/numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { REASON_MAX = INTAKE_REASON_MAX, QUOTE_MAX = 40, CLASS_NAME_MAX = 256 };

void storage_intake_fini(struct intake *intake)
{
    storage_unclaimed_fini(&intake->unclaimed);
    free(intake->values);
    intake->values = NULL;
}

/* ---- complaints ---- */

static char *name_of(const struct intake *intake)
{
    return storage_printable(intake->origin != NULL ? intake->origin : intake->file->path);
}

static void refuse_at(struct intake *intake, uint64_t record, uint64_t offset, const char *reason,
                      bool is_tail)
{
    const struct format *format = intake->dataset->declaration->format;
    WEIR_AUTO_FREE char *path = name_of(intake);
    WEIR_AUTO_FREE char *place = NULL;

    if (intake->refusing != NULL)
        intake->refusing(intake->listener, record, reason);
    if (intake->refused >= REFUSALS_LISTED_MAX && !is_tail) {
        intake->refused_more++;
        return;
    }
    intake->refused++;
    if (format->is_one_sample)
        place = weir_strdup(path);
    else if (format->counts_lines)
        place = weir_format("%s:%llu", path, (unsigned long long)record);
    else
        place = weir_format("%s: record %llu, byte %llu", path, (unsigned long long)record,
                            (unsigned long long)offset);
    storage_batch_refuse(intake->batch, &(struct batch_refusal){.path = intake->file->path,
                                                                .place = place,
                                                                .reason = reason,
                                                                .count = 1,
                                                                .is_tail = is_tail});
}

/* Refused: it is blanked in a copy, and stays in what is written back to a bucket. */
static void leave(struct intake *intake, uint64_t offset)
{
    if (intake->blanks == INTAKE_BLANKS_ALL)
        storage_unclaimed_record(&intake->unclaimed, offset);
    else
        storage_unclaimed_end(&intake->unclaimed, offset);
}

void storage_intake_refuse(struct intake *intake, const struct format_refusal *refusal)
{
    refuse_at(intake, refusal->record, refusal->offset, refusal->reason, refusal->is_tail);
    leave(intake, refusal->offset);
}

void storage_intake_refuse_file(struct intake *intake, const char *reason)
{
    WEIR_AUTO_FREE char *place = name_of(intake);

    storage_batch_refuse(intake->batch, &(struct batch_refusal){.path = intake->file->path,
                                                                .place = place,
                                                                .reason = reason,
                                                                .count = 1});
}

static void stage_count(struct intake *intake, const char *reason, uint64_t *count, bool is_blocked)
{
    WEIR_AUTO_FREE char *place = name_of(intake);

    if (*count == 0)
        return;
    storage_batch_refuse(intake->batch, &(struct batch_refusal){.path = intake->file->path,
                                                                .place = place,
                                                                .reason = reason,
                                                                .count = *count,
                                                                .is_blocked = is_blocked});
    *count = 0;
}

void storage_intake_finish(struct intake *intake)
{
    stage_count(intake, STORAGE_MORE_LIKE_THESE, &intake->refused_more, false);
    stage_count(intake, "erased before", &intake->blocked, true);
}

bool storage_intake_forget(struct intake *intake, const struct stat *source)
{
    struct stored_file *file = intake->file;
    const struct stored_file found = {.size = (uint64_t)source->st_size,
                                      .mtime_ns = weir_mtime_ns(source),
                                      .source_inode = source->st_ino};

    if (file->samples > 0 || intake->blocked == 0 || intake->refused + intake->refused_more > 0)
        return false;
    storage_batch_block(intake->batch,
                        storage_guard_file(intake->secret, &found, file->path, intake->ctime_ns));
    intake->blocked--; /* counted by that */
    intake->origin = "a file that holds nothing else";
    free(file->path);
    file->path = weir_strdup("");
    stage_count(intake, "erased before", &intake->blocked, true);
    free(file->path);
    file->path = NULL;
    file->state = FILE_ERASED;
    return true;
}

/* Quotes a value only where nobody's data can be in it. `quoted` holds QUOTE_MAX + 3 characters. */
static const char *quote(const struct intake *intake, struct weir_bytes text, char *quoted)
{
    size_t size = weir_utf8_cut(text, QUOTE_MAX);
    WEIR_AUTO_FREE char *copy = NULL;
    WEIR_AUTO_FREE char *plain = NULL;

    if (weir_utf8_whole(text) < text.size)
        return "text that is no UTF-8 (iconv converts it)";
    if (intake->dataset->declaration->has_subject)
        return "a value";
    copy = weir_strndup(size > 0 ? (const char *)text.at : "", size);
    plain = storage_printable(copy);
    weir_utf8_print(quoted, QUOTE_MAX + 3, "'%s'", plain);
    return quoted;
}

/* ---- label ---- */

/* Well-formed UTF-8 without control characters. */
static bool is_class_name(struct weir_bytes name)
{
    size_t size;

    if (name.size == 0 || name.size > CLASS_NAME_MAX)
        return false;
    for (; name.size > 0; name = weir_bytes(name.at + size, name.size - size)) {
        size = weir_utf8_character(name);
        if (size == 0 || name.at[0] < 0x20 || name.at[0] == 0x7f)
            return false;
    }
    return true;
}

static bool is_near(struct weir_bytes name, const char *class_name)
{
    return strlen(class_name) == name.size &&
           strncasecmp((const char *)name.at, class_name, name.size) == 0;
}

/* Returns the declared class that is most like the name, NULL: none is. */
static const char *nearest_class(const struct dataset *dataset, struct weir_bytes name)
{
    WEIR_AUTO_FREE char *text = weir_strndup((const char *)name.at, name.size);
    WEIR_AUTO_FREE const char **names = weir_calloc(dataset->class_count + 1, sizeof(*names));

    for (size_t i = 0; i < dataset->class_count; i++)
        names[i] = dataset->classes[i];
    return name.size > 0 ? cfg_nearest(text, names) : NULL;
}

/* Returns the rest of the reason: one of the declared classes is meant, or none is needed. */
static const char *explain_class(const struct intake *intake, const struct format_value *value,
                                 struct weir_bytes name, char explained[QUOTE_MAX])
{
    struct weir_bytes bare = storage_value_trim(name);
    int64_t number;

    for (size_t i = 0; i < intake->dataset->class_count && bare.size > 0; i++)
        if (is_near(bare, intake->dataset->classes[i]))
            return ": but for spaces or capital letters it is one";
    if (storage_intake_integer(value, &number) && (number == 0 || number == 1))
        return ": 0 and 1, or false and true, need none declared";
    const char *near = nearest_class(intake->dataset, bare);

    if (near == NULL)
        return "";
    snprintf(explained, QUOTE_MAX, " (did you mean '%.*s'?)",
             (int)weir_utf8_cut(weir_bytes_of(near), QUOTE_MAX / 2), near);
    return explained;
}

static bool convert_class(const struct intake *intake, const struct format_value *value,
                          int64_t *ret_label, char *reason)
{
    const struct declaration *d = intake->dataset->declaration;
    char scratch[STORAGE_NUMBER_MAX], quoted[QUOTE_MAX + 3], explained[QUOTE_MAX];
    struct weir_bytes name = storage_value_text(value, scratch);

    if (d->classes != NULL && d->fields.label.from == FORMAT_AT) { /* the number is the class */
        if (storage_intake_integer(value, ret_label) && *ret_label >= 0 &&
            (size_t)*ret_label < intake->dataset->class_count)
            return true;
    } else if (is_class_name(name)) {
        *ret_label = storage_dataset_class(intake->dataset, name);
        if (*ret_label >= 0)
            return true;
    }
    weir_utf8_print(reason, REASON_MAX, "label: found %s, expected %s%s",
                    value->kind == FORMAT_ABSENT ? "none" : quote(intake, name, quoted),
                    d->classes != NULL
                        ? "one of the declared classes"
                        : "a class name: UTF-8 of 1 to 256 bytes, no control characters",
                    d->classes != NULL ? explain_class(intake, value, name, explained) : "");
    return false;
}

/* Writes the reason for a value that is no vector. */
static bool refuse_values(const struct intake *intake, const struct format_value *value,
                          char *reason)
{
    const struct declaration *d = intake->dataset->declaration;
    char scratch[STORAGE_NUMBER_MAX], quoted[QUOTE_MAX + 3];

    if (value->kind == FORMAT_LIST)
        snprintf(reason, REASON_MAX, "label: found %zu numbers, expected %u", value->list.count,
                 d->label_width);
    else
        weir_utf8_print(reason, REASON_MAX, "label: found %s, expected %u numbers",
                        value->kind == FORMAT_ABSENT
                            ? "no list of numbers"
                            : quote(intake, storage_value_text(value, scratch), quoted),
                        d->label_width);
    return false;
}

static bool convert_values(struct intake *intake, const struct format_value *value, char *reason)
{
    const struct declaration *d = intake->dataset->declaration;
    double numbers[FORMAT_LIST_MAX];
    struct format_value list = *value;

    if (value->kind == FORMAT_TEXT)
        list = storage_format_list_of(value->text, numbers);
    if (list.kind != FORMAT_LIST || list.list.count != d->label_width)
        return refuse_values(intake, &list, reason);
    if (intake->values == NULL)
        intake->values = weir_calloc(d->label_width, sizeof(double));
    if (storage_values_pack(d, list.list.at, intake->values))
        return true;
    snprintf(reason, REASON_MAX, "label: found a number beyond %s, expected finite ones",
             weir_dtype_name(d->value_type));
    return false;
}

static bool exceeds(const struct declaration *d, const struct format_value *value,
                    int64_t *ret_label)
{
    double real;

    if (!storage_intake_real(value, &real))
        return false;
    *ret_label = real >= d->threshold;
    return true;
}

static bool has_digit(struct weir_bytes text)
{
    bool has = false;

    for (size_t i = 0; i < text.size; i++)
        has = has || (text.at[i] >= '0' && text.at[i] <= '9');
    return has;
}

/* Returns what takes a value that is no number; "" where there is none. */
static const char *remedy_for(const struct format_value *value, bool is_counted)
{
    double real;

    if (value->kind == FORMAT_ABSENT)
        return "";
    if (is_counted && storage_intake_real(value, &real))
        return "; type: float takes numbers with a fraction";
    if (storage_intake_has_comma(value))
        return "; a label is written with a point";
    if (value->kind == FORMAT_TEXT && cfg_csv_is_blank_word(storage_value_trim(value->text)))
        return "; source.missing may list it, and records without a label are left out";
    return value->kind == FORMAT_TEXT && has_digit(value->text)
               ? "; names need classes: stream, and numbers stand without their unit"
               : "; names need classes: stream";
}

static bool convert_label(struct intake *intake, const struct format_value *value,
                          int64_t *ret_label, char *reason)
{
    const struct declaration *d = intake->dataset->declaration;
    bool is_counted = d->label_kind == WEIR_LABEL_INT && !d->has_threshold;
    char scratch[STORAGE_NUMBER_MAX], quoted[QUOTE_MAX + 3];
    double real;

    *ret_label = 0;
    if (d->awaits_label)
        return true;
    switch (d->label_kind) {
    case WEIR_LABEL_NONE:
        return true;
    case WEIR_LABEL_VALUES:
        return convert_values(intake, value, reason);
    case WEIR_LABEL_CLASS:
        return convert_class(intake, value, ret_label, reason);
    case WEIR_LABEL_INT:
        if (is_counted ? storage_intake_integer(value, ret_label) : exceeds(d, value, ret_label))
            return true;
        break;
    case WEIR_LABEL_FLOAT:
        if (storage_intake_real(value, &real)) {
            memcpy(ret_label, &real, sizeof(real));
            return true;
        }
        break;
    }
    weir_utf8_print(reason, REASON_MAX, "label: found %s, expected %s%s",
                    value->kind == FORMAT_ABSENT
                        ? "none"
                        : quote(intake, storage_value_text(value, scratch), quoted),
                    is_counted ? "an integer" : "a number", remedy_for(value, is_counted));
    return false;
}

/* ---- what was erased before ---- */

/* First byte that belongs to the sample. */
static uint64_t begin_of(const struct format_sample *sample)
{
    return sample->extent.length > 0 ? sample->extent.offset : sample->offset;
}

static void keep_out(struct intake *intake, const struct format_sample *sample)
{
    intake->is_kept_out = true;
    if (intake->dataset->declaration->format->is_one_sample) /* its name may be a person's */
        storage_batch_block(
            intake->batch,
            storage_guard_file(intake->secret, intake->file, intake->file->path, intake->ctime_ns));
    else
        intake->blocked++;
    if (intake->blanks != INTAKE_BLANKS_NOTHING)
        storage_unclaimed_record(&intake->unclaimed, begin_of(sample));
}

/* ---- the sink ---- */

/* Without a key no label ever finds its sample. */
static bool joins(const struct intake *intake, bool has_key, char *reason)
{
    const struct declaration *d = intake->dataset->declaration;

    if (has_key || (!d->awaits_label && d->updates == NULL))
        return true;
    snprintf(reason, REASON_MAX, "key: found none, expected one: labels and samples meet by it");
    return false;
}

/* Of a record that is refused. */
static void note_names(const struct intake *intake, const struct record_names *names)
{
    if (names->has_subject)
        storage_batch_refused_name(intake->batch, intake->file, names->subject_hash);
    if (names->has_key)
        storage_batch_refused_name(intake->batch, intake->file, names->key_hash);
}

static void on_sample(void *owner, const struct format_sample *sample)
{
    struct intake *intake = owner;
    const struct record_names names = storage_intake_names(intake, sample);
    struct format_value time = storage_intake_value(intake, FORMAT_TIME, sample);
    struct format_value label = storage_intake_value(intake, FORMAT_LABEL, sample);
    struct batch_row row = {.offset = sample->offset,
                            .length = sample->length,
                            .subject = names.subject_hash,
                            .key = names.key_hash,
                            .has_subject = names.has_subject,
                            .has_key = names.has_key};
    char reason[REASON_MAX];
    bool returns = storage_intake_was_erased(intake, &names, sample);

    if (returns && !intake->dataset->accepts_returns) {
        keep_out(intake, sample);
        return;
    }
    if (!storage_intake_time(intake, &time, sample->record, &row.time, reason) ||
        !joins(intake, row.has_key, reason) ||
        !convert_label(intake, &label, &row.label, reason)) { /* last: it may name a class */
        refuse_at(intake, sample->record, sample->offset, reason, false);
        leave(intake, begin_of(sample));
        note_names(intake, &names);
        return;
    }
    if (intake->unclaimed.is_open)
        storage_unclaimed_end(&intake->unclaimed, begin_of(sample));
    row.values = intake->values;
    storage_batch_row(intake->batch, intake->file, &row);
    if (returns)
        storage_batch_returned(intake->batch);
}

static void on_refuse(void *owner, const struct format_refusal *refusal)
{
    storage_intake_refuse(owner, refusal);
}

struct format_sink storage_intake_sink(struct intake *intake)
{
    return (struct format_sink){.owner = intake,
                                .sample = on_sample,
                                .records = storage_intake_records,
                                .refuse = on_refuse};
}
