/* Format `binary`: fixed-size records end to end; fields are little-endian numbers at an offset. */
#include "storage/formats/format.h"

#include <stdio.h>

struct binary_options {
    uint64_t record_bytes;
};

static const struct cfg_key OPTIONS[] = {
    CFG_U64(struct binary_options, record_bytes, .required = true, .min = 1,
            .max = FORMAT_RECORD_MAX, .doc = "bytes of a record"),
    CFG_END,
};

static enum weir_status check_field(const struct format_field *field, const char *name,
                                    uint64_t record_bytes, struct weir_error *err)
{
    uint64_t width = format_type_bytes(field->type);

    if (field->from != FORMAT_AT)
        return WEIR_OK;
    if (field->offset > record_bytes || width > record_bytes - field->offset)
        return weir_fail(err, WEIR_INVALID,
                         "%s.offset: %llu leaves no room for a %s in records of %llu bytes", name,
                         (unsigned long long)field->offset, FORMAT_TYPE_NAMES[field->type],
                         (unsigned long long)record_bytes);
    return WEIR_OK;
}

static enum weir_status check(const void *options, const struct format_fields *fields,
                              struct weir_error *err)
{
    uint64_t bytes = ((const struct binary_options *)options)->record_bytes;
    enum weir_status status = WEIR_OK;

    for (int i = 0; status == WEIR_OK && i < FORMAT_ROLES; i++)
        status = check_field(&fields->each[i], FORMAT_ROLE_NAMES[i], bytes, err);
    return status;
}

static struct format_value value_of(const struct format_field *field, const uint8_t *record)
{
    if (field->from != FORMAT_AT)
        return (struct format_value){.kind = FORMAT_ABSENT};
    return format_number(field->type, record + field->offset);
}

static void refuse_tail(const struct format_input *input, const struct format_sink *sink,
                        size_t consumed, uint64_t record, uint64_t bytes)
{
    char reason[96];

    snprintf(reason, sizeof reason, "found half a record at the end (%zu bytes), expected %llu",
             input->window.size - consumed, (unsigned long long)bytes);
    sink->refuse(sink->owner, &(struct format_refusal){.offset = input->at + consumed,
                                                       .record = record,
                                                       .reason = reason,
                                                       .is_tail = true});
}

static enum weir_status index_records(const struct format_input *input, const void *options,
                                      const struct format_fields *fields,
                                      const struct format_sink *sink,
                                      struct format_progress *ret_progress, struct weir_error *err)
{
    uint64_t bytes = ((const struct binary_options *)options)->record_bytes;
    uint64_t record = input->record;
    size_t consumed = 0;

    (void)err;
    while (input->window.size - consumed >= bytes) {
        const uint8_t *at = input->window.at + consumed;

        sink->sample(sink->owner, &(struct format_sample){
                                      .offset = input->at + consumed,
                                      .length = bytes,
                                      .record = record++,
                                      .time = value_of(&fields->time, at),
                                      .label = value_of(&fields->label, at),
                                      .subject = value_of(&fields->subject, at),
                                      .key = value_of(&fields->key, at),
                                  });
        consumed += bytes;
    }
    if (input->is_last && consumed < input->window.size)
        refuse_tail(input, sink, consumed, record, bytes);
    *ret_progress = (struct format_progress){.consumed = consumed, .record = record};
    return WEIR_OK;
}

const struct format format_binary = {
    .name = "binary",
    .summary = "fixed-size records; fields are little-endian numbers at an offset",
    .options = OPTIONS,
    .options_size = sizeof(struct binary_options),
    .gives = FORMAT_AT,
    .check = check,
    .index = index_records,
};
