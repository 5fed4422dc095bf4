/* Format `binary`: fixed-size records end to end, after a header of any kind; fields are numbers at an
 * offset of the record. */
#include "storage/formats/format.h"

#include <stdio.h>

struct binary_options {
    uint64_t record_bytes;
    uint64_t header_bytes;
    int byte_order; /* enum format_order */
};

static const char *const ORDERS[] = {"little", "big", NULL};
static const struct cfg_key OPTIONS[] = {
    CFG_U64(struct binary_options, record_bytes, .required = true, .min = 1,
            .max = FORMAT_RECORD_MAX, .doc = "bytes of a record"),
    CFG_U64(struct binary_options, header_bytes, .fallback = "0", .max = 1 << 30,
            .doc = "bytes before the first record, passed over"),
    CFG_CHOICE(struct binary_options, byte_order, .choices = ORDERS, .fallback = "little",
               .doc = "of the numbers in a record"),
    CFG_END,
};

static enum weir_status check_field(const struct format_field *field, const char *name,
                                    uint64_t record_bytes, struct weir_error *err)
{
    size_t count = field->count > 0 ? field->count : 1;
    uint64_t width = count * storage_format_type_bytes(field->type);

    if (field->from != FORMAT_AT)
        return WEIR_OK;
    if (field->offset > record_bytes || width > record_bytes - field->offset)
        return weir_fail(err, WEIR_INVALID,
                         "%s.offset: %llu leaves no room for %zu x %s in records of %llu bytes",
                         name, (unsigned long long)field->offset, count,
                         STORAGE_FORMAT_TYPE_NAMES[field->type], (unsigned long long)record_bytes);
    return WEIR_OK;
}

static enum weir_status check(const void *options, const struct format_fields *fields,
                              struct weir_error *err)
{
    uint64_t bytes = ((const struct binary_options *)options)->record_bytes;
    enum weir_status status = WEIR_OK;

    for (int i = 0; status == WEIR_OK && i < FORMAT_ROLES; i++)
        status = check_field(&fields->each[i], STORAGE_FORMAT_ROLE_NAMES[i], bytes, err);
    return status;
}

/* The work for each record: the fields that are declared. */
struct reader {
    enum format_order order;
    const struct format_field *fields[FORMAT_ROLES];
    enum format_role roles[FORMAT_ROLES];
    size_t count;
    double lists[FORMAT_ROLES][FORMAT_LIST_MAX];
};

static void prepare(struct reader *reader, const struct binary_options *options,
                    const struct format_fields *fields)
{
    reader->order = (enum format_order)options->byte_order;
    reader->count = 0;
    for (int i = 0; i < FORMAT_ROLES; i++) {
        if (fields->each[i].from != FORMAT_AT)
            continue;
        reader->roles[reader->count] = (enum format_role)i;
        reader->fields[reader->count++] = &fields->each[i];
    }
}

static void read_record(struct reader *reader, const uint8_t *at, struct format_sample *sample)
{
    for (size_t i = 0; i < reader->count; i++)
        sample->each[reader->roles[i]] = storage_format_numbers(
            reader->fields[i], reader->order, at + reader->fields[i]->offset, reader->lists[i]);
}

static void refuse_tail(const struct format_input *input, const struct format_sink *sink,
                        const struct format_progress *progress, uint64_t bytes)
{
    char reason[96];

    snprintf(reason, sizeof(reason), "found half a record at the end (%llu bytes), expected %llu",
             (unsigned long long)(input->window.size - progress->consumed),
             (unsigned long long)bytes);
    sink->refuse(sink->owner, &(struct format_refusal){.offset = input->at + progress->consumed,
                                                       .record = progress->record,
                                                       .reason = reason,
                                                       .is_tail = true});
}

/* All records of the window at once, to whoever takes them so. */
static void hand_over(const struct format_input *input, const struct binary_options *options,
                      const struct format_sink *sink, struct format_progress *progress)
{
    struct format_records records = {
        .offset = input->at + progress->consumed,
        .length = options->record_bytes,
        .record = progress->record,
        .at = input->window.at + progress->consumed,
        .order = (enum format_order)options->byte_order,
    };

    if (sink->records == NULL || progress->consumed > input->window.size)
        return;
    records.count = (input->window.size - progress->consumed) / options->record_bytes;
    if (records.count == 0 || !sink->records(sink->owner, &records))
        return;
    progress->consumed += records.count * options->record_bytes;
    progress->record += records.count;
}

static enum weir_status index_records(const struct format_input *input, const void *options,
                                      const struct format_fields *fields,
                                      const struct format_sink *sink,
                                      struct format_progress *ret_progress, struct weir_error *err)
{
    const struct binary_options *o = options;
    struct format_progress progress = {.record = input->record};
    struct format_sample sample = {.length = o->record_bytes};
    struct reader reader;

    if (input->at == 0 && input->size < o->header_bytes)
        return weir_fail(err, WEIR_INVALID, "found %llu bytes, expected a header of %llu",
                         (unsigned long long)input->size, (unsigned long long)o->header_bytes);
    if (input->at == 0)
        progress.consumed = o->header_bytes;
    hand_over(input, o, sink, &progress);
    prepare(&reader, o, fields);
    while (progress.consumed <= input->window.size &&
           input->window.size - progress.consumed >= o->record_bytes) {
        sample.offset = input->at + progress.consumed;
        sample.record = progress.record++;
        read_record(&reader, input->window.at + progress.consumed, &sample);
        sink->sample(sink->owner, &sample);
        progress.consumed += o->record_bytes;
    }
    if (input->is_last && progress.consumed < input->window.size)
        refuse_tail(input, sink, &progress, o->record_bytes);
    *ret_progress = progress;
    return WEIR_OK;
}

const struct format storage_format_binary = {
    .name = "binary",
    .summary = "fixed-size records; fields are numbers at an offset",
    .options = OPTIONS,
    .options_size = sizeof(struct binary_options),
    .gives = FORMAT_AT,
    .is_pushable = true,
    .check = check,
    .index = index_records,
};
