/* Comma-separated values: see csv.h. */
#include "core/base/csv.h"

#include "core/base/lines.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { BLOCK_BYTES = 64 };

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

static uint64_t mark_block(const uint8_t block[BLOCK_BYTES], struct weir_csv_dialect dialect)
{
    const uint8_t delimiter = (uint8_t)dialect.delimiter;
    const uint8_t quote = dialect.is_unquoted ? delimiter : '"';
    uint64_t marks = 0;

    for (int i = 0; i < BLOCK_BYTES; i += PIECE_BYTES)
        marks |= mark_piece(block + i, delimiter, quote) << i;
    return marks;
}

static void mark(struct weir_csv *r, size_t from)
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
static void skip_plain(struct weir_csv *r)
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

/* After a field comes a delimiter, a line break, or the end of the text. */
static enum weir_csv_outcome end_field(struct weir_csv *r)
{
    const uint8_t *text = r->text.at;

    if (r->at == r->text.size)
        return r->is_last ? WEIR_CSV_RECORD : WEIR_CSV_MORE;
    if (text[r->at] == (uint8_t)r->dialect.delimiter) {
        r->at++;
        return WEIR_CSV_FIELD;
    }
    if (text[r->at] == '\r' && r->at + 1 < r->text.size && text[r->at + 1] == '\n')
        r->at++;
    else if (text[r->at] == '\r' && r->at + 1 == r->text.size)
        return r->is_last ? WEIR_CSV_RECORD : WEIR_CSV_MORE;
    if (text[r->at] != '\n')
        return WEIR_CSV_BROKEN;
    r->lines++;
    return WEIR_CSV_RECORD;
}

/* True when the marked byte ends nothing: a return alone, a stray quote. */
static bool is_plain(const struct weir_csv *r)
{
    const uint8_t *at = r->text.at + r->at;

    if (*at == '\r')
        return r->at + 1 < r->text.size && at[1] != '\n';
    return *at == '"' && r->dialect.allows_stray_quotes;
}

static enum weir_csv_outcome read_plain(struct weir_csv *r, struct weir_bytes *field)
{
    size_t begin = r->at;

    for (skip_plain(r); r->at < r->text.size && is_plain(r); skip_plain(r))
        r->at++;
    *field = weir_bytes(r->text.at + begin, r->at - begin);
    return end_field(r);
}

static enum weir_csv_outcome read_quoted(struct weir_csv *r, struct weir_bytes *field)
{
    size_t begin = ++r->at;

    for (;; r->at++) {
        skip_plain(r);
        if (r->at == r->text.size)
            return r->is_last ? WEIR_CSV_BROKEN : WEIR_CSV_MORE;
        if (r->text.at[r->at] == '\n')
            r->lines++;
        if (r->text.at[r->at] != '"')
            continue;
        if (r->at + 1 < r->text.size && r->text.at[r->at + 1] == '"') {
            r->at++;
            continue;
        }
        if (r->at + 1 == r->text.size && !r->is_last)
            return WEIR_CSV_MORE;
        break;
    }
    *field = weir_bytes(r->text.at + begin, r->at - begin);
    r->at++;
    return end_field(r);
}

enum weir_csv_outcome weir_csv_next(struct weir_csv *csv, struct weir_csv_field *ret_field)
{
    ret_field->is_quoted =
        !csv->dialect.is_unquoted && csv->at < csv->text.size && csv->text.at[csv->at] == '"';
    return ret_field->is_quoted ? read_quoted(csv, &ret_field->raw)
                                : read_plain(csv, &ret_field->raw);
}

struct weir_bytes weir_csv_value(struct weir_csv_field field, struct weir_buf *scratch)
{
    struct weir_bytes raw = field.raw;

    if (!field.is_quoted || raw.size == 0 || memchr(raw.at, '"', raw.size) == NULL)
        return raw;
    weir_buf_clear(scratch);
    for (size_t i = 0; i < raw.size; i++) {
        weir_buf_append(scratch, &raw.at[i], 1);
        if (raw.at[i] == '"')
            i++; /* the second of a pair */
    }
    return weir_buf_view(scratch);
}

/* ---- records ---- */

static enum weir_csv_outcome give_up_line(const struct weir_csv *r, const char *complaint,
                                          struct weir_csv_extent *ret_extent)
{
    size_t line = weir_line(r->text), size = line > 0 ? line : r->text.size;

    if (line == 0 && !r->is_last)
        return WEIR_CSV_MORE;
    *ret_extent = (struct weir_csv_extent){.size = size,
                                           .length = weir_chomp(weir_bytes(r->text.at, size)).size,
                                           .lines = 1,
                                           .complaint = complaint};
    return WEIR_CSV_BROKEN;
}

static enum weir_csv_outcome finish(const struct weir_csv *r, struct weir_csv_extent *ret_extent)
{
    bool has_break = r->at < r->text.size; /* or a lone return where the text ends */
    size_t size = r->at + has_break;

    *ret_extent = (struct weir_csv_extent){
        .size = size, .length = weir_chomp(weir_bytes(r->text.at, size)).size, .lines = r->lines};
    return WEIR_CSV_RECORD;
}

static const char *complaint_of(bool is_quoted)
{
    return is_quoted ? "found a quoted field that does not end properly, expected a closing \" "
                       "before a delimiter, or quotes: none"
                     : "found a \" inside a field, expected the whole field in quotes and the \" "
                       "doubled, or quotes: none";
}

/* The field after `count` others goes to fields[count & mask]. */
static inline enum weir_csv_outcome read_record(struct weir_csv csv, struct weir_csv_field *fields,
                                                size_t mask, size_t *ret_count,
                                                struct weir_csv_extent *ret_extent)
{
    for (size_t count = 0; count < WEIR_CSV_FIELDS_MAX; count++) {
        struct weir_csv_field *field = &fields[count & mask];
        enum weir_csv_outcome outcome = weir_csv_next(&csv, field);

        *ret_count = count + 1;
        if (outcome == WEIR_CSV_MORE)
            return WEIR_CSV_MORE;
        if (outcome == WEIR_CSV_BROKEN)
            return give_up_line(&csv, complaint_of(field->is_quoted), ret_extent);
        if (outcome == WEIR_CSV_RECORD)
            return finish(&csv, ret_extent);
    }
    _Static_assert(WEIR_CSV_FIELDS_MAX == 4096, "as the complaint says");
    return give_up_line(&csv, "found more than 4096 fields, expected fewer", ret_extent);
}

enum weir_csv_outcome weir_csv_read(struct weir_bytes text, struct weir_csv_dialect dialect,
                                    bool is_last, struct weir_csv_record *record)
{
    return read_record(weir_csv_begin(text, dialect, is_last), record->fields, SIZE_MAX,
                       &record->count, &record->extent);
}

enum weir_csv_outcome weir_csv_measure(struct weir_bytes text, struct weir_csv_dialect dialect,
                                       bool is_last, struct weir_csv_extent *ret_extent)
{
    struct weir_csv_field field;
    size_t count;

    return read_record(weir_csv_begin(text, dialect, is_last), &field, 0, &count, ret_extent);
}

int weir_csv_find(const struct weir_csv_record *header, const char *name, size_t from)
{
    for (size_t i = from; i < header->count; i++) {
        if (weir_bytes_equal(header->fields[i].raw, weir_bytes_of(name)))
            return (int)i;
    }
    return -1;
}
