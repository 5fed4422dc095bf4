/* Format `jsonl`: one JSON object a line; fields are its members. A broken line is refused alone. */
#include "storage/formats/format.h"
#include "storage/formats/lines.h"

#include <jansson.h>
#include <stdio.h>

static const struct cfg_key OPTIONS[] = {CFG_END};

static struct format_value value_of(const struct format_field *field, const json_t *object)
{
    const json_t *member =
        field->from == FORMAT_NAMED ? json_object_get(object, field->name) : NULL;

    if (json_is_string(member))
        return (struct format_value){
            .kind = FORMAT_TEXT,
            .text = weir_bytes(json_string_value(member), json_string_length(member))};
    if (json_is_integer(member))
        return (struct format_value){.kind = FORMAT_INT, .i64 = json_integer_value(member)};
    if (json_is_real(member))
        return (struct format_value){.kind = FORMAT_REAL, .f64 = json_real_value(member)};
    if (json_is_boolean(member))
        return (struct format_value){.kind = FORMAT_INT, .i64 = json_is_true(member)};
    return (struct format_value){.kind = FORMAT_ABSENT};
}

static void refuse(const struct format_sink *sink, const struct format_input *input, size_t at,
                   uint64_t record, const char *reason)
{
    sink->refuse(sink->owner, &(struct format_refusal){
                                  .offset = input->at + at, .record = record, .reason = reason});
}

/* Emits the sample, or fills `reason` (96 characters) and returns false. */
static bool index_line(struct weir_bytes line, const struct format_fields *fields,
                       const struct format_sink *sink, struct format_sample *sample, char *reason)
{
    json_error_t where;
    json_t *object = json_loadb((const char *)line.at, line.size, JSON_ALLOW_NUL, &where);

    if (!json_is_object(object)) {
        if (object)
            snprintf(reason, 96, "found JSON that is no object, expected {\"field\": value, …}");
        else
            snprintf(reason, 96, "found broken JSON at column %d, expected one object a line",
                     where.column < 0 ? 0 : where.column);
        json_decref(object);
        return false;
    }
    sample->length = line.size;
    for (int i = 0; i < FORMAT_ROLES; i++)
        sample->each[i] = value_of(&fields->each[i], object);
    sink->sample(sink->owner, sample);
    json_decref(object);
    return true;
}

/* The last line may lack its newline: it counts if it is whole, else it waits for its rest. */
static size_t index_tail(const struct format_input *input, const struct format_fields *fields,
                         const struct format_sink *sink, struct format_progress *progress)
{
    struct weir_bytes rest =
        weir_bytes(input->window.at + progress->consumed, input->window.size - progress->consumed);
    struct format_sample sample = {.offset = input->at + progress->consumed,
                                   .record = progress->record};
    char reason[96];

    if (rest.size == 0)
        return 0;
    if (format_is_blank(rest) || index_line(format_chomp(rest), fields, sink, &sample, reason)) {
        progress->record++;
        return rest.size;
    }
    sink->refuse(sink->owner, &(struct format_refusal){.offset = sample.offset,
                                                       .record = sample.record,
                                                       .reason = reason,
                                                       .is_tail = true});
    return 0;
}

static enum weir_status index_lines(const struct format_input *input, const void *options,
                                    const struct format_fields *fields,
                                    const struct format_sink *sink,
                                    struct format_progress *ret_progress, struct weir_error *err)
{
    struct format_progress progress = {.record = input->record};
    size_t size;

    (void)options;
    (void)err;
    while ((size = format_line(weir_bytes(input->window.at + progress.consumed,
                                          input->window.size - progress.consumed))) > 0) {
        struct weir_bytes line =
            format_chomp(weir_bytes(input->window.at + progress.consumed, size));
        struct format_sample sample = {.offset = input->at + progress.consumed,
                                       .record = progress.record};
        char reason[96];

        if (!format_is_blank(line) && !index_line(line, fields, sink, &sample, reason))
            refuse(sink, input, progress.consumed, progress.record, reason);
        progress.consumed += size;
        progress.record++;
    }
    if (input->is_last) {
        progress.consumed += index_tail(input, fields, sink, &progress);
    } else if (progress.consumed == 0 && input->is_full) {
        refuse(sink, input, 0, progress.record, "found a line beyond 16 MiB, expected less");
        progress.consumed = input->window.size;
    }
    *ret_progress = progress;
    return WEIR_OK;
}

const struct format format_jsonl = {
    .name = "jsonl",
    .summary = "one JSON object a line; fields are its members",
    .options = OPTIONS,
    .gives = FORMAT_NAMED,
    .counts_lines = true,
    .ends_with_newline = true,
    .scrub_byte = ' ',
    .index = index_lines,
};
