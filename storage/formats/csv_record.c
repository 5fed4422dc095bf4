/* RFC 4180 records: see csv_record.h. */
#include "storage/formats/csv_record.h"

#include "storage/formats/lines.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { BLOCK_BYTES = 64 };

struct reader {
    struct weir_bytes text;
    size_t at;
    struct csv_dialect dialect;
    bool is_last;
    size_t lines;
    size_t marked;  /* where the block begins that `marks` is of */
    uint64_t marks; /* a bit for each byte of it that may end something */
};

enum step { STEP_FIELD, STEP_END, STEP_MORE, STEP_BROKEN };

/* ---- looking for what may end a field, 64 bytes at once ---- */

enum { PIECE_BYTES = 16 };

/* Bit i: byte i is a delimiter, a quote, or part of a line break. Where quotes mean nothing,
 * `quote` is another delimiter. */
#ifdef __SSE2__
static uint64_t mark_piece(const uint8_t *piece, uint8_t delimiter, uint8_t quote)
{
    const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)piece);
    const __m128i ends = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)delimiter)),
                                      _mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)quote)));
    const __m128i breaks = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n')),
                                        _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\r')));

    return (uint64_t)(unsigned)_mm_movemask_epi8(_mm_or_si128(ends, breaks));
}
#else
static uint64_t mark_piece(const uint8_t *piece, uint8_t delimiter, uint8_t quote)
{
    uint64_t marks = 0;

    for (int i = 0; i < PIECE_BYTES; i++)
        marks |= (uint64_t)(piece[i] == delimiter || piece[i] == quote || piece[i] == '\n' ||
                            piece[i] == '\r')
                 << i;
    return marks;
}
#endif

static uint64_t mark_block(const uint8_t block[BLOCK_BYTES], struct csv_dialect dialect)
{
    const uint8_t delimiter = (uint8_t)dialect.delimiter;
    const uint8_t quote = dialect.is_unquoted ? delimiter : '"';
    uint64_t marks = 0;

    for (int i = 0; i < BLOCK_BYTES; i += PIECE_BYTES)
        marks |= mark_piece(block + i, delimiter, quote) << i;
    return marks;
}

static void mark(struct reader *r, size_t from)
{
    size_t left = r->text.size - from;
    uint8_t last[BLOCK_BYTES] = {0};

    r->marked = from;
    if (left >= BLOCK_BYTES) {
        r->marks = mark_block(r->text.at + from, r->dialect);
        return;
    }
    memcpy(last, r->text.at + from, left);
    r->marks = mark_block(last, r->dialect) & ((UINT64_C(1) << left) - 1);
}

/* Goes on to the next byte that may end something, or to the end of the text. */
static void skip_plain(struct reader *r)
{
    while (r->at < r->text.size) {
        size_t from = r->at - r->at % BLOCK_BYTES;
        uint64_t marks;

        if (r->marked != from)
            mark(r, from);
        marks = r->marks >> r->at % BLOCK_BYTES;
        if (marks != 0) {
            r->at += (size_t)__builtin_ctzll(marks);
            return;
        }
        r->at = r->text.size - from > BLOCK_BYTES ? from + BLOCK_BYTES : r->text.size;
    }
}

/* ---- fields ---- */

/* Behind a field there is a delimiter, a line break, or the end of the text. */
static enum step end_field(struct reader *r)
{
    const uint8_t *text = r->text.at;

    if (r->at == r->text.size)
        return r->is_last ? STEP_END : STEP_MORE;
    if (text[r->at] == (uint8_t)r->dialect.delimiter) {
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

    for (skip_plain(r); r->at + 1 < r->text.size; skip_plain(r)) {
        if (r->text.at[r->at] != '\r' || r->text.at[r->at + 1] == '\n')
            break;
        r->at++; /* a return alone is part of the field */
    }
    *field = weir_bytes(r->text.at + begin, r->at - begin);
    return end_field(r);
}

static enum step read_quoted(struct reader *r, struct weir_bytes *field)
{
    size_t begin = ++r->at;

    for (;; r->at++) {
        skip_plain(r);
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

enum csv_outcome csv_record_read(struct weir_bytes text, struct csv_dialect dialect, bool is_last,
                                 struct csv_record *record)
{
    struct reader r = {.text = text, .dialect = dialect, .is_last = is_last, .marked = SIZE_MAX};

    for (record->count = 0; record->count < CSV_FIELDS_MAX; record->count++) {
        bool is_quoted = !dialect.is_unquoted && r.at < text.size && text.at[r.at] == '"';
        struct weir_bytes *field = &record->fields[record->count];
        enum step step = is_quoted ? read_quoted(&r, field) : read_plain(&r, field);

        record->is_quoted[record->count] = is_quoted;
        if (step == STEP_MORE)
            return CSV_MORE;
        if (step == STEP_BROKEN)
            return give_up_line(text,
                                is_quoted
                                    ? "found a quoted field that does not end properly, "
                                      "expected a closing \" before a delimiter, or quotes: none"
                                    : "found a \" inside a field, expected the whole "
                                      "field in quotes and the \" doubled, or "
                                      "quotes: none",
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

int csv_record_find(const struct csv_record *header, const char *name, size_t from)
{
    for (size_t i = from; i < header->count; i++) {
        if (weir_bytes_equal(header->fields[i], weir_bytes_of(name)))
            return (int)i;
    }
    return -1;
}
