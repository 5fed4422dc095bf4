/* Times out of values, names and numbers of records: see intake.h. */
#include "storage/intake/intake.h"

#include "core/base/shape.h"
#include "core/base/utf8.h"
#include "storage/intake/numbers.h"

#include <stdio.h>

/* ---- numbers ---- */

static bool time_of_number(const struct declaration *d, const struct format_value *value,
                           int64_t *ret_time_us)
{
    int64_t whole;
    double real;

    if (d->time_unit != WEIR_TIME_SERIAL_DAYS && storage_intake_integer(value, &whole))
        return weir_written_time_of_integer(whole, d->time_unit, ret_time_us);
    return storage_intake_real(value, &real) &&
           weir_written_time_of_real(&d->written, real, d->time_unit, ret_time_us);
}

/* ---- files and records ---- */

/* All samples of a file have it: it is parsed once. */
static bool time_of_name(struct intake *intake, int64_t *ret_time_us)
{
    if (intake->named == NAMED_UNREAD)
        intake->named = weir_written_time_of_path(&intake->dataset->declaration->written,
                                                  intake->file->path, &intake->name_time_us)
                            ? NAMED_TIME
                            : NAMED_NONE;
    if (intake->named == NAMED_NONE)
        return false;
    *ret_time_us = intake->name_time_us;
    return true;
}

bool storage_intake_file_time(struct intake *intake, int64_t *ret_time_us)
{
    *ret_time_us = intake->mtime_us;
    return intake->dataset->declaration->time_from == TIME_FROM_MTIME ||
           (intake->dataset->declaration->time_from == TIME_FROM_FILE_NAME &&
            time_of_name(intake, ret_time_us));
}

/* Lines are counted from 1, records from 0. */
static bool time_of_record(const struct declaration *d, uint64_t record, int64_t *ret_time_us)
{
    int64_t passed;

    return !__builtin_mul_overflow(record - d->format->counts_lines, d->every_us, &passed) &&
           !__builtin_add_overflow(d->start_us, passed, ret_time_us);
}

/* ---- refused ---- */

static void append_expected(const struct declaration *d, struct weir_buf *out)
{
    const struct weir_written_time *written = &d->written;

    if (written->count == 0 && d->time_unit == WEIR_TIME_SERIAL_DAYS)
        weir_buf_append_text(out, "RFC 3339 like 2002-08-22T11:36:23Z, or days since 1900");
    else if (written->count == 0)
        weir_buf_append_text(out, "RFC 3339 like 2002-08-22T11:36:23Z, or a number");
    for (size_t i = 0; i < written->count; i++)
        weir_buf_printf(out, "%s\"%s\"", i > 0 ? " or " : "", written->pattern[i].text);
}

static void refuse(const struct declaration *d, const struct format_value *value, char *reason)
{
    WEIR_AUTO_BUF text = {0};
    char scratch[STORAGE_NUMBER_MAX], shape[WEIR_SHAPE_MAX + 1];
    struct weir_bytes found = storage_value_trim(storage_value_text(value, scratch));
    const char *name = d->fields.each[FORMAT_TIME].name;

    weir_shape(found, shape);
    weir_buf_append_text(&text, "time");
    if (name != NULL)
        weir_buf_printf(&text, " '%s'", name);
    if (value->kind == FORMAT_ABSENT)
        weir_buf_append_text(&text, ": found none, expected ");
    else if (value->kind == FORMAT_TRUTH)
        weir_buf_append_text(&text, ": found true or false, expected ");
    else
        weir_buf_printf(&text, ": found \"%s\" (9: a digit, A and a: letters), expected ", shape);
    append_expected(d, &text);
    if (value->kind == FORMAT_TEXT && weir_written_time_has_form(&d->written, found))
        weir_buf_append_text(&text, "; the form is right, but there is no such day or hour");
    if (value->kind == FORMAT_TEXT)
        weir_written_time_suggest(found, &text);
    else if (value->kind != FORMAT_ABSENT && value->kind != FORMAT_TRUTH && d->written.count == 0)
        weir_buf_append_text(&text, "; `unit` says what a number counts: s, ms, us, ns, excel");
    weir_utf8_print(reason, INTAKE_REASON_MAX, "%s", weir_buf_text(&text));
}

/* ---- the time ---- */

/* A time in the record, its sidecar or the manifest. */
static bool time_of_value(const struct declaration *d, const struct format_value *value,
                          int64_t *ret_time_us)
{
    char scratch[STORAGE_NUMBER_MAX];

    if (value->kind == FORMAT_ABSENT || value->kind == FORMAT_TRUTH)
        return false;
    if ((value->kind == FORMAT_TEXT || d->written.count > 0) &&
        weir_written_time_read(&d->written, storage_value_trim(storage_value_text(value, scratch)),
                               ret_time_us))
        return true;
    return d->written.count == 0 && time_of_number(d, value, ret_time_us);
}

bool storage_intake_time(struct intake *intake, const struct format_value *value, uint64_t record,
                         int64_t *ret_time_us, char reason[INTAKE_REASON_MAX])
{
    const struct declaration *d = intake->dataset->declaration;

    switch (d->time_from) {
    case TIME_FROM_MTIME:
        *ret_time_us = intake->mtime_us;
        return true;
    case TIME_FROM_FILE_NAME:
        if (time_of_name(intake, ret_time_us))
            return true;
        snprintf(reason, INTAKE_REASON_MAX, "found a name without a time, expected %.80s",
                 d->written.pattern[0].text);
        return false;
    case TIME_FROM_RECORD:
        if (time_of_record(d, record, ret_time_us))
            return true;
        snprintf(reason, INTAKE_REASON_MAX,
                 "record %llu has no time: it would be beyond the year 294246",
                 (unsigned long long)record);
        return false;
    case TIME_FROM_MANIFEST:
    case TIME_FROM_FIELD:
    case TIME_FROM_SIDECAR:
        break;
    }
    if (time_of_value(d, value, ret_time_us))
        return true;
    refuse(d, value, reason);
    return false;
}
