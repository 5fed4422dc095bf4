/* Format `jsonl`: one JSON object a line; fields are its members, or members inside of them. A broken
 * line is refused alone. */
#include "core/base/lines.h"
#include "storage/formats/compressed.h"
#include "storage/formats/format.h"
#include "storage/formats/json_fields.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

enum { REASON_MAX = 128 };

static const struct cfg_key OPTIONS[] = {CFG_END};

static void refuse(const struct format_sink *sink, const struct format_input *input, uint64_t at,
                   uint64_t record, const char *reason)
{
    sink->refuse(sink->owner, &(struct format_refusal){
                                  .offset = input->at + at, .record = record, .reason = reason});
}

/* Returns what makes lines of objects that are written for people, over several lines. */
static const char *remedy_for(struct weir_bytes line)
{
    struct weir_bytes text = weir_bytes_trim(line);

    return text.size == 1 && (text.at[0] == '{' || text.at[0] == '[')
               ? ": jq -c writes those of several lines so"
               : "";
}

/* Emits the sample, or fills `reason` (REASON_MAX characters) and returns false. */
static bool index_line(struct weir_bytes line, struct json_fields *members,
                       const struct format_sink *sink, struct format_sample *sample, char *reason)
{
    if (!storage_json_fields_read(members, line)) {
        snprintf(reason, REASON_MAX, "%s at column %zu, expected one object a line%s",
                 members->complaint, members->column, remedy_for(line));
        return false;
    }
    sample->length = line.size;
    for (int i = 0; i < FORMAT_ROLES; i++)
        sample->each[i] = storage_json_fields_value(members, (enum format_role)i);
    sink->sample(sink->owner, sample);
    return true;
}

/* The last line may lack its newline: it counts if it is whole, else it waits for its rest. */
static size_t index_tail(const struct format_input *input, struct json_fields *members,
                         const struct format_sink *sink, struct format_progress *progress)
{
    struct weir_bytes rest =
        weir_bytes(input->window.at + progress->consumed, input->window.size - progress->consumed);
    struct format_sample sample = {.offset = input->at + progress->consumed,
                                   .record = progress->record};
    char reason[REASON_MAX];

    if (rest.size == 0)
        return 0;
    if (weir_line_is_blank(rest) || index_line(weir_chomp(rest), members, sink, &sample, reason)) {
        progress->record++;
        return rest.size;
    }
    sink->refuse(sink->owner, &(struct format_refusal){.offset = sample.offset,
                                                       .record = sample.record,
                                                       .reason = reason,
                                                       .is_tail = true});
    return 0;
}

static void index_whole(const struct format_input *input, struct json_fields *members,
                        const struct format_sink *sink, struct format_progress *progress)
{
    size_t size;

    while ((size = weir_line(weir_bytes(input->window.at + progress->consumed,
                                        input->window.size - progress->consumed))) > 0) {
        struct weir_bytes line =
            weir_chomp(weir_bytes(input->window.at + progress->consumed, size));
        struct format_sample sample = {.offset = input->at + progress->consumed,
                                       .record = progress->record};
        char reason[REASON_MAX];

        if (!weir_line_is_blank(line) && !index_line(line, members, sink, &sample, reason))
            refuse(sink, input, progress->consumed, progress->record, reason);
        progress->consumed += size;
        progress->record++;
    }
}

static enum weir_status index_lines(const struct format_input *input, const void *options,
                                    const struct format_fields *fields,
                                    const struct format_sink *sink,
                                    struct format_progress *ret_progress, struct weir_error *err)
{
    struct format_progress progress = {.record = input->record};
    struct json_fields members;

    (void)options;
    if (input->at == 0 && storage_text_refuse("lines", input->window, err) != WEIR_OK)
        return err->status;
    members = storage_json_fields_new(fields);
    progress.consumed = input->at == 0 ? weir_text_mark(input->window) : 0;
    index_whole(input, &members, sink, &progress);
    if (input->is_last) {
        progress.consumed += index_tail(input, &members, sink, &progress);
    } else if (progress.consumed == 0 && input->is_full) {
        progress.consumed = input->window.size;
        progress.is_cut = true;
    }
    storage_json_fields_fini(&members);
    *ret_progress = progress;
    return WEIR_OK;
}

/* Members by name, without blanks, strings unescaped. */
static bool canonical(struct weir_bytes head, const void *options, struct weir_bytes record,
                      struct weir_buf *out)
{
    json_t *value = json_loadb((const char *)record.at, record.size, JSON_ALLOW_NUL, NULL);
    char *text = value != NULL ? json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

    (void)head;
    (void)options;
    if (text != NULL)
        weir_buf_append_text(out, text);
    json_decref(value);
    free(text);
    return text != NULL;
}

const struct format storage_format_jsonl = {
    .name = "jsonl",
    .summary = "one JSON object a line; fields are its members",
    .options = OPTIONS,
    .gives = FORMAT_NAMED,
    .counts_lines = true,
    .ends_with_newline = true,
    .is_pushable = true,
    .scrub_byte = ' ',
    .index = index_lines,
    .canonical = canonical,
};
