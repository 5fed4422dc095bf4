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
    cut->scanned = bytes.size;
    if (first == NULL)
        return;
    const uint8_t *last = memrchr(news, '\n', size);
    note_end(cut, (size_t)(first - bytes.at) + 1);
    note_end(cut, (size_t)(last - bytes.at) + 1);
}

/* A record that is not yet whole is looked at again with what comes next. */
static void scan_csv(struct cli_cut *cut, struct weir_bytes bytes)
{
    struct weir_csv_extent record;

    while (weir_csv_measure(weir_bytes(bytes.at + cut->scanned, bytes.size - cut->scanned),
                            cut->dialect, false, &record) != WEIR_CSV_MORE) {
        cut->scanned += record.size;
        note_end(cut, cut->scanned);
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

enum weir_status cli_cut_init(struct cli_cut *cut, const struct cli_cut_format *format,
                              struct weir_error *err)
{
    for (size_t i = 0; i < WEIR_COUNT(SHAPES); i++) {
        if (strcmp(SHAPES[i].format, format->name) != 0)
            continue;
        *cut = (struct cli_cut){.shape = &SHAPES[i],
                                .record_bytes = format->record_bytes > 0 ? format->record_bytes : 1,
                                .dialect = {.delimiter = strcmp(format->delimiter, "\\t") == 0
                                                             ? '\t'
                                                             : format->delimiter[0],
                                            .is_unquoted = format->is_unquoted},
                                .has_header = SHAPES[i].has_header && !format->is_headless};
        cli_cut_begin(cut, 0);
        return WEIR_OK;
    }
    return weir_fail(err, WEIR_UNSUPPORTED,
                     "this weir cannot push samples of format '%.40s': use the one that belongs to "
                     "the platform",
                     format->name);
}

bool cli_cut_counts_lines(const struct cli_cut *cut)
{
    return cut->shape->counts_lines;
}

void cli_cut_begin(struct cli_cut *cut, size_t from)
{
    cut->scanned = from;
    cut->first = cut->last = 0;
}

void cli_cut_scan(struct cli_cut *cut, struct weir_bytes bytes)
{
    cut->shape->scan(cut, bytes);
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
