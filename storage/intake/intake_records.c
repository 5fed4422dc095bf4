/* Records of equal length, column by column: what most of a large binary file goes through. Whatever is
 * not plain numbers, or might be refused or kept out, goes record by record (intake.c). */
#include "storage/intake/batch_stage.h"
#include "storage/intake/intake.h"

static bool is_plain(const struct declaration *d)
{
    return d->fields.each[FORMAT_SUBJECT].from == FORMAT_NOWHERE &&
           d->fields.each[FORMAT_KEY].from == FORMAT_NOWHERE && d->label_kind != WEIR_LABEL_CLASS &&
           d->label_kind != WEIR_LABEL_VALUES && !d->has_threshold &&
           d->time_from != TIME_FROM_RECORD && d->written.count == 0 &&
           d->time_unit <= WEIR_TIME_US;
}

static void fill(int64_t *values, size_t count, int64_t value)
{
    for (size_t i = 0; i < count; i++)
        values[i] = value;
}

static bool scale(int64_t *values, size_t count, int64_t unit)
{
    bool overflows = false;

    for (size_t i = 0; unit != 1 && i < count; i++)
        overflows |= __builtin_mul_overflow(values[i], unit, &values[i]);
    return !overflows;
}

static bool take_times(struct intake *intake, const struct format_records *records, int64_t *times)
{
    const struct declaration *d = intake->dataset->declaration;
    int64_t time;

    if (d->time_from == TIME_FROM_FIELD)
        return storage_format_column_integers(&d->fields.each[FORMAT_TIME], records, times) &&
               scale(times, records->count, weir_time_unit_us(d->time_unit));
    if (!storage_intake_file_time(intake, &time))
        return false;
    fill(times, records->count, time);
    return true;
}

static bool take_labels(const struct intake *intake, const struct format_records *records,
                        int64_t *labels)
{
    const struct declaration *d = intake->dataset->declaration;
    const struct format_field *field = &d->fields.each[FORMAT_LABEL];

    if (d->label_kind == WEIR_LABEL_INT)
        return storage_format_column_integers(field, records, labels);
    if (d->label_kind == WEIR_LABEL_FLOAT)
        return storage_format_column_reals(field, records, labels);
    fill(labels, records->count, 0);
    return d->label_kind == WEIR_LABEL_NONE;
}

bool storage_intake_records(void *owner, const struct format_records *records)
{
    struct intake *intake = owner;
    int64_t *columns[BATCH_COLUMNS];

    if (!is_plain(intake->dataset->declaration) || intake->dataset->blocked_count > 0)
        return false;
    storage_batch_room(intake->batch, records->count, columns);
    if (!take_times(intake, records, columns[BATCH_TIME]) ||
        !take_labels(intake, records, columns[BATCH_LABEL]))
        return false;
    storage_unclaimed_end(&intake->unclaimed, records->offset);
    for (size_t i = 0; i < records->count; i++)
        columns[BATCH_OFFSET][i] = (int64_t)(records->offset + i * records->length);
    fill(columns[BATCH_LENGTH], records->count, (int64_t)records->length);
    storage_batch_add_rows(intake->batch, intake->file, records->count);
    return true;
}
