/* Ends of records: see cut.h. */
#include "cli/cut.h"

#include <string.h>

struct cli_cut_shape {
    const char *format;
    void (*scan)(struct cli_cut *cut, struct weir_bytes bytes);
    bool has_header;
    bool counts_lines;
};

static void note_end(struct cli_cut *cut, size_t end)
{
    if (cut->first == 0)
        cut->first = end;
    cut->last = end;
}

static void scan_lines(struct cli_cut *cut, struct weir_bytes bytes)
{
    const uint8_t *news = bytes.at + cut->scanned;
    size_t size = bytes.size - cut->scanned;
    const uint8_t *first = size > 0 ? memchr(news, '\n', size) : NULL;
    if (first == NULL)
        return;
    const uint8_t *last = memrchr(news, '\n', size);
    note_end(cut, (size_t)(first - bytes.at) + 1);
    note_end(cut, (size_t)(last - bytes.at) + 1);
}

/* RFC 4180: a quote opens a field at its beginning, a quote within is doubled, a line break within is none. */
static void scan_csv(struct cli_cut *cut, struct weir_bytes bytes)
{
    for (size_t i = cut->scanned; i < bytes.size; i++) {
        char c = (char)bytes.at[i];
        if (cut->in_quotes) {
            cut->in_quotes = c != '"';
            cut->after_quote = c == '"';
            cut->at_field = false;
            continue;
        }
        cut->in_quotes = c == '"' && (cut->at_field || cut->after_quote);
        cut->at_field = c == cut->delimiter || c == '\n';
        cut->after_quote = false;
        if (c == '\n')
            note_end(cut, i + 1);
    }
}

static void scan_records(struct cli_cut *cut, struct weir_bytes bytes)
{
    while (bytes.size - cut->scanned >= cut->record_bytes) {
        cut->scanned += cut->record_bytes;
        note_end(cut, cut->scanned);
    }
}

static const struct cli_cut_shape SHAPES[] = {
    {.format = "jsonl", .scan = scan_lines, .counts_lines = true},
    {.format = "csv", .scan = scan_csv, .counts_lines = true, .has_header = true},
    {.format = "binary", .scan = scan_records},
};

enum weir_status cli_cut_init(struct cli_cut *cut, const char *format, uint64_t record_bytes,
                              const char *delimiter, struct weir_error *err)
{
    for (size_t i = 0; i < WEIR_COUNT(SHAPES); i++) {
        if (strcmp(SHAPES[i].format, format) != 0)
            continue;
        *cut = (struct cli_cut){.shape = &SHAPES[i],
                                .record_bytes = record_bytes > 0 ? record_bytes : 1,
                                .delimiter = strcmp(delimiter, "\\t") == 0 ? '\t' : delimiter[0]};
        cli_cut_begin(cut, 0);
        return WEIR_OK;
    }
    return weir_fail(err, WEIR_UNSUPPORTED,
                     "this weir cannot push samples of format '%.40s': use the one that belongs to "
                     "the platform",
                     format);
}

bool cli_cut_has_header(const struct cli_cut *cut)
{
    return cut->shape->has_header;
}

bool cli_cut_counts_lines(const struct cli_cut *cut)
{
    return cut->shape->counts_lines;
}

void cli_cut_begin(struct cli_cut *cut, size_t from)
{
    cut->scanned = from;
    cut->first = cut->last = 0;
    cut->in_quotes = cut->after_quote = false;
    cut->at_field = true;
}

void cli_cut_scan(struct cli_cut *cut, struct weir_bytes bytes)
{
    cut->shape->scan(cut, bytes);
    if (cut->shape->counts_lines)
        cut->scanned = bytes.size;
}

uint64_t cli_cut_count(const struct cli_cut *cut, struct weir_bytes bytes)
{
    uint64_t lines = 0;
    if (!cut->shape->counts_lines)
        return bytes.size / cut->record_bytes;
    for (size_t i = 0; i < bytes.size; i++)
        lines += bytes.at[i] == '\n';
    return lines;
}
