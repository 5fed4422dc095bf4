/* RFC 4180 records: see csv_record.h. */
#include "storage/formats/csv_record.h"

#include "storage/formats/lines.h"

#include <string.h>

struct reader {
    struct weir_bytes text;
    size_t at;
    char delimiter;
    bool is_last;
    size_t lines;
};

enum step { STEP_FIELD, STEP_END, STEP_MORE, STEP_BROKEN };

/* Behind a field there is a delimiter, a line break, or the end of the text. */
static enum step end_field(struct reader *r)
{
    const uint8_t *text = r->text.at;

    if (r->at == r->text.size)
        return r->is_last ? STEP_END : STEP_MORE;
    if (text[r->at] == (uint8_t)r->delimiter) {
        r->at++;
        return STEP_FIELD;
    }
    if (text[r->at] == '\r' && r->at + 1 < r->text.size && text[r->at + 1] == '\n')
        r->at++;
    else if (text[r->at] == '\r' && r->at + 1 == r->text.size)
        return r->is_last ? STEP_END : STEP_MORE;
    if (text[r->at] != '\n')
        return STEP_BROKEN;
    r->lines++;
    return STEP_END;
}

static enum step read_plain(struct reader *r, struct weir_bytes *field)
{
    size_t begin = r->at;

    while (r->at < r->text.size) {
        uint8_t c = r->text.at[r->at];

        if (c == (uint8_t)r->delimiter || c == '\n' || c == '"')
            break;
        if (c == '\r' && (r->at + 1 == r->text.size || r->text.at[r->at + 1] == '\n'))
            break;
        r->at++;
    }
    *field = weir_bytes(r->text.at + begin, r->at - begin);
    return end_field(r);
}

static enum step read_quoted(struct reader *r, struct weir_bytes *field)
{
    size_t begin = ++r->at;

    for (;; r->at++) {
        if (r->at == r->text.size)
            return r->is_last ? STEP_BROKEN : STEP_MORE;
        if (r->text.at[r->at] == '\n')
            r->lines++;
        if (r->text.at[r->at] != '"')
            continue;
        if (r->at + 1 < r->text.size && r->text.at[r->at + 1] == '"') {
            r->at++;
            continue;
        }
        if (r->at + 1 == r->text.size && !r->is_last)
            return STEP_MORE;
        break;
    }
    *field = weir_bytes(r->text.at + begin, r->at - begin);
    r->at++;
    return end_field(r);
}

static enum csv_outcome give_up_line(struct weir_bytes text, const char *complaint,
                                     struct csv_record *record)
{
    size_t size = format_line(text);

    record->size = size > 0 ? size : text.size;
    record->length = format_chomp(weir_bytes(text.at, record->size)).size;
    record->lines = 1;
    record->complaint = complaint;
    return CSV_BROKEN;
}

static enum csv_outcome finish(const struct reader *r, struct csv_record *record)
{
    bool has_break = r->at < r->text.size; /* or a lone return where the text ends */

    record->size = r->at + has_break;
    record->length = format_chomp(weir_bytes(r->text.at, record->size)).size;
    record->lines = r->lines;
    return CSV_RECORD;
}

enum csv_outcome csv_record_read(struct weir_bytes text, char delimiter, bool is_last,
                                 struct csv_record *record)
{
    struct reader r = {.text = text, .delimiter = delimiter, .is_last = is_last};

    for (record->count = 0; record->count < CSV_FIELDS_MAX; record->count++) {
        bool is_quoted = r.at < text.size && text.at[r.at] == '"';
        struct weir_bytes *field = &record->fields[record->count];
        enum step step = is_quoted ? read_quoted(&r, field) : read_plain(&r, field);

        record->is_quoted[record->count] = is_quoted;
        if (step == STEP_MORE)
            return CSV_MORE;
        if (step == STEP_BROKEN)
            return give_up_line(text,
                                is_quoted ? "found a quoted field that does not end properly, "
                                            "expected a closing \" before a delimiter"
                                          : "found a \" inside a field, expected the whole "
                                            "field in quotes and the \" doubled",
                                record);
        if (step == STEP_END) {
            record->count++;
            return finish(&r, record);
        }
    }
    return give_up_line(text, "found more than 1024 fields, expected fewer", record);
}

struct weir_bytes csv_record_value(const struct csv_record *record, size_t field,
                                   struct weir_buf *scratch)
{
    struct weir_bytes raw = record->fields[field];

    if (!record->is_quoted[field] || raw.size == 0 || !memchr(raw.at, '"', raw.size))
        return raw;
    weir_buf_clear(scratch);
    for (size_t i = 0; i < raw.size; i++) {
        weir_buf_append(scratch, &raw.at[i], 1);
        if (raw.at[i] == '"')
            i++; /* the second of a pair */
    }
    return weir_buf_view(scratch);
}

int csv_record_find(const struct csv_record *header, const char *name)
{
    for (size_t i = 0; i < header->count; i++) {
        if (weir_bytes_equal(header->fields[i], weir_bytes_of(name)))
            return (int)i;
    }
    return -1;
}
