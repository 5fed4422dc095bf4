/* Manifests: see manifest.h. */
#include "storage/formats/manifest.h"

#include "core/base/bisect.h"
#include "core/base/csv.h"
#include "core/base/lines.h"
#include "core/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct manifest {
    struct weir_arena *arena;
    struct manifest_row *rows; /* by path, bytewise */
    size_t count;
    size_t capacity;
};

/* Columns of the file by meaning; -1: not asked for. */
struct columns {
    int path, each[FORMAT_ROLES];
    size_t count;
};

void storage_manifest_free(struct manifest *manifest)
{
    if (manifest == NULL)
        return;
    weir_arena_free(manifest->arena);
    free(manifest->rows);
    free(manifest);
}

static enum weir_status find_column(const char *name, const struct weir_csv_record *header,
                                    const char *column, int *ret_at, struct weir_error *err)
{
    *ret_at = weir_csv_find(header, column, 0);
    if (*ret_at < 0)
        return weir_fail(err, WEIR_INVALID,
                         "%s:1: found no column '%s', expected it in the header, like "
                         "path,time,label,subject,key",
                         name, column);
    return WEIR_OK;
}

static enum weir_status find_columns(const char *name, const struct weir_csv_record *header,
                                     const struct format_fields *fields, struct columns *columns,
                                     struct weir_error *err)
{
    enum weir_status status = find_column(name, header, "path", &columns->path, err);

    columns->count = header->count;
    for (int i = 0; status == WEIR_OK && i < FORMAT_ROLES; i++) {
        columns->each[i] = -1;
        if (fields->each[i].from == FORMAT_MANIFEST)
            status =
                find_column(name, header, STORAGE_FORMAT_ROLE_NAMES[i], &columns->each[i], err);
    }
    return status;
}

static struct weir_bytes keep(struct manifest *manifest, const struct weir_csv_record *record,
                              int column, struct weir_buf *scratch)
{
    struct weir_bytes value;

    if (column < 0)
        return weir_bytes(NULL, 0);
    value = weir_csv_value(record->fields[column], scratch);
    return weir_bytes(weir_arena_strndup(manifest->arena, (const char *)value.at, value.size),
                      value.size);
}

static const char *complaint_of(const struct weir_csv_record *record, const struct columns *columns,
                                char *reason, size_t size)
{
    if (record->extent.complaint != NULL)
        return record->extent.complaint;
    if (record->count != columns->count) {
        snprintf(reason, size, "found %zu fields, expected %zu as in the header", record->count,
                 columns->count);
        return reason;
    }
    if (record->fields[columns->path].raw.size == 0)
        return "found an empty path, expected a file name";
    if (memchr(record->fields[columns->path].raw.at, 0, record->fields[columns->path].raw.size) !=
        NULL)
        return "found a zero byte in the path, expected a file name";
    return NULL;
}

static void add_row(struct manifest *manifest, const struct weir_csv_record *record,
                    const struct columns *columns, uint64_t line, struct weir_buf *scratch)
{
    struct manifest_row *row;

    manifest->rows = weir_grow(manifest->rows, manifest->count, &manifest->capacity, sizeof(*row));
    row = &manifest->rows[manifest->count++];
    row->path = (const char *)keep(manifest, record, columns->path, scratch).at;
    for (int i = 0; i < FORMAT_ROLES; i++)
        row->each[i] = keep(manifest, record, columns->each[i], scratch);
    row->line = line;
}

static void read_rows(struct manifest *manifest, struct weir_bytes text,
                      const struct columns *columns, struct weir_csv_record *record, uint64_t line,
                      const struct format_sink *sink)
{
    WEIR_AUTO_BUF scratch = {0};
    size_t at = 0;

    while (at < text.size) {
        char reason[96];
        const char *complaint;

        (void)weir_csv_read(weir_bytes(text.at + at, text.size - at), WEIR_CSV_COMMAS, true,
                            record);
        if (record->extent.length > 0) {
            complaint = complaint_of(record, columns, reason, sizeof(reason));
            if (complaint != NULL)
                sink->refuse(sink->owner, &(struct format_refusal){
                                              .offset = at, .record = line, .reason = complaint});
            else
                add_row(manifest, record, columns, line, &scratch);
        }
        at += record->extent.size;
        line += record->extent.lines > 0 ? record->extent.lines : 1;
    }
}

static int by_path(const void *a, const void *b)
{
    const struct manifest_row *x = a, *y = b;
    int order = strcmp(x->path, y->path);

    return order ? order : (x->line > y->line) - (x->line < y->line);
}

static bool say_the_same(const struct manifest_row *a, const struct manifest_row *b)
{
    for (int i = 0; i < FORMAT_ROLES; i++)
        if (!weir_bytes_equal(a->each[i], b->each[i]))
            return false;
    return true;
}

/* Rows are in order: the first of a path counts. */
static void refuse_others(const struct manifest *manifest, const struct format_sink *sink)
{
    const struct manifest_row *first = NULL;

    for (size_t i = 0; i < manifest->count; i++) {
        const struct manifest_row *row = &manifest->rows[i];
        char reason[96];

        if (first == NULL || strcmp(row->path, first->path) != 0)
            first = row;
        if (say_the_same(first, row))
            continue;
        snprintf(reason, sizeof(reason),
                 "found another row for the file of line %llu, expected one: that one counts",
                 (unsigned long long)first->line);
        sink->refuse(sink->owner, &(struct format_refusal){.record = row->line, .reason = reason});
    }
}

enum weir_status storage_manifest_read(const char *name, struct weir_bytes text,
                                       const struct format_fields *fields,
                                       const struct format_sink *sink,
                                       struct manifest **ret_manifest, struct weir_error *err)
{
    WEIR_AUTO_FREE struct weir_csv_record *record = weir_calloc(1, sizeof(*record));
    WEIR_AUTO(manifest) manifest = weir_calloc(1, sizeof(*manifest));
    struct columns columns;
    enum weir_status status;

    manifest->arena = weir_arena_new();
    text = weir_bytes(text.at + weir_text_mark(text), text.size - weir_text_mark(text));
    if (text.size == 0 || weir_csv_read(text, WEIR_CSV_COMMAS, true, record) != WEIR_CSV_RECORD)
        return weir_fail(err, WEIR_INVALID,
                         "%s:1: found no header, expected path,time,label,subject,key", name);
    status = find_columns(name, record, fields, &columns, err);
    if (status != WEIR_OK)
        return status;
    read_rows(manifest, weir_bytes(text.at + record->extent.size, text.size - record->extent.size),
              &columns, record, 2, sink);
    if (manifest->count > 0)
        qsort(manifest->rows, manifest->count, sizeof(*manifest->rows), by_path);
    refuse_others(manifest, sink);
    *ret_manifest = WEIR_TAKE(manifest);
    return WEIR_OK;
}

const struct manifest_row *storage_manifest_find(const struct manifest *manifest, const char *path)
{
    size_t low = 0, high = manifest->count;

    /* the first row that is not before `path` */
    WEIR_BISECT(low, high, middle, strcmp(manifest->rows[middle].path, path) < 0);
    if (low < manifest->count && strcmp(manifest->rows[low].path, path) == 0)
        return &manifest->rows[low];
    return NULL;
}
